"""Control records of queries: their life, slots, windows, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.engine.events.columns import Columns
from saffron.engine.windows import WindowingOperator, registered
from tests.unit.engine.windows.records import OPENING, SCHEMA, TEXT, add, controls, events, resumed, states


def test_life_of_a_query() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.ingest(events(1, 2))
    operator.query("q", add(1))
    operator.query("q", add(1))
    operator.ingest(events(3, first=2))
    operator.query("q", add(2, op="pause"))
    operator.query("q", add(1))
    operator.query("q", add(3, op="resume"))
    operator.query("q", add(4, text=TEXT + " RETURN a.x"))
    operator.query("q", None)
    operator.query("q", None)
    assert controls(operator.flush()) == [
        (0, "schema", None),
        (2, "query", "add"),
        (3, "query", "pause"),
        (3, "query", "resume"),
        (3, "query", "remove"),
        (3, "query", "add"),
        (3, "query", "remove"),
    ]
    assert states(operator) == [
        ("q", 1, "active", 2),
        ("q", 2, "paused", 3),
        ("q", 3, "active", 3),
        ("q", 4, "active", 3),
        ("q", 4, "removed", 3),
    ]


def test_its_shedder_travels_with_a_query() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", replace(add(1), shed="pspice"))
    operator.query("q", replace(add(2, op="pause"), shed="pspice"))
    operator.query("q", replace(add(3), shed="none"))
    operator.query("q", replace(add(4), shed="pspise"))
    assert [state for _, _, state, _ in states(operator)] == ["active", "paused", "active", "rejected"]
    blocks = operator.flush()
    bodies = [control.body for block in blocks for control in block.controls if control.kind == "query"]
    assert [(body["op"], body.get("shed")) for body in bodies] == [
        ("add", "pspice"), ("pause", None), ("remove", None), ("add", "none"),
    ]  # fmt: skip
    again = resumed(blocks)
    again.query("q", replace(add(3, op="pause"), shed="none"))
    assert states(again) == [("q", 3, "paused", 0)], "nothing else has changed"


def test_a_query_first_seen_as_paused() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(7, op="pause"))
    assert controls(operator.flush())[1:] == [(0, "query", "add"), (0, "query", "pause")]
    assert states(operator) == [("q", 7, "paused", 0)]


def test_slots_are_the_lowest_free_ones() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    for number in range(66):
        operator.query(f"q{number}", replace(add(), name=f"q{number}"))
    operator.query("q5", None)
    operator.query("again", replace(add(), name="again"))
    bodies = [control.body for block in operator.flush() for control in block.controls if control.kind == "query"]
    slots = {body["name"]: body["slot"] for body in bodies if body["op"] == "add"}
    assert [slots[f"q{number}"] for number in range(66)] == [*range(64), -1, -1]
    assert slots["again"] == 5


def test_what_an_inferred_schema_lacks_may_come_yet() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1, text="PATTERN SEQ(A a, Nothing b) WHERE [s] WITHIN 1 hour"))
    operator.query("r", add(1, text="PATTERN SEQ(A a, Nothing b) WHERE a.s = b.nothing WITHIN 1 hour"))
    first, second = operator.take_notices()
    assert (first.state, second.state) == ("active", "active")
    assert str(first.reason).endswith(
        "until one has, a type is never met, and an attribute is null: event type 'Nothing'"
    )
    assert str(second.reason).endswith("event type 'Nothing', attribute 'nothing' of type Nothing")


def test_wrong_queries_change_nothing() -> None:
    operator = WindowingOperator(0, "events", replace(SCHEMA, given=True))
    operator.query("q", add(1))
    operator.query("q", add(2, text="PATTERN SEQ(A a, Nothing b) WITHIN 1 hour"))
    operator.query("r", replace(add(1), shed="sideways"))
    assert controls(operator.flush())[1:] == [(0, "query", "add")]
    notices = operator.take_notices()
    assert [note.state for note in notices] == ["active", "rejected", "rejected"]
    assert "Nothing" in str(notices[1].reason)


def test_queries_of_other_streams_are_not_ours() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1, text="FROM elsewhere " + TEXT))
    assert controls(operator.flush())[1:] == []
    operator.query("q", add(2))
    operator.query("q", add(3, text="FROM elsewhere " + TEXT))
    assert controls(operator.flush()) == [(0, "query", "add"), (0, "query", "remove")]


def test_what_does_not_fit_our_schema_is_no_error_in_a_query_of_another_stream() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1, text="FROM elsewhere PATTERN SEQ(Elsewhere e, Elsewhere f) WITHIN 1 hour"))
    assert controls(operator.flush())[1:] == []
    assert operator.take_notices() == []


def test_what_a_query_of_another_stream_makes_is_no_conflict_with_what_one_of_ours_reads() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1, text="PATTERN SEQ(A a, Alarm b) WITHIN 1 hour"))
    made = "FROM elsewhere PATTERN SEQ(E e, E f) WITHIN 1 hour RETURN e.x AS x INTO Alarm"
    operator.query("m", add(1, text=made))
    assert [state[:3] for state in states(operator)] == [("q", 1, "active")]
    operator.query("m", add(2, text=TEXT))
    operator.query("m", add(3, text=made))
    assert controls(operator.flush())[2:] == [(0, "query", "add"), (0, "query", "remove")]


def test_a_failure_of_an_earlier_version_stops_no_later_one() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1))
    operator.query("q", add(2, text=TEXT + " RETURN a.x"))
    operator.query("q", add(3, text=TEXT + " RETURN a.x", op="pause"))
    operator.fail("q", 1, "it was wrong")
    before = operator.flush()
    assert controls(before)[1:] == [(0, "query", op) for op in ("add", "remove", "add", "pause")]
    operator = resumed(before)
    operator.fail("q", 1, "it was wrong")
    assert controls(operator.flush()) == []
    operator.fail("q", 2, "this one, too")
    assert controls(operator.flush()) == [(0, "query", "fail")]


def test_a_query_before_the_schema_is_bound_or_rejected_at_it() -> None:
    operator = WindowingOperator(0, "events")
    operator.query("good", replace(add(), name="good"))
    operator.query("bad", replace(add(text="PATTERN SEQ(A a, A b) WHERE NOT a.x WITHIN 1 hour"), name="bad"))
    operator.ingest(events(1, 2, kind="A"))
    operator.ingest(events(3, first=2, kind="B"))
    blocks = operator.flush()
    assert controls(blocks) == [(0, "query", "add"), (0, "query", "add"), (0, "schema", None), (0, "query", "remove")]
    assert states(operator)[2:] == [("bad", 1, "rejected", 0)]


def test_windows_open_where_the_predicate_holds() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, max_block_events=2)
    operator.ingest(events(0, 2))
    operator.query("q", add(1, text=OPENING))
    operator.ingest(events(3, 4, first=2))
    operator.ingest(events(5, first=4, kind="B"))
    operator.query("q", add(2, text=OPENING, op="pause"))
    operator.ingest(events(6, first=5))
    operator.query("q", add(3, text=OPENING, op="resume"))
    operator.ingest(events(7, first=6))
    assert [block.opened for block in operator.flush()] == [{}, {"q": (2, 3)}, {}, {"q": (6,)}]


def test_a_query_whose_opening_condition_raises_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(1, text=OPENING))
    operator.query("r", replace(add(1, text=OPENING), name="r"))
    opens_at = registered.Query.opens_at

    def broken(self: registered.Query, columns: Columns) -> list[int]:
        if self.name == "q":
            raise ZeroDivisionError("oh")
        return opens_at(self, columns)

    monkeypatch.setattr(registered.Query, "opens_at", broken)
    operator.ingest(events(1, 2, 3))
    blocks = operator.flush()
    assert controls(blocks)[-1] == (3, "query", "fail")
    assert list(blocks[-1].opened["r"]) == [1, 2]
    failed = operator.take_notices()[-1]
    assert (failed.name, failed.state, failed.reason) == ("q", "failed", "OPEN ON: ZeroDivisionError: oh")
