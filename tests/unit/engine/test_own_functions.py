"""Functions of one's own: for which events they are called, and what ends where one fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Column
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import FunctionError, QueryError
from saffron.language import bind
from saffron.mapping.where import condition
from saffron.schema.functions import own
from saffron.schema.functions.own import register
from saffron.schema.schema import Kind
from tests.unit.engine.function_results import SCHEMA, WITHIN


@pytest.fixture
def halves() -> Iterator[None]:
    def half(x: float) -> float | None:
        return None if x == 1 else 1 / (x - 2) if x > 1 else x / 2

    register("half", half, frozenset())
    yield
    own.forget("half")


def _fails(events: list[dict[str, Any]], text: str) -> MatchOperator:
    """An operator with this query and others, one of which reads another's results, behind the events."""
    schema, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
    operator = MatchOperator(partition=0, compiled=False)
    known = Control(0, "schema", {"schema": schema_to_record(schema)})
    queries = {
        "own": text,
        "other": "PATTERN A a WHERE lower(a.s) = 'q'" + WITHIN,
        "maker": "PATTERN A a" + WITHIN + "RETURN a.s AS s INTO Made",
        "reader": "PATTERN Made m WHERE lower(m.s) = 'q'" + WITHIN,
    }
    added = [
        {"op": "add", "name": name, "version": 1, "text": one, "slot": slot, "from": "now", "shed": "none"}
        for slot, (name, one) in enumerate(queries.items())
    ]
    controls = (known, *(Control(0, "query", one) for one in added))
    found = operator.apply(Block(columns, 0, len(columns), 9, controls=controls))
    assert [json.loads(line)["query"] for line in found.json(0, len(found)) if line] == ["other", "reader"]
    return operator


@pytest.mark.usefixtures("halves")
def test_a_function_of_ones_own_that_fails_ends_its_query_and_no_other() -> None:
    operator = _fails([{"type": "A", "ts": 1, "s": "Q", "x": 2}], "PATTERN A a WHERE half(a.x) = 0.5" + WITHIN)
    statuses = operator.statuses()
    assert statuses["own"].state == "failed"
    assert "function 'half' failed on (2)" in statuses["own"].reason
    assert {name for name, status in statuses.items() if status.state == "active"} == {"other", "maker", "reader"}


@pytest.mark.usefixtures("halves")
@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("PATTERN SEQ(A a, B b) WHERE half(a.x) = 0.5", "A"),
        ("PATTERN SEQ(A a, B b) WHERE half(b.x) = 0.5", "B"),
        ("PATTERN SEQ(A a, B b) WHERE half(a.x) < half(b.x)", "AB"),
        ("PATTERN SEQ(A a, B b) WHERE [half(x)]", "AB"),
        ("PATTERN SEQ(A a, NOT B b, A c) WHERE half(b.x) = 0.5", "B"),
        ("PATTERN SEQ(A+ a[], B b) WHERE sum(half(a[].x)) = 0.5", "A"),
        ("PATTERN SEQ(A+ a[], B b) WHERE count(half(a[].x) > 0) = 1", "A"),
        ("PATTERN SEQ(A a, (B | C) b) WHERE half(b.x) = 0.5", "BC"),
        ("PATTERN SEQ(A a, ANY b) WHERE half(b.x) = 0.5", "ABCD"),
    ],
)
def test_a_function_of_ones_own_is_called_for_events_of_those_types_only_that_it_is_read_of(
    text: str, types: str
) -> None:
    for kind in "ABCD":
        schema, columns = decode_ndjson(
            b"".join(
                b'{"type":"%s","ts":%d,"x":%d}\n' % (one.encode(), at, 2 if one == kind else 1)
                for at, one in enumerate("ABCDAB")
            )
        )
        operator = MatchOperator(partition=0, compiled=False)
        added = [
            {"op": "add", "name": name, "version": 1, "text": one, "slot": slot, "from": "now", "shed": "none"}
            for slot, (name, one) in enumerate(
                (("own", text + WITHIN), ("other", "PATTERN D d WHERE half(d.x) > 9" + WITHIN))
            )
        ]
        known = Control(0, "schema", {"schema": schema_to_record(schema)})
        controls = (known, *(Control(0, "query", one) for one in added))
        operator.apply(Block(columns, 0, len(columns), 9, controls=controls))
        failed = {name for name, status in operator.statuses().items() if status.state == "failed"}
        assert failed == {name for name, own in (("own", types), ("other", "D")) if kind in own}


