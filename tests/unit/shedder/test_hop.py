"""The queue in front of the shedder: who is waited for, and how an order from outside gets into the stream."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import encode_block
from saffron.engine.shed.operator import ShedderOperator
from saffron.errors import GapError, RemadeError, TruncatedError
from saffron.runtime.hops.hop import InputPartition
from saffron.runtime.hops.input_state import LOST, Incident
from saffron.runtime.hops.tags import BlockTag
from saffron.runtime.log import Record, TopicState
from saffron.shedder.hop import MOST_BLOCKS, ShedderHop
from tests.unit.runtime.fakes import columns

ADD = Control(0, "query", {"op": "add", "name": "q", "version": 1, "text": "", "slot": 0, "from": "now"})


def hop(credit: int = 10) -> ShedderHop:
    return ShedderHop(ShedderOperator(0, "events"), "windows", credit_events=credit, patience_ms=100)


def record(offset: int, counter: int, first: int, size: int, *controls: Control, at: int = 0) -> Record:
    seqs = list(range(first, first + size))
    block = Block(columns(seqs, seqs, seqs), first, first + size, 0, counter=counter, controls=controls)
    return Record("windows", 0, offset, at, None, encode_block(block), BlockTag(0, 0, -1, False).headers())


def load(service: str, position: int, *queries: str) -> dict[str, Any]:
    return {"service": service, "position": position, "partial_matches": dict.fromkeys(queries, 3)}


def test_only_as_much_is_forwarded_as_the_reader_has_credit_for() -> None:
    shedder = hop(credit=10)
    shedder.take_load(load("matcher", 0, "q"), 0)
    shedder.take([record(1, 0, 0, 6), record(2, 6, 6, 4), record(3, 10, 10, 4)], 0)
    assert [block.next_seq for block in shedder.emit(5, flush=False)] == [6, 10]
    assert shedder.emit(6, flush=False) == []
    shedder.take_load(load("matcher", 6, "q"), 7)
    assert [block.next_seq for block in shedder.emit(8, flush=False)] == [14]


def test_a_reader_that_has_gone_silent_holds_back_nobody_else() -> None:
    shedder = hop(credit=5)
    shedder.take_load(load("matcher", 0, "q"), 0)
    shedder.take_load(load("greta", 0, "t"), 0)
    shedder.take([record(1, 0, 0, 5), record(2, 5, 5, 5)], 0)
    shedder.emit(1, flush=False)
    shedder.take_load(load("greta", 5, "t"), 90)
    assert shedder.emit(95, flush=False) == [], "the matcher may still be there"
    assert [block.next_seq for block in shedder.emit(150, flush=False)] == [10]


def test_waiting_is_measured_from_the_blocks_append_to_its_forwarding() -> None:
    shedder = hop()
    shedder.take([record(1, 0, 0, 2, at=100)], 130)
    shedder.emit(142, flush=False)
    assert shedder.waits == [42]


def test_time_without_credit_is_summed_up() -> None:
    shedder = hop(credit=2)
    shedder.take_load(load("matcher", 0, "q"), 0)
    shedder.take([record(1, 0, 0, 2, at=3), record(2, 2, 2, 2, at=4)], 5)
    shedder.emit(10, flush=False)
    shedder.emit(17, flush=False)
    shedder.take_load(load("matcher", 2, "q"), 20)
    shedder.emit(21, flush=False)
    shedder.emit(90, flush=False)
    assert shedder.held_ms == 11
    assert (shedder.sent(), shedder.sent()) == (3, 4)


def test_a_forced_order_stands_in_the_next_block() -> None:
    shedder = hop()
    assert "no query 'q' is in force" in (shedder.force("q", 3) or "")
    shedder.take([record(1, 0, 0, 1, ADD)], 0)
    shedder.emit(1, flush=False)
    assert shedder.force("q", 3) is None
    shedder.take([record(2, 2, 1, 1)], 2)
    (block,) = shedder.emit(3, flush=False)
    assert [(control.kind, control.position, control.body["n"]) for control in block.controls] == [("keep", 1, 3)]
    assert (block.counter, block.next_counter) == (2, 4)


def test_a_successor_goes_on_behind_the_last_block_without_gap_or_repeat() -> None:
    shedder = hop()
    found = InputPartition(TopicState("id", 1), 2, 9)
    assert shedder.begin(found, 0) == 2, "the first there is"
    shedder.take([record(1, 0, 0, 3), record(2, 3, 3, 2)], 0)
    first, second = shedder.emit(1, flush=False)
    heir = hop()
    for block in (first, second):
        heir.resume(block)
    assert heir.begin(found, 0) == 3
    assert heir.begin(InputPartition(TopicState("id", 1), 5, 9), 7) == 5
    assert heir.input.state.incidents == (Incident(LOST, 7, 3, 3, 5),)
    with pytest.raises(RemadeError, match="windows was deleted and made anew"):
        heir.begin(InputPartition(TopicState("other", 1), 0, 9), 0)
    with pytest.raises(TruncatedError, match="windows/0 has lost its end: its records from offset 2 on"):
        heir.begin(InputPartition(TopicState("id", 1), 0, 2), 7)
    heir.take([record(3, 3, 3, 2), record(4, 5, 5, 1)], 2)
    (block,) = heir.emit(3, flush=False)
    assert (block.first_seq, block.counter) == (5, 5)


def test_what_waits_is_not_flushed_but_left_to_the_successor() -> None:
    shedder = hop()
    shedder.take([record(1, 0, 0, 3)], 0)
    assert shedder.emit(1, flush=True) == []


def test_a_long_queue_stops_the_input_until_it_is_short_again() -> None:
    shedder = hop(credit=1)
    shedder.take_load(load("matcher", 0, "q"), 0)
    shedder.take([record(offset, offset, offset, 1) for offset in range(MOST_BLOCKS)], 0)
    assert not shedder.accepts_input
    for position in range(1, MOST_BLOCKS // 2):
        shedder.emit(1, flush=False)
        shedder.take_load(load("matcher", position, "q"), 1)
    assert not shedder.accepts_input
    for position in range(MOST_BLOCKS // 2, MOST_BLOCKS):
        shedder.emit(1, flush=False)
        shedder.take_load(load("matcher", position, "q"), 1)
    assert shedder.accepts_input


def test_blocks_before_a_gap_are_forwarded() -> None:
    shedder = hop(credit=1)
    shedder.take_load(load("matcher", 0, "q"), 0)
    shedder.take([record(1, 0, 0, 1), record(2, 1, 1, 1), record(4, 7, 7, 1), record(5, 8, 8, 1)], 0)
    assert [block.next_seq for block in shedder.emit(1, flush=False)] == [1]
    assert shedder.emit(2, flush=False) == []
    shedder.take_load(load("matcher", 1, "q"), 3)
    assert [block.next_seq for block in shedder.emit(4, flush=False)] == [2]
    with pytest.raises(GapError):
        shedder.emit(5, flush=False)
