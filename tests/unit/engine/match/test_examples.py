"""The papers' worked examples, from query text to results (docs/papers.md: N, X)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.match.cases import query_control

Events = Sequence[tuple[str, int, Mapping[str, float]]]


def run(text: str, events: Events, names: Sequence[str] = ()) -> list[str]:
    """Matches as text: positions from 1 on by component, as "1,2;3"."""
    kinds = dict.fromkeys(names, Kind.FLOAT) | {"symbol": Kind.STRING}
    types = sorted({kind for kind, _, _ in events} | {"A", "B", "C"})
    schema = Schema(kinds, {kind: tuple(kinds) for kind in types}, {})
    count = len(events)
    columns = Columns(
        seq=np.arange(count),
        ts=np.array([ts for _, ts, _ in events], np.int64),
        time=np.zeros(count, np.int64),
        type=Column(Kind.STRING, np.array([types.index(k) for k, _, _ in events], np.int32), tuple(types)),
        attributes={name: Column(Kind.FLOAT, np.array([e[2].get(name, np.nan) for e in events])) for name in names}
        | {"symbol": Column(Kind.STRING, np.zeros(count, np.int32), ("IBM",))},
    )
    controls = (Control(0, "schema", {"schema": schema_to_record(schema)}), query_control("add", text=text))
    operator = MatchOperator(partition=0, compiled=False)
    found = operator.apply(Block(columns, 0, count, events[-1][1], controls=controls))
    assert operator.statuses()["q"].state == "active", operator.statuses()
    return [_positions(orjson.loads(json)) for json in found.json(0, len(found))]


def _positions(result: Mapping[str, Any]) -> str:
    parts = (part if isinstance(part, list) else [part] for part in result["events"].values())
    return ";".join(",".join(str(event["seq"] + 1) for event in part) for part in parts)


def letters(text: str) -> list[tuple[str, int, dict[str, float]]]:
    """ "A1 B2" -> events of these types at these times"""
    return [(word[0], int(word[1:]), {}) for word in text.split()]


X_STREAM = letters("A1 A2 B5 B6 C7")


@pytest.mark.parametrize(
    ("strategy", "matches"),
    [
        ("strict-contiguity", ["2;3,4;5"]),
        ("partition-contiguity", ["2;3,4;5"]),
        ("skip-till-next-match", ["1;3,4;5", "2;3,4;5"]),
        ("skip-till-any-match", ["1;3;5", "1;3,4;5", "1;4;5", "2;3;5", "2;3,4;5", "2;4;5"]),
    ],
)
def test_the_example_of_the_second_paper(strategy: str, matches: list[str]) -> None:
    """X: contiguity gives one match, next-match two, any-match six."""
    query = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy} WITHIN 10 ms"
    assert sorted(run(query, X_STREAM)) == sorted(matches)


def test_a_run_that_left_a_closure_also_stays() -> None:
    """N4: ignore-proceed and take-proceed both split."""
    query = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match WITHIN 10 ms"
    assert run(query, letters("A1 B2 C3 B4 C5 C6")) == ["1;2;3", "1;2,4;5", "1;2,4;6"]


def test_a_closure_takes_what_it_can_under_skip_till_next_match() -> None:
    query = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match WITHIN 10 ms"
    assert run(query, letters("A1 B2 A3 B4 C5"))[0] == "1;2,4;5"


def test_a_closure_that_ends_the_pattern_reports_each_prefix() -> None:
    assert run("PATTERN SEQ(A a, B+ b[]) WHERE skip-till-next-match WITHIN 10 ms", letters("A1 B2 B3")) == [
        "1;2",
        "1;2,3",
    ]


QUERY_3 = """
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip-till-next-match {
  [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price) AND b.volume < 0.8 * a[last].volume }
WITHIN 1 hour"""
PRICES = (100, 120, 120, 121, 120, 125, 120, 120)
VOLUMES = (1010, 990, 1005, 999, 999, 750, 950, 700)


def test_query_3_on_figure_3() -> None:
    """N, figure 3: e6 ends (1..5;6) and (3,4;6); e8 ends (1..7;8) among others."""
    pairs = zip(PRICES, VOLUMES, strict=True)
    events = [("Stock", n, {"price": price, "volume": volume}) for n, (price, volume) in enumerate(pairs)]
    found = run(QUERY_3, events, ("price", "volume"))
    assert found[:2] == ["1,2,3,4,5;6", "3,4;6"]
    assert next(match for match in found if match.endswith(";8")) == "1,2,3,4,5,6,7;8"


VALUES = (0.1, 0.2, 0.15, 0.19, 0.25)


def test_non_decreasing_subsequences() -> None:
    """X: next-match finds (0.1, 0.2, 0.25) only from the first one; any-match all 19, single ones included or not."""
    events = [("B", n, {"val": value}) for n, value in enumerate(VALUES)]
    query = "PATTERN SEQ(B+ b[]) WHERE {} {{ b[i].val >= b[i-1].val }} WITHIN 10 ms"
    longest = run(query.format("skip-till-next-match"), events, ("val",))
    assert [match for match in longest if match.startswith("1")] == ["1", "1,2", "1,2,5"]
    every = run(query.format("skip-till-any-match"), events, ("val",))
    assert "1,3,4,5" in every
    assert len(every) == len(set(every)) == 19
