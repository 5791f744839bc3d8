"""The desk judges a message as windowing will: whatever the stream's format, bounds and schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.raw import batch_of_values
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import UnavailableError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.correction import Correction
from saffron.runtime.dead_letters.dry_run import newest_watermark
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.dead_letters.sending import ResendRefusedError, Sender, Sources
from saffron.runtime.hops.tags import ClaimTag
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.background import at_once
from saffron.runtime.streams.stream_formats import Formats
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.engine.events.test_framed import FIRST, MS, WHEN, avro, framed
from tests.unit.runtime.written import write_block, write_letter
from tests.unit.windowing.fake_registry import FakeRegistry, running

TOPICS = Topics("p.")
NOW = MS + 1_000
DAY = 86_400_000
GOOD = avro(1, FIRST, {"ts": WHEN, "symbol": "IBM", "price": Decimal("1.00")})
MESSAGES = {
    "avro": GOOD,
    "torn": GOOD[:-1],
    "of a schema that nobody knows": framed(9, GOOD[5:]),
    "no frame": b"\1",
    "JSON": b'{"type":"Quote","ts":%d,"symbol":"KO"}' % (MS - 100),
    "of another type": b'{"type":5}',
    "late": b'{"type":"Quote","ts":1}',
    "too far ahead": b'{"type":"Quote","ts":%d}' % (NOW + 2 * DAY),
}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running() as one:
        one.add(1, json.dumps(FIRST))
        yield one


class World:
    """A stream of Avro messages keyed by symbol, its watermark at MS - 5000, and the desk."""

    def __init__(self, url: str, **more: Any) -> None:
        self.log = MemoryLog(MemoryBroker(lambda: NOW))
        self.log.create_topics(topic_specs("p.", 2))
        avro = StreamRecord("events", TOPICS.events, "symbol", disorder=0, format="avro", registry=url)
        self.stream = replace(avro, **more)
        for partition in range(2):
            write_block(self.log, TOPICS, partition, [b'{"type":"Quote","ts":%d}' % (MS - 5_000)])

    def prepare(self, value: bytes, correction: Correction | None = None) -> Any:
        name = write_letter(self.log, TOPICS, 1, value, "late", "it was")
        desk = DeadLetters(self.log, TOPICS, "desk")
        sender = Sender(desk, "desk", DAY)
        return sender.prepare(desk.find(name), Sources([self.stream]), correction or Correction(), NOW, again=False)


def as_windowing_says(stream: StreamRecord, value: bytes) -> tuple[str | None, int]:
    """(reason of a dead letter or None, ms by which the watermark rises) from windowing's own parts."""
    batch = batch_of_values([value], times=np.array([NOW], np.int64))
    formats = Formats("", lambda: 0, at_once)
    operator = WindowingOperator(0, "events", disorder_ms=stream.disorder or 0, max_future=DAY)
    operator.advance_watermark(MS - 5_000)
    operator.ingest(formats.translated_now(stream, batch))
    operator.flush()
    letters = operator.take_dead_letters()
    return (letters[0].reason if letters else None), operator.watermark - (MS - 5_000)


@pytest.mark.parametrize("disorder", [0, 3_000, 60_000])
@pytest.mark.parametrize("name", MESSAGES)
def test_each_message_as_windowing_would(registry: FakeRegistry, name: str, disorder: int) -> None:
    world = World(registry.url, disorder=disorder)
    reason, _ = as_windowing_says(world.stream, MESSAGES[name])
    if reason is None:
        assert world.prepare(MESSAGES[name]).value == MESSAGES[name]
        return
    with pytest.raises(ResendRefusedError) as refused:
        world.prepare(MESSAGES[name])
    assert refused.value.kind == ("late" if reason == "late" else "refused")
    assert "not JSON" not in str(refused.value)


@pytest.mark.parametrize(("disorder", "ahead"), [(0, 65_000), (4_000, 61_000), (5_000, None), (10**9, None)])
def test_how_far_a_message_pushes_the_watermark(registry: FakeRegistry, disorder: int, ahead: int | None) -> None:
    world = World(registry.url, disorder=disorder)
    value = b'{"type":"Quote","ts":%d,"symbol":"KO"}' % (MS + 60_000)
    notes = [note for note in world.prepare(value).notes if "ahead of its partition" in note]
    assert notes == (
        []
        if ahead is None
        else [f"it is {ahead} ms ahead of its partition: what comes later with an earlier ts will be late"]
    )


def test_the_watermark_is_found_behind_many_claims(registry: FakeRegistry) -> None:
    world = World(registry.url)
    producer = world.log.producer()
    for number in range(40):
        producer.send(TOPICS.admitted, 1, b"", headers=ClaimTag(f"{number}").headers())
    producer.flush(1.0)
    assert newest_watermark(world.log, TOPICS, "desk", "events", 1) == MS - 5_000


def test_the_key_of_a_message_that_is_no_json_is_that_of_its_event(registry: FakeRegistry) -> None:
    world = World(registry.url)
    sent = world.prepare(GOOD)
    assert sent.key == b"IBM"
    assert not [note for note in sent.notes if "no ts" in note]
    other = avro(1, FIRST, {"ts": WHEN, "symbol": "XOM", "price": Decimal("1.00")})
    assert world.prepare(GOOD, Correction(value=other)).key == b"XOM"


def test_a_stream_made_from_another_is_not_pushed_by_one_event(registry: FakeRegistry) -> None:
    world = World(registry.url, source="source", format="json", registry=None)
    sent = world.prepare(b'{"type":"Quote","ts":%d,"symbol":"KO"}' % (MS + 3_600_000))
    assert not [note for note in sent.notes if "ahead of its partition" in note]


def test_a_registry_that_does_not_answer_is_said(registry: FakeRegistry) -> None:
    registry.down = True
    with pytest.raises(UnavailableError, match=r"the schema registry at .* answers 500"):
        World(registry.url).prepare(GOOD)
