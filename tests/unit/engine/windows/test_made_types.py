"""Events of a type that a query makes (INTO) come from no producer: each is a dead letter, and the query goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import saffron
from saffron.engine.events.raw import batch_of_values
from saffron.engine.windows.made_types import without_made
from saffron.engine.windows.operator import WindowingOperator
from saffron.records.query import QueryRecord

MAKER = "PATTERN A a WITHIN 1 s RETURN a.x AS x INTO Mid"
READER = "PATTERN Mid m WHERE m.x > 0 WITHIN 1 s RETURN m.x AS x INTO Top"


def feed(operator: WindowingOperator, first: int, *events: bytes | dict[str, Any]) -> list[tuple[int, str]]:
    """The dead letters of events at these offsets, and what they say."""
    values = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in events]
    operator.ingest(batch_of_values(values, np.arange(first, first + len(values))))
    operator.flush()
    return [(one.offset, f"{one.reason}: {one.detail}") for one in operator.take_dead_letters()]


@pytest.mark.parametrize("known", [False, True])
def test_a_later_event_of_that_type_ends_no_query(known: bool) -> None:
    operator = WindowingOperator(0, "events")
    if known:
        feed(operator, 0, {"type": "A", "ts": 1, "x": 1})
    for name, text in (("maker", MAKER), ("reader", READER)):
        operator.query(name, QueryRecord(name, 1, "add", text))
    assert [one.state for one in operator.take_notices()] == ["active", "active"]
    told = "schema: query {0} makes the events of type '{1}' (INTO), so that none can come from elsewhere"
    letters = feed(
        operator,
        5,
        {"type": "Mid", "ts": 1, "x": "text"},
        {"type": "A", "ts": 2, "x": 1},
        b'{"type":"M\\u0069d","ts":3}',
        {"type": "Top", "ts": 4, "x": 7},
        {"type": "A", "ts": 5, "x": 'type "Mid"'},
        b'{"Mid":',
    )
    assert [one for one in letters if "INTO" in one[1]] == [
        (5, told.format("maker", "Mid")),
        (7, told.format("maker", "Mid")),
        (8, told.format("reader", "Top")),
    ]
    assert [offset for offset, _ in letters] == [5, 7, 8, 10]
    assert operator.take_notices() == []
    assert operator.schema is not None
    assert set(operator.schema.types) == {"A"}
    operator.query("reader", None)
    operator.query("maker", None)
    assert feed(operator, 20, {"type": "Mid", "ts": 9, "x": 1}) == []
    assert "Mid" in operator.schema.types


@pytest.mark.filterwarnings("ignore:2 events were bad")
def test_live_queries_go_on() -> None:
    told: list[str] = []
    reader = READER.replace(" INTO Top", "")
    with saffron.open(
        [f"QUERY m {MAKER}", f"QUERY r {reader}"], on_dead_letter=lambda one: told.append(one.detail)
    ) as live:
        found = [len(live.feed({"type": kind, "ts": ts, "x": 1})) for ts, kind in enumerate(("Mid", "A", "Mid", "A"))]
        found.append(len(live.flush()))
    assert sum(found) == 2
    assert ["query m makes" in one for one in told] == [True, True]


NAMES = st.sampled_from(["Mid", 'a"b', "b\\c", "ü", "a/b", "\u2028"])


@given(st.lists(st.tuples(NAMES, st.booleans(), st.sampled_from(["type", "x"])), max_size=8), st.sets(NAMES))
def test_those_of_the_types_are_refused_and_no_others(events: Sequence[tuple[str, bool, str]], made: set[str]) -> None:
    lines = [json.dumps({"type": "A", field: name}, ensure_ascii=plain).encode() for name, plain, field in events]
    batch = without_made(batch_of_values(lines), dict.fromkeys(made, "q"))
    wanted = [row for row, (name, _, field) in enumerate(events) if field == "type" and name in made]
    assert sorted(batch.refused) == wanted
    part = without_made(batch_of_values(lines).part(1, len(lines)), dict.fromkeys(made, "q"))
    assert sorted(part.refused) == [row for row in wanted if row >= 1]
