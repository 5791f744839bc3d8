"""A re-keyed stream: several sources in one partition, each in its own order, mixed as chance will have it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows import WindowingOperator
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"id": Kind.INT}, {"A": ("id",)}, {"A": frozenset()})


def event(ts: int, number: int) -> bytes:
    return orjson.dumps({"type": "A", "ts": ts, "id": number})


def word(source: int, sources: int, ts: int | None = None, **more: bool | str) -> bytes:
    told = {} if ts is None else {"ts": ts}
    return orjson.dumps({"type": "$watermark", **told, "source": source, "sources": sources, **more})


def mixed(draw: random.Random, sources: int, disorder: int) -> list[bytes]:
    """Each source in its own order, late by no more than `disorder`, and now and then its word on how far it is."""
    lanes: list[list[bytes]] = []
    for source in range(sources):
        lane, ts, top = [], draw.randrange(50), 0
        for number in range(40):
            ts += draw.randrange(10)
            when = max(ts - draw.randrange(disorder + 1), top - disorder)
            top = max(top, when)
            lane.append(event(when, 1000 * source + number))
            if draw.random() < 0.3:
                lane.append(word(source, sources, top - disorder))
        lane.append(word(source, sources, 10_000, end=True))
        lanes.append(lane)
    found = []
    while any(lanes):
        lane = draw.choice([one for one in lanes if one])
        for _ in range(min(len(lane), draw.randrange(1, 20))):
            found.append(lane.pop(0))
    return found


def batch(values: list[bytes], first: int = 0) -> RawBatch:
    return batch_of_values(values, np.arange(first, first + len(values), dtype=np.int64))


def operator(size: int = 4096) -> WindowingOperator:
    return WindowingOperator(0, "s", SCHEMA, rekeyed=True, max_block_events=size, checkpoint_every=30)


def events_of(blocks: list[Block]) -> list[tuple[int, int]]:
    return [
        pair
        for block in blocks
        for pair in zip(block.columns.ts.tolist(), block.columns.attributes["id"].data.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_no_event_is_late_however_the_sources_are_mixed(seed: int) -> None:
    draw = random.Random(seed)
    values = mixed(draw, draw.choice([1, 2, 5]), draw.choice([0, 20]))
    subject = operator()
    subject.ingest(batch(values))
    found = events_of(subject.flush())
    sent = [(body["ts"], body["id"]) for body in map(orjson.loads, values) if body["type"] == "A"]
    assert sorted(found) == sorted(sent)
    assert [ts for ts, _ in found] == sorted(ts for ts, _ in sent)
    assert subject.take_dead_letters() == []


@pytest.mark.parametrize("seed", range(12))
def test_a_new_owner_goes_on_from_any_block_as_if_nothing_had_happened(seed: int) -> None:
    draw = random.Random(seed)
    values = mixed(draw, 3, 20)
    whole = operator()
    whole.ingest(batch(values))
    expected = whole.flush()
    log: list[Block] = []
    for _ in range(200):
        if log and log[-1].end:
            break
        subject = operator(draw.choice([1, 3, 50]))
        for block in log:
            subject.resume(block)
        position = subject.position()
        for _ in range(draw.randrange(1, 20)):
            count = draw.randrange(1, 40)
            subject.ingest(batch(values[position : position + count], position))
            position = min(position + count, len(values))
            blocks = [decode_block(encode_block(replace(block, claim=1))) for block in subject.flush()]
            log += blocks[: draw.randrange(1, len(blocks) + 1) if blocks and draw.random() < 0.3 else None]
            if blocks and log[-1].counter != blocks[-1].counter:
                break  # it died between two of its blocks
    assert events_of(log) == events_of(expected)
    assert sum(block.end for block in log) == sum(block.end for block in expected) == 1
    assert log[-1].watermark == expected[-1].watermark == 10_000


def test_nothing_passes_before_all_have_spoken_and_a_silent_one_is_not_waited_for() -> None:
    subject = operator()

    def told(*values: bytes) -> list[tuple[int, int]]:
        subject.ingest(batch(list(values), subject.position()))
        return events_of(subject.flush())

    assert told(event(100, 1), word(0, 3, 100), word(1, 3, 90)) == []
    assert told(event(80, 2), word(2, 3, 80)) == [(80, 2)]
    assert told(word(2, 3, silent=True)) == []
    assert told(word(1, 3, 100)) == [(100, 1)], "the third is silent"
    assert told(event(95, 3)) == []
    assert [letter.reason for letter in subject.take_dead_letters()] == ["late"], "it came back too late"
    assert told(event(110, 4), word(2, 3, 110), word(0, 3, 120), word(1, 3, 105)) == []
    assert told(word(1, 3, 110)) == [(110, 4)]


def test_a_word_that_no_source_can_have_said_is_a_dead_letter() -> None:
    subject = operator()
    subject.ingest(batch([word(3, 3, 100), orjson.dumps({"type": "$watermark", "ts": 1, "source": 0})]))
    subject.flush()
    assert [letter.reason for letter in subject.take_dead_letters()] == ["schema", "schema"]


def test_look_ups_hold_once_all_sources_have_said_them_before_all_that_is_held() -> None:
    some = operator()

    def say(*values: bytes) -> None:
        some.ingest(batch(list(values), some.position()))

    say(word(0, 2, 10), word(1, 2, 10), event(50, 1))
    assert some.lookups == (frozenset(), False)
    say(word(0, 2, 20, lookups="a\nb"))
    assert some.lookups == (frozenset(), False), "the other source's events have none yet"
    say(word(1, 2, 20, lookups="b\nc"))
    assert some.lookups == (frozenset("b"), True), "an event is held that has none"
    say(word(0, 2, 60, lookups="a\nb"), word(1, 2, 60, lookups="b\nc"))
    assert some.lookups == (frozenset("b"), False)
    (*_, block) = some.flush()
    later = operator()
    later.resume(decode_block(encode_block(block)))
    assert later.lookups == (frozenset("b"), False)
    later.ingest(batch([word(0, 2, 70)], later.position()))
    assert later.lookups == (frozenset(), False)
