"""Checkpoints, and an operator that resumes from the blocks of another."""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows import WindowingOperator
from tests.unit.engine.windows.records import OPENING, SCHEMA, add, controls, events, resumed


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