@pytest.mark.parametrize("reads", ["picky(a.s)", "picky(a.s || '')", "lower(picky(a.s))", "picky(lower(a.s))"])
def test_a_function_of_ones_own_is_called_for_texts_of_its_events_only(reads: str) -> None:
    """Whatever texts the column holds beside: those of events of other types, and of earlier blocks."""
    called: set[str] = set()

    def picky(text: str) -> str:
        called.add(text)
        if text == "no":
            raise ValueError(text)
        return text

    def block(at: int, kinds: str, texts: list[str], *controls: Control) -> Block:
        events = b"".join(b'{"type":"%s","ts":%d,"s":"x"}\n' % (one.encode(), at + n) for n, one in enumerate(kinds))
        _, columns = decode_ndjson(events)
        values = ("yes", "no", "never", "x")
        codes = np.array([values.index(one) for one in texts], np.int32)
        columns = replace(columns, attributes={"s": Column(Kind.STRING, codes, values)})
        return Block(columns, at, at + len(columns), at + len(columns), controls=controls)

    def add(name: str, text: str, slot: int) -> Control:
        body = {"op": "add", "name": name, "version": 1, "text": text + WITHIN, "slot": slot, "from": "now"}
        return Control(0, "query", body)

    register("picky", picky, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False)
        schema, _ = decode_ndjson(b'{"type":"A","ts":0,"s":"x"}\n{"type":"B","ts":0,"s":"x"}')
        own_one = add("of A", f"PATTERN A a WHERE {reads} = 'yes'", 0)
        other = add("of B", f"PATTERN B a WHERE {reads} = 'yes'", 1)
        first = Control(0, "schema", {"schema": schema_to_record(schema)})
        for one in (block(0, "AB", ["yes", "x"], first, own_one, other), block(2, "AAB", ["x", "yes", "no"])):
            operator.apply(one)
        states = {name: status.state for name, status in operator.statuses().items()}
        assert states == {"of A": "active", "of B": "failed"}
        operator.apply(block(5, "AA", ["yes", "x"]))
        assert operator.statuses()["of A"].state == "active"
        operator.apply(block(7, "A", ["no"]))
        assert operator.statuses()["of A"].state == "failed"
    finally:
        own.forget("picky")
    assert called == {"yes", "x", "no"}


def test_a_function_of_ones_own_is_called_in_a_step_of_its_query_while_that_is_in_force() -> None:
    notes: list[str] = []
    called: list[str] = []

    def seen(x: float) -> float:
        called.append(notes[-1])
        return x

    def block(at: int, *controls: Control) -> Block:
        _, columns = decode_ndjson(b'{"type":"A","ts":%d,"x":%d}' % (at, at))
        return Block(columns, at, at + 1, at, controls=controls)

    def add(name: str, text: str) -> Control:
        return Control(0, "query", {"op": "add", "name": name, "version": 1, "text": text, "slot": 0, "from": "now"})

    register("seen", seen, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False, note=lambda query, *_: notes.append(query))
        schema, _ = decode_ndjson(b'{"type":"A","ts":0,"x":0}')
        first = add("own", "PATTERN A a WHERE seen(a.x) >= 0" + WITHIN)
        others = add("other", "PATTERN A a" + WITHIN), add("trend", "PATTERN A a" + WITHIN + "RETURN COUNT(*)")
        operator.apply(block(0, Control(0, "schema", {"schema": schema_to_record(schema)}), first, *others))
        operator.apply(block(1))
        assert called == ["own", "own"]
        operator.stop("own", 1, "it failed before")
        operator.apply(block(2))
    finally:
        own.forget("seen")
    assert called == ["own", "own"], "what no query in force reads is not computed"


@pytest.mark.parametrize("cuts", [[], [2, 4], [3]])
def test_a_function_of_ones_own_is_called_for_events_in_the_life_of_its_query_only(cuts: list[int]) -> None:
    """Wherever a block is cut: else a query could fail by an event that it never sees."""
    called: list[float] = []

    def seen(x: float) -> float:
        called.append(x)
        return x

    lines = b"".join(b'{"type":"A","ts":%d,"x":%d}\n' % (at, at) for at in range(6))
    schema, columns = decode_ndjson(lines)
    body = {"name": "own", "version": 1, "text": "PATTERN A a WHERE seen(a.x) >= 0" + WITHIN, "slot": 0, "from": "now"}
    controls = (
        Control(0, "schema", {"schema": schema_to_record(schema)}),
        Control(2, "query", {"op": "add", **body}),
        Control(4, "query", {"op": "remove", **body}),
    )
    register("seen", seen, frozenset())
    try:
        operator = MatchOperator(partition=0, compiled=False)
        for low, high in pairwise([0, *cuts, 6]):
            mine = tuple(one for one in controls if low <= one.position < high)
            operator.apply(Block(slice_columns(columns, low, high), low, high, high, controls=mine))
    finally:
        own.forget("seen")
    assert called == [2, 3]


@pytest.mark.usefixtures("halves")
def test_a_function_of_ones_own_is_refused_where_it_could_stop_more_than_its_query() -> None:
    with pytest.raises(QueryError, match="half is a function of your own"):
        bind("PATTERN A a WITHIN 9 ms OPEN ON A o WHERE half(o.x) > 1", SCHEMA, name="q")
    with pytest.raises(QueryError, match="half is a function of your own") as raised:
        condition("x = 1 AND y + half(x) > 1")
    assert (raised.value.start, raised.value.end) == (14, 21)


def test_a_function_of_ones_own_says_what_it_takes_and_gives() -> None:
    def plain(x):  # type: ignore[no-untyped-def]
        return x

    def lists(x: list[int]) -> str:
        return str(x)

    def good(x: str) -> str:
        return x

    for function, name in ((plain, "plain"), (lists, "lists"), (good, "Good"), (good, "lower")):
        with pytest.raises(FunctionError):
            register(name, function, frozenset({"lower"}))
