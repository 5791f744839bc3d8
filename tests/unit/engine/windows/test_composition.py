"""What windowing decides on queries over each other's results (INTO): readers, their makers, cycles, restarts."""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.windows.operator import WindowingOperator
from saffron.records.query import QueryRecord
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "s": Kind.STRING}, {"A": ("x", "s"), "B": ("x", "s")}, {})
MAKER = "PATTERN SEQ(A a, B b) WITHIN 5 s RETURN b.x - a.x AS gain, b.s INTO Rise"
READER = "PATTERN SEQ(Rise r, B b) WHERE r.gain > 1 AND r.s = b.s WITHIN 9 s RETURN r.gain AS last INTO Last"


def add(operator: WindowingOperator, name: str, text: str | None, version: int = 1) -> str:
    """What windowing says of it, or "active"."""
    wanted = None if text is None else QueryRecord(name, version, "add", text)
    operator.query(name, wanted)
    (notice,) = operator.take_notices()
    assert notice.name == name
    return notice.reason or notice.state


def test_a_reader_needs_its_maker() -> None:
    operator = WindowingOperator(0, "events", replace(SCHEMA, given=True))
    assert "unknown event type 'Rise'" in add(operator, "reader", READER)
    assert add(operator, "maker", MAKER) == "active"
    assert add(operator, "reader", READER) == "active"
    assert add(operator, "maker", None) == "removed"
    assert add(operator, "another", READER.replace("Last", "Best")).startswith("query error: unknown event type")


def test_what_is_read_from_the_stream_is_made_by_no_query_that_comes_later() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    plain = "PATTERN SEQ(Rise r, B b) WITHIN 9 s"
    unseen = (
        "no event has had this yet; until one has, a type is never met, and an attribute is null: event type 'Rise'"
    )
    assert unseen in add(operator, "reader", READER)
    assert add(operator, "reader", None) == "removed"
    assert add(operator, "reader", plain) == unseen
    assert "remove reader and add it again" in add(operator, "maker", MAKER)
    assert add(operator, "reader", None) == "removed"
    assert add(operator, "maker", MAKER) == "active"
    assert add(operator, "reader", plain) == "active"
    assert add(operator, "maker", MAKER.replace("5 s", "6 s"), 2) == "active"


def test_cycles_are_refused_with_their_names() -> None:
    for schema in (SCHEMA, None):
        operator = WindowingOperator(0, "events", schema)
        assert add(operator, "maker", MAKER) == "active"
        assert add(operator, "reader", READER) == "active"
        back = "PATTERN SEQ(Last l, B b) WITHIN 9 s RETURN l.last AS gain INTO Rise"
        wanted = (
            "query back: a query cannot read its own results: back makes Rise for reader, which makes Last for back"
        )
        assert add(operator, "back", back) == wanted
        assert add(operator, "itself", MAKER.replace("A a", "Rise a").replace("a.x", "b.x")).endswith("for itself")


def test_queries_that_wait_for_a_schema_are_bound_makers_first() -> None:
    operator = WindowingOperator(0, "events")
    assert add(operator, "a", READER) == "active"
    assert add(operator, "b", MAKER) == "active"
    operator.adopt(SCHEMA)
    assert operator.take_notices() == []
    assert not operator.changed(SCHEMA)


def test_trends_do_not_read_results() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    assert add(operator, "maker", MAKER) == "active"
    assert "Rise is made by a query" in add(operator, "counted", "PATTERN Rise+ WITHIN 9 s RETURN COUNT(*)")
