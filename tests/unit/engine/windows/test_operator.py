"""The windowing operator's rules, one by one: schema, queries, dead letters, cuts, checkpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import encode_block
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows import WindowingOperator
from saffron.errors import SchemaError
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "s": Kind.STRING}, {"A": ("x", "s"), "B": ("x",)}, {"A": frozenset(), "B": frozenset()})
TEXT = "PATTERN SEQ(A a, B b) WITHIN 1 hour"
OPENING = "PATTERN SEQ(A a, B b) WITHIN 10 ms OPEN ON A o WHERE o.x > 1"


def batch(*values: str, first: int = 0, times: list[int] | None = None) -> RawBatch:
    offsets = np.arange(first, first + len(values), dtype=np.int64)
    stamps = None if times is None else np.array(times, dtype=np.int64)
    return batch_of_values([value.encode() for value in values], offsets, stamps)


def events(*ts: int, first: int = 0, kind: str = "A") -> RawBatch:
    return batch(*(f'{{"type":"{kind}","ts":{time},"x":{time}}}' for time in ts), first=first)


def controls(blocks: list[Block]) -> list[tuple[int, str, Any]]:
    return [
        (control.position, control.kind, control.body.get("op"))
        for block in blocks
        for control in block.controls
        if control.kind != "checkpoint"
    ]


def add(version: int = 1, text: str = TEXT, op: str = "add") -> QueryRecord:
    return QueryRecord("q", version, op, text)


def states(operator: WindowingOperator) -> list[tuple[str, int, str, int]]:
    return [(note.name, note.version, note.state, note.position) for note in operator.take_notices()]


# ---------------------------------------------------------------- events and dead letters


def test_blocks_are_dense_and_bounded() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, max_block_events=4)
    operator.ingest(events(*range(10)))
    blocks = operator.flush()
    assert [(block.first_seq, block.next_seq, block.counter, block.watermark) for block in blocks] == [
        (0, 4, 0, 4),
        (4, 8, 5, 8),
        (8, 10, 9, 9),
    ]
    assert operator.flush() == []


@pytest.mark.parametrize(
    ("count", "text", "attributes"),
    [(20, "é" * 500_000, {}), (4_000, "x" * 4_000, {}), (4_000, "", {f"a{number}": 1 for number in range(300)})],
    ids=["a few long ones", "many long ones", "many wide ones"],
)
def test_no_block_is_larger_than_a_message(count: int, text: str, attributes: dict[str, int]) -> None:
    operator = WindowingOperator(0, "events", max_block_events=8192)
    bodies = ({"type": "A", "ts": ts, **attributes, "text": f"{ts}{text}"} for ts in range(count))
    operator.ingest(batch_of_values(list(map(orjson.dumps, bodies))))
    blocks = operator.flush()
    assert [block.first_seq for block in blocks[1:]] == [block.next_seq for block in blocks[:-1]]
    assert blocks[-1].next_seq == count
    assert 1 < len(blocks) < 30
    assert max(len(encode_block(block)) for block in blocks) < 9 << 20


def test_dead_letters_carry_the_original() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=2)
    operator.ingest(
        batch('{"type":"A","ts":10}', "no", '{"type":"A","ts":7}', '{"type":"A","ts":8}', times=[1, 2, 3, 4])
    )
    letters = operator.take_dead_letters()
    assert [(letter.offset, letter.timestamp, letter.reason, letter.value) for letter in letters] == [
        (1, 2, "not-json", b"no"),
        (2, 3, "late", b'{"type":"A","ts":7}'),
    ]
    assert letters[1].detail == "ts 7 is below 8, the watermark when it arrived"
    assert operator.take_dead_letters() == []
    statistics = operator.statistics()
    assert (statistics["events"], statistics["late"], statistics["bad"], statistics["held"]) == (
        1,
        1,
        {"not-json": 1},
        1,
    )


def test_empty_blocks_only_when_something_moved() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    assert controls(operator.flush()) == [(0, "schema", None)]
    operator.ingest(batch("bad"))
    assert operator.flush() == []
    operator.advance_watermark(50)
    assert [(len(block.columns), block.watermark, block.end) for block in operator.flush()] == [(0, 50, False)]
    operator.advance_watermark(50)
    assert operator.flush() == []
    operator.advance_watermark(50, end=True)
    assert [(block.watermark, block.end) for block in operator.flush()] == [(50, True)]


def test_message_time_travels_in_the_block() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.ingest(batch('{"type":"A","ts":1}', '{"type":"A"}', times=[5, 7]))
    assert operator.flush()[0].columns.time.tolist() == [5, 7]


# ---------------------------------------------------------------- the schema


def test_inferred_from_what_is_at_hand_when_flushed() -> None:
    operator = WindowingOperator(0, "events")
    operator.ingest(batch('{"type":"A","ts":1,"y":1}', '{"type":"A","ts":2,"y":1.5}'))
    assert operator.schema is None
    (block,) = operator.flush()
    assert operator.schema is not None
    assert operator.schema.kinds == {"y": Kind.FLOAT}
    assert controls([block]) == [(0, "schema", None)]
    assert block.controls[0].body == {"schema": schema_to_record(operator.schema)}


def test_inferred_at_the_limit() -> None:
    operator = WindowingOperator(0, "events", infer_events=3)
    operator.ingest(events(1, 2))
    assert operator.schema is None
    operator.ingest(events(3, 4, first=2))
    assert operator.schema is not None
    assert operator.flush()[0].columns.ts.tolist() == [1, 2, 3, 4]


def test_records_without_an_event_infer_nothing() -> None:
    operator = WindowingOperator(0, "events")
    operator.ingest(batch("no", '{"type":"$watermark","ts":5}'))
    assert [block.watermark for block in operator.flush()] == [5]
    assert operator.schema is None
    assert [letter.reason for letter in operator.take_dead_letters()] == ["not-json"]
    operator.ingest(events(6, first=2))
    assert operator.flush()[0].columns.ts.tolist() == [6]


def test_schema_from_the_stream_and_its_change() -> None:
    document = {"type": "object", "properties": {"type": {"const": "A"}, "x": {"type": "integer"}}}
    operator = WindowingOperator(0, "events")
    operator.configure(StreamRecord("events", "t", schema=document, disorder=5))
    operator.configure(StreamRecord("events", "t", schema=document, disorder=5))
    assert operator.disorder_ms == 5
    assert controls(operator.flush()) == [(0, "schema", None)]
    document["properties"]["y"] = {"type": "string"}  # type: ignore[index]
    operator.configure(StreamRecord("events", "t", schema=document))
    assert controls(operator.flush()) == [(0, "schema", None)]
    document["properties"]["x"] = {"type": "string"}  # type: ignore[index]
    with pytest.raises(SchemaError, match="another name"):
        operator.configure(StreamRecord("events", "t", schema=document))


# ---------------------------------------------------------------- queries


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
    assert str(first.reason).endswith("until one has, it is null: event type 'Nothing'")
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


# ---------------------------------------------------------------- checkpoints and restarts


def test_a_checkpoint_holds_what_is_in_force() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, checkpoint_every=4)
    operator.query("q", add(1, text=OPENING))
    operator.query("p", replace(add(3, op="pause"), name="p"))
    operator.ingest(events(5, 6, 14, 16))
    first = operator.flush()
    assert not any(control.kind == "checkpoint" for block in first for control in block.controls)
    operator.query("p", None)
    operator.ingest(events(17, first=4))
    (block,) = operator.flush()
    checkpoint = block.controls[0]
    assert (checkpoint.kind, checkpoint.position) == ("checkpoint", 4)
    assert checkpoint.body["schema"] == schema_to_record(SCHEMA)
    assert checkpoint.body["windows"] == {"q": [[2, 14], [3, 16]]}  # those of 5 and 6 are closed
    queries = {query["name"]: query for query in checkpoint.body["queries"]}
    assert queries["q"] == {
        "name": "q", "version": 1, "added": 1, "text": OPENING, "slot": 0, "from": "now", "shed": "auto",
            "since": 0,
        "paused": False,
    }  # fmt: skip
    assert queries["p"]["paused"] is True


def resumed(blocks: list[Block], **options: Any) -> WindowingOperator:
    operator = WindowingOperator(0, "events", **options)
    for block in blocks:
        operator.resume(block)
    return operator


def test_queries_and_schema_come_back() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.query("q", add(2, text=OPENING))
    operator.ingest(events(5))
    again = resumed(operator.flush({"queries": 4}))
    assert again.schema == SCHEMA
    assert again.position() == 1
    again.query("q", add(1, text=OPENING))
    again.query("q", add(2, text=OPENING))
    again.ingest(events(9, first=1))
    (block,) = again.flush()
    assert block.controls == ()
    assert block.opened == {"q": (1,)}
    assert block.input["positions"] == {"queries": 4}
    again.query("q", None)
    assert controls(again.flush()) == [(2, "query", "remove")]


def test_a_schema_that_the_log_lacks_is_written_after_a_restart() -> None:
    operator = WindowingOperator(0, "events")
    operator.query("q", add())
    operator.advance_watermark(3)
    again = resumed(operator.flush(), schema=SCHEMA)
    again.ingest(events(5))
    assert controls(again.flush()) == [(0, "schema", None)]


def test_middle_blocks_keep_the_positions_of_control_topics_before() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, max_block_events=1)
    operator.flush({"queries": 1})
    operator.ingest(events(1, 2, 3))
    assert [block.input["positions"]["queries"] for block in operator.flush({"queries": 2})] == [1, 1, 2]


def test_bad_offsets_of_an_old_owner_are_read_again_from_the_lowest_held() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=10)
    operator.ingest(events(100, 95, 120))
    (block,) = operator.flush()[-1:]
    assert block.input["released"] == [100, 0]
    assert block.input["lowest_held"] == 2
    again = resumed([block], schema=SCHEMA, disorder_ms=10)
    assert again.position() == 2
    again.ingest(events(120, 112, first=2))
    again.advance_watermark(200)
    assert [(found.first_seq, found.columns.ts.tolist()) for found in again.flush()] == [(2, [112, 120])]


def test_dead_letters_of_what_an_earlier_owner_has_seen_are_not_sent_again() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=5)
    records = batch('{"type":"A","ts":10}', '{"type":"A","ts":20}', "no", '{"type":"A","ts":7}', '{"type":"A","ts":19}')
    operator.ingest(records)
    assert [letter.offset for letter in operator.take_dead_letters()] == [2, 3]
    again = resumed(operator.flush(), schema=SCHEMA, disorder_ms=5)
    assert again.position() == 1, "what is held back is read again"
    again.ingest(records.part(1, 5))
    assert again.take_dead_letters() == []
    again.ingest(batch('{"type":"A","ts":1}', first=5))
    assert [letter.offset for letter in again.take_dead_letters()] == [5]


def test_behind_another_topic_no_record_is_taken_for_one_of_the_old() -> None:
    first = WindowingOperator(0, "events", SCHEMA)
    first.ingest(events(5, 6, 7))
    blocks = first.flush()
    second = resumed(blocks)
    second.begin_anew(0)
    second.advance_watermark(7)
    second.query("q", add())
    third = resumed([*blocks, *second.flush()])
    third.ingest(events(7, 8))
    assert [block.columns.ts.tolist() for block in third.flush()] == [[7, 8]]
