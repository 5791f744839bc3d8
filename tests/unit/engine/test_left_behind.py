"""A standing query waits for a name, and the next version of the schema has no place for it.

The version is given without that name, or the name comes with another kind: the query fails, with the reason, alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Control
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.exact_numbers import Event, blocks, query

Operator = MatchOperator | TrendOperator
INFERRED = Schema({"x": Kind.INT}, {"W": ("x",)}, {"W": frozenset()})
GIVEN = Schema({"x": Kind.INT, "b": Kind.INT}, {"W": ("x", "b")}, {"W": frozenset()}, given=True)
A_TEXT = Schema({"x": Kind.INT, "b": Kind.INT, "c": Kind.STRING}, {"W": ("x", "b", "c")}, {"W": frozenset()})
CUT, SIZE = 6, 12
WAITING = {
    MatchOperator: "PATTERN W w WHERE w.c + 1 > 5 OR w.x > 2 WITHIN 10 ms RETURN w.b AS b, w.x AS x",
    TrendOperator: "PATTERN W+ WHERE W.c + 1 > 5 OR W.x > 2 WITHIN 40 ms RETURN COUNT(*), MAX(W.b)",
}
OTHER = {
    MatchOperator: "PATTERN W w WHERE w.x > 2 WITHIN 10 ms RETURN w.b AS b, w.x AS x",
    TrendOperator: "PATTERN W+ WHERE W.x > 2 WITHIN 40 ms RETURN COUNT(*), MAX(W.b)",
}
KINDS = pytest.mark.parametrize("kind", [MatchOperator, TrendOperator])
EVENTS: list[Event] = [
    {"seq": seq, "ts": 10 * seq, "type": "W", "x": seq % 5, "b": None, "c": None} for seq in range(SIZE)
]


def controls(texts: Sequence[str]) -> list[Control]:
    return [query(text, name=f"q{number}", slot=number) for number, text in enumerate(texts)]


def results(operator: Operator, version: Schema, texts: Sequence[str], *, restart: bool) -> list[bytes]:
    """The results, in blocks cut in several places; `restart`: from a snapshot after each block."""
    found = []
    for block in blocks(EVENTS, [2, 4, 9], [(0, INFERRED), (CUT, version)], controls(texts)):
        entries = operator.apply(block)
        found += entries.json(0, len(entries))
        if restart:
            state = operator.snapshot()
            operator.restore(state)
    return found


def of(found: Sequence[bytes], name: str) -> list[bytes]:
    return [line for line in found if orjson.loads(line)["query"] == name]


@KINDS
@pytest.mark.parametrize("version", [GIVEN, A_TEXT], ids=["given", "another kind"])
@pytest.mark.parametrize("restart", [False, True])
def test_it_fails_where_the_version_comes_into_force_and_the_others_go_on(
    kind: type[Operator], restart: bool, version: Schema
) -> None:
    operator = kind(partition=0, compiled=False)
    found = results(operator, version, [WAITING[kind], OTHER[kind]], restart=restart)
    statuses = operator.statuses()
    assert statuses["q0"].state == "failed"
    assert f"binding at position {CUT}" in str(statuses["q0"].reason)
    assert "c" in str(statuses["q0"].reason)
    assert statuses["q1"].state == "active"
    alone = results(kind(partition=0, compiled=False), version, [OTHER[kind]], restart=restart)
    assert len(of(found, "q1")) == len(alone) > 2
    assert {orjson.loads(line)["return"].get("b") for line in found} == {None}


TIMED = {
    MatchOperator: "PATTERN W w WHERE w.x > 2 WITHIN 10 ms RETURN w.timestamp AS at",
    TrendOperator: "PATTERN W+ WHERE W.x > 2 WITHIN 40 ms RETURN COUNT(*), MAX(W.timestamp) AS at",
}


@KINDS
@pytest.mark.parametrize("given", [False, True], ids=["grown", "given"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_timestamp_that_was_the_time_does_not_become_an_attribute(
    kind: type[Operator], restart: bool, given: bool
) -> None:
    kinds = dict.fromkeys(("x", "b", "timestamp"), Kind.INT)
    version = Schema(kinds, {"W": tuple(kinds)}, {"W": frozenset()}, given=given)
    operator = kind(partition=0, compiled=False)
    found = results(operator, version, [TIMED[kind], OTHER[kind]], restart=restart)
    status = operator.statuses()["q0"]
    assert status.state == "failed"
    assert "timestamp was read as the time of events of type 'W'" in str(status.reason)
    assert "Write ts for the time" in str(status.reason)
    assert operator.statuses()["q1"].state == "active"
    assert {orjson.loads(line)["return"]["at"] for line in of(found, "q0")} <= {10 * seq for seq in range(CUT)}
    fresh = kind(partition=0, compiled=False)
    texts = [TIMED[kind]]
    for block in blocks(EVENTS, [SIZE], [(0, version)], controls(texts)):
        entries = fresh.apply(block)
        assert {orjson.loads(line)["return"]["at"] for line in entries.json(0, len(entries))} <= {None}, "the attribute"


@KINDS
def test_a_snapshot_in_which_it_went_on_has_it_failed(kind: type[Operator]) -> None:
    """Earlier versions let it go on with columns of other kinds, and lost it at the next start, without a word."""
    operator = kind(partition=0, compiled=False)
    for block in blocks(EVENTS[:CUT], [], [(0, INFERRED)], controls([WAITING[kind], OTHER[kind]])):
        operator.apply(block)
    state = dict(operator.snapshot())
    body = {**orjson.loads(state["operator"].tobytes()), "schema": schema_to_record(GIVEN)}
    restored = kind(partition=0, compiled=False)
    restored.restore({**state, "operator": np.frombuffer(orjson.dumps(body), np.uint8).copy()})
    states = {name: status.state for name, status in restored.statuses().items()}
    assert states == {"q0": "failed", "q1": "active"}
    (failure,) = restored.failures()
    assert (failure.name, failure.step) == ("q0", "restoring")


@KINDS
def test_a_schema_that_names_what_it_waits_for_is_taken(kind: type[Operator]) -> None:
    operator = kind(partition=0, compiled=False)
    wider = replace(GIVEN, kinds={**GIVEN.kinds, "c": Kind.INT}, types={"W": ("x", "b", "c")})
    for block in blocks(EVENTS, [], [(0, INFERRED), (CUT, wider)], controls([WAITING[kind]])):
        operator.apply(block)
    assert operator.statuses()["q0"].state == "active"
