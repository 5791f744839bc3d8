"""The operator around the counting: controls, statuses, order of results, the past, dropped events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.results import Results
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.trends.build import KINDS, SCHEMA, block_of, query_control, schema_control

COUNT_A = "RETURN COUNT(*) PATTERN A+ WITHIN 10 ms"


def a_stream(number: int = 40, **values: Any) -> list[dict[str, Any]]:
    return [{"seq": i, "ts": i, "type": "A", "time": 1000 + i, **values} for i in range(number)]


def an_operator() -> TrendOperator:
    return TrendOperator(partition=2, compiled=False)


def shown(results: Results) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in results.json(0, len(results))]


def windows(results: Results) -> list[tuple[str, int, int]]:
    return [(line["query"], line["window"][0], line["return"]["COUNT(*)"]) for line in shown(results)]


def test_a_result_as_it_is_published() -> None:
    text = "RETURN k, COUNT(*) AS trends, COUNT(*) PATTERN A+ GROUP BY k WITHIN 10 ms"
    controls = (schema_control(), query_control("mine", text=text))
    results = an_operator().apply(block_of(a_stream(3, k="é"), 0, 3, watermark=10, controls=controls))
    (line,) = results.json(0, 1)
    identity = orjson.loads(line)["id"]
    assert len(identity) == 32
    assert line.decode() == (
        f'{{"id":"{identity}","query":"mine","partition":2,"window":[0,10],"group":{{"k":"é"}},'
        '"return":{"trends":7,"COUNT(*)":7},"exact":true}'
    )
    assert results.last_time.tolist() == [1002]
    assert results.position.tolist() == [3]
    assert [results.names[index] for index in results.query] == ["mine"]


def test_ids_differ_by_query_partition_window_and_group() -> None:
    ids: set[str] = set()
    for partition in (0, 1):
        for text in (COUNT_A, COUNT_A + " SLIDE 5 ms", "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 10 ms"):
            events = a_stream(20) if "GROUP" not in text else [{**e, "k": "pq"[e["seq"] % 2]} for e in a_stream(20)]
            operator = TrendOperator(partition=partition, compiled=False)
            controls = (schema_control(), query_control("q", text=text))
            results = operator.apply(block_of(events, 0, 20, watermark=2**62, end=True, controls=controls))
            found = [line["id"] for line in shown(results)]
            assert len(found) == len(set(found))
            assert not ids & set(found)
            ids |= set(found)


def test_a_window_fires_before_the_first_event_beyond_it_or_when_the_watermark_passes_it() -> None:
    operator = an_operator()
    controls = (schema_control(), query_control("q", text=COUNT_A))
    first = operator.apply(block_of(a_stream(), 0, 9, watermark=9, controls=controls))
    assert windows(first) == []
    assert windows(operator.apply(block_of(a_stream(), 9, 9, watermark=10))) == [("q", 0, 511)]
    other = [{"seq": 9, "ts": 25, "type": "Z"}]
    assert windows(operator.apply(block_of(other, 9, 10, watermark=25))) == []
    late = operator.apply(block_of([*other, {"seq": 10, "ts": 25, "type": "A"}], 10, 11, watermark=25))
    assert windows(late) == []
    assert windows(operator.apply(block_of([], 11, 11, watermark=30))) == [("q", 20, 1)]


def test_silent_keys_do_not_wait_for_their_next_event() -> None:
    events = [{"seq": 0, "ts": 1, "type": "A", "k": "p"}, {"seq": 1, "ts": 11, "type": "B", "k": "other"}]
    text = "RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 10 ms"
    controls = (schema_control(), query_control("q", text=text))
    results = an_operator().apply(block_of(events, 0, 2, watermark=0, controls=controls))
    assert windows(results) == [("q", 0, 1)]
    assert results.position.tolist() == [1]


def test_results_stand_by_position_deadline_query_and_first_seq() -> None:
    texts = {
        "b": "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 4 ms SLIDE 2 ms",
        "a": "RETURN COUNT(*) PATTERN A+ WITHIN 4 ms SLIDE 2 ms",
        "c": "RETURN COUNT(*) PATTERN A+ WITHIN 3 EVENTS",
    }
    events = [
        {"seq": i, "ts": ts, "type": "A", "k": k} for i, (ts, k) in enumerate(((1, "z"), (1, "y"), (2, "z"), (9, "y")))
    ]
    controls = (schema_control(), *(query_control(name, text=text) for name, text in texts.items()))
    results = an_operator().apply(block_of(events, 0, 4, watermark=2**62, end=True, controls=controls))
    found = [(line["query"], *line["window"], *line["group"].values()) for line in shown(results)]
    assert found == [
        ("a", -2, 2),
        ("b", -2, 2, "z"),
        ("b", -2, 2, "y"),
        ("c", 0, 3),  # full once event 2 is in, so it stands before what event 3 closes
        ("a", 0, 4),
        ("b", 0, 4, "z"),
        ("b", 0, 4, "y"),
        ("a", 2, 6),
        ("b", 2, 6, "z"),
        ("c", 3, 6),
        ("a", 6, 10),
        ("b", 6, 10, "y"),
        ("a", 8, 12),
        ("b", 8, 12, "y"),
    ]
    assert results.position.tolist() == [2] * 3 + [3] * 6 + [4] * 5


def test_no_event_after_the_end_enters_a_window_that_began_before_it() -> None:
    for text, first, second in ((COUNT_A, 0, 20), ("RETURN COUNT(*) PATTERN A+ WITHIN 10 EVENTS", 0, 10)):
        operator = an_operator()
        controls = (schema_control(), query_control("q", text=text))
        events = [{**event, "ts": event["ts"] + (12 if event["seq"] >= 3 else 0)} for event in a_stream(30)]
        results = operator.apply(block_of(events, 0, 3, watermark=15, end=True, controls=controls))
        assert windows(results) == [("q", first, 7)]
        results = operator.apply(block_of(events, 3, 30, watermark=2**62, end=True))
        assert windows(results)[0][1] == second


def test_a_query_sees_the_events_from_its_position_on() -> None:
    controls = (schema_control(), query_control("q", 5, text=COUNT_A))
    results = an_operator().apply(block_of(a_stream(10), 0, 10, watermark=2**62, end=True, controls=controls))
    assert windows(results) == [("q", 0, 31)]


def test_removed_and_paused_queries_drop_their_windows() -> None:
    operator = an_operator()
    controls = (
        schema_control(),
        *(query_control(name, text=COUNT_A) for name in "pqr"),
        query_control("p", 4, op="pause"),
        query_control("p", 6, op="resume"),
        query_control("q", 8, op="remove"),
        query_control("r", 12, op="pause"),
    )
    results = operator.apply(block_of(a_stream(), 0, 15, watermark=15, controls=controls))
    assert windows(results) == [("p", 0, 15), ("r", 0, 1023)]
    assert {name: status.state for name, status in operator.statuses().items()} == {"p": "active", "r": "paused"}


def test_results_of_before_a_pause_can_still_be_written() -> None:
    text = "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 3 ms"
    controls = (schema_control(), query_control("q", text=text), query_control("q", 5, op="pause"))
    results = an_operator().apply(block_of(a_stream(6, k="here"), 0, 6, watermark=6, controls=controls))
    assert [line["group"] for line in shown(results)] == [{"k": "here"}]


def test_a_wrong_query_is_a_status() -> None:
    operator = an_operator()
    texts = {
        "bad": "RETURN SUM(A.k) PATTERN A+ WITHIN 1 s",
        "worse": "RETURN",
        "match": "PATTERN SEQ(A a) WITHIN 1 s",
    }
    controls = (schema_control(), *(query_control(name, text=text) for name, text in texts.items()))
    assert len(operator.apply(block_of(a_stream(), 0, 5, watermark=5, controls=controls))) == 0
    statuses = operator.statuses()
    assert {name: status.state for name, status in statuses.items()} == {"bad": "rejected", "worse": "rejected"}
    assert "A.k" in statuses["bad"].reason


def test_a_query_waits_for_the_schema() -> None:
    operator = an_operator()
    operator.apply(block_of([], 0, 0, watermark=0, controls=(query_control("q", text=COUNT_A),)))
    assert operator.statuses()["q"].state == "waiting"
    again = an_operator()
    again.restore(operator.snapshot())
    results = again.apply(block_of(a_stream(5), 0, 5, watermark=2**62, end=True, controls=(schema_control(),)))
    assert again.statuses()["q"].state == "active"
    assert windows(results) == [("q", 0, 31)]


def test_a_snapshot_serves_whatever_its_keys_were_hashed_by() -> None:
    text = "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 40 ms"
    events = [{**event, "k": f"key {event['seq'] % 7}"} for event in a_stream(40)]
    operator = an_operator()
    operator.apply(block_of(events, 0, 20, watermark=20, controls=(schema_control(), query_control("q", text=text))))
    state = {name: array.copy() for name, array in operator.snapshot().items()}
    for rows, table in (("0.keys", "0.table"), ("0.groups", "0.group_table")):
        state[rows][:, 0], state[table][:] = 5, 0
    again = an_operator()
    again.restore(state)
    rest = block_of(events, 20, 40, watermark=2**62, end=True)
    assert shown(again.apply(rest)) == shown(operator.apply(rest))


def test_a_schema_that_grows_leaves_a_query_as_it_is() -> None:
    grown = Schema({**KINDS, "new": Kind.INT}, {**SCHEMA.types, "A": (*KINDS, "new")}, SCHEMA.required)
    events = [{**event, "k": "x"} for event in a_stream(10)]
    operator = an_operator()
    query = query_control("q", text="RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 10 ms")
    operator.apply(block_of(events, 0, 5, watermark=5, controls=(schema_control(), query)))
    controls = (schema_control(5, grown),)
    block = block_of(events, 5, 10, watermark=2**62, end=True, controls=controls, kinds=grown.kinds)
    assert windows(operator.apply(block)) == [("q", 0, 1023)]


def test_dropped_events_are_no_vertices_but_move_time() -> None:
    events = a_stream(12)
    controls = (schema_control(), query_control("q", text=COUNT_A, slot=3), query_control("r", text=COUNT_A, slot=4))
    block = block_of(events, 0, 12, watermark=0, controls=controls)
    mask = np.zeros(12, dtype=np.uint64)
    mask[[0, 1, 11]] = np.uint64(1 << 3)
    columns = block.columns
    dropped = type(columns)(columns.seq, columns.ts, columns.time, columns.type, columns.attributes, mask)
    results = an_operator().apply(Block(dropped, 0, 12, 0, controls=controls))
    assert windows(results) == [("q", 0, 255), ("r", 0, 1023)]


def test_a_checkpoint_starts_a_fresh_operator() -> None:
    record = schema_control().body["schema"]
    opening = "RETURN COUNT(*) PATTERN A+ WITHIN 10 ms OPEN ON B"
    queries = [
        {
            "name": "q",
            "version": 4,
            "added": 2,
            "text": COUNT_A,
            "slot": 0,
            "from": "earliest",
            "since": 2,
            "paused": False,
        },
        {"name": "p", "version": 1, "text": COUNT_A, "slot": 1, "from": "now", "since": 2, "paused": True},
        {"name": "o", "version": 1, "text": opening, "slot": 2, "from": "now", "since": 2, "paused": False},
    ]
    openings = [[seq, seq] for seq in range(3, 12)]
    body = {"schema": record, "queries": queries, "models": {}, "windows": {"o": openings}}
    operator = an_operator()
    block = block_of(a_stream(14), 12, 14, watermark=14, controls=(Control(12, "checkpoint", body),))
    assert windows(operator.apply(block)) == [("o", 3, 1), ("o", 4, 3)]
    assert {name: (s.version, s.state) for name, s in operator.statuses().items()} == {
        "q": (2, "active"),
        "p": (1, "paused"),
        "o": (1, "active"),
    }
    before = operator.snapshot()
    operator.apply(block_of([], 14, 14, watermark=14, controls=(Control(14, "checkpoint", {"schema": None}),)))
    assert operator.statuses().keys() == {"q", "p", "o"}
    assert before["operator"].tobytes() == operator.snapshot()["operator"].tobytes()


def blocks_of_the_past(text: str) -> tuple[list[Block], Block]:
    events = [{**event, "type": "AAB"[event["seq"] % 3]} for event in a_stream(40)]
    past = [block_of(events, 0, 11, watermark=11, controls=(schema_control(),)), block_of(events, 11, 25, watermark=25)]
    add = query_control("q", 31, text=text, since="earliest")
    return past, block_of(events, 25, 40, watermark=2**62, end=True, controls=(add,))


def masked_for_all(block: Block) -> Block:
    return replace(block, columns=replace(block.columns, dropped=np.ones(len(block.columns), np.uint64)))


@pytest.mark.parametrize(
    "window", ["WITHIN 10 ms SLIDE 4 ms", "WITHIN 10 EVENTS SLIDE 5 EVENTS", "WITHIN 9 ms OPEN ON B o WHERE o.ts > 2"]
)
def test_from_earliest_is_as_if_the_query_had_been_there(window: str) -> None:
    text = f"RETURN COUNT(*) PATTERN A+ {window}"
    past, last = blocks_of_the_past(text)
    opened = tuple(seq for seq in range(31, 40) if seq % 3 == 2) if "OPEN" in window else ()
    last = Block(last.columns, 25, 40, last.watermark, end=True, controls=last.controls, opened={"q": opened})
    late = an_operator()
    masked = [masked_for_all(block) for block in past]  # for whoever had the slot before
    for block in masked:
        assert len(late.apply(block)) == 0
    found = late.apply(last, lambda: iter([*masked, last]))
    early = an_operator()
    everything = []
    all_opened = tuple(seq for seq in range(3, 40) if seq % 3 == 2) if "OPEN" in window else ()
    first = (schema_control(), query_control("q", text=text))
    for number, block in enumerate((*past, last)):
        mine = tuple(seq for seq in all_opened if block.first_seq <= seq < block.next_seq)
        controls = first if number == 0 else ()
        again = Block(
            block.columns,
            block.first_seq,
            block.next_seq,
            block.watermark,
            end=block.end,
            controls=controls,
            opened={"q": mine},
        )
        results = early.apply(again)
        everything += results.json(0, len(results))
    assert found.json(0, len(found)) == everything
    assert found.position.min() == 31


def test_an_opening_event_that_is_gone_is_an_error() -> None:
    text = "RETURN COUNT(*) PATTERN A+ WITHIN 10 ms OPEN ON B"
    controls = (schema_control(), query_control("q", text=text))
    events = [event for event in a_stream(6) if event["seq"] != 3]
    block = block_of(events, 0, 6, watermark=6, controls=controls, opened={"q": (3,)})
    operator = an_operator()
    operator.apply(block)
    assert ["event 3" in one.reason for one in operator.failures()] == [True]


def test_other_streams_queries_are_left_alone() -> None:
    operator = an_operator()
    controls = (schema_control(), query_control("q", text="FROM elsewhere " + COUNT_A))
    assert len(operator.apply(block_of(a_stream(), 0, 20, watermark=20, controls=controls))) == 0
    assert operator.statuses() == {}


def test_statistics_name_queries() -> None:
    operator = an_operator()
    text = "RETURN COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 10 ms"
    controls = (schema_control(), query_control("q", text=text))
    events = [{**event, "x": 1.0 + event["seq"] % 4} for event in a_stream(8, k="one")]
    operator.apply(block_of(events, 0, 8, watermark=8, controls=controls))
    numbers = operator.statistics()
    assert numbers["events"] == 8
    assert numbers["vertices"] == numbers["partial_matches"] == {"q": 8}
    assert numbers["open_windows"] == numbers["keys"] == {"q": 1}
    assert numbers["results"] == {"q": 0}
    assert numbers["state_bytes"] > 0
    assert operator.observations() == {}


@pytest.mark.parametrize(
    ("clause", "word"),
    [("WITHIN 1 day SLIDE 1 ms", "windows"), (f"PATTERN SEQ({', '.join(['A'] * 63)}) WITHIN 1 s", "63")],
)
def test_what_the_arrays_cannot_hold_is_refused(clause: str, word: str) -> None:
    operator = an_operator()
    text = f"RETURN COUNT(*) {'' if 'PATTERN' in clause else 'PATTERN A+ '}{clause}"
    operator.apply(block_of([], 0, 0, watermark=0, controls=(schema_control(), query_control("q", text=text))))
    assert operator.statuses()["q"].state == "rejected"
    assert word in operator.statuses()["q"].reason


def test_a_query_without_a_slot_is_never_dropped_for() -> None:
    controls = (schema_control(), query_control("q", text=COUNT_A, slot=-1))
    block = block_of(a_stream(4), 0, 4, watermark=2**62, end=True, controls=controls)
    columns = block.columns
    dropped = type(columns)(
        columns.seq, columns.ts, columns.time, columns.type, columns.attributes, np.full(4, 2**64 - 1, dtype=np.uint64)
    )
    results = an_operator().apply(Block(dropped, 0, 4, 2**62, end=True, controls=controls))
    assert windows(results) == [("q", 0, 15)]
