"""A schema is not given to a stream one of whose standing queries waits for a name that it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange, StreamContext
from saffron.control.streams.stream_changes import plan_change
from saffron.records.stream import StreamRecord
from saffron.schema.schema import Kind, Schema

OF_EVENTS = Schema({"x": Kind.INT}, {"W": ("x",)}, {"W": frozenset()})
WAITING = "FROM s PATTERN W w WHERE w.c > 5 OR w.x > 2 WITHIN 10 ms"
MAKER = "FROM s PATTERN W w WHERE w.x > 1 WITHIN 10 ms RETURN w.x AS y INTO D"
READER = "FROM s PATTERN D d WHERE d.y > 1 WITHIN 10 ms"


def given(*names: str) -> dict[str, Any]:
    properties = {"type": {"enum": ["W"]}, **{name: {"type": "integer"} for name in names}}
    return {"type": "object", "properties": properties}


def now(schema: Schema | None = OF_EVENTS, **queries: str) -> StreamContext:
    streams = {"s": StreamRecord("s", "t")}
    return StreamContext(
        "p.", streams, lambda topic: 1, lambda topic: False, schema=lambda record: schema, queries=queries
    )


def test_it_is_refused_with_the_query_the_name_and_both_ways_out() -> None:
    with pytest.raises(Refused) as told:
        plan_change(StreamChange("s", schema=given("x", "b")), now(q=WAITING))
    for words in ("query 'q' of stream 's' does not fit the new schema", "c", "saffron query remove q"):
        assert words in str(told.value)


@pytest.mark.parametrize(
    "there",
    [
        now(q=WAITING.replace("w.c", "w.b")),
        now(None, q=WAITING),
        now(q=WAITING.replace("FROM s", "FROM other")),
        now(q=MAKER, r=READER),
        now(q="no query"),
    ],
    ids=["it is named", "no events yet", "of another stream", "made by a query", "wrong before"],
)
def test_other_queries_hold_no_schema_up(there: StreamContext) -> None:
    assert plan_change(StreamChange("s", schema=given("x", "b")), there).is_change


def test_a_timestamp_that_is_the_time_holds_a_schema_up_that_makes_it_an_attribute() -> None:
    there = now(q="FROM s PATTERN W w WHERE w.timestamp > 5 WITHIN 10 ms", r="FROM s PATTERN W w WITHIN 10 ms")
    with pytest.raises(Refused, match=r"query 'q' .*Write ts for the time"):
        plan_change(StreamChange("s", schema=given("x", "timestamp")), there)
    assert plan_change(StreamChange("s", schema=given("x", "b")), there).is_change
