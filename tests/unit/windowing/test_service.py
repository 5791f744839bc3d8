"""The windowing service: several partitions and streams, and a silent source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block
from saffron.runtime.hops.tags import BlockTag, read_tag
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, stream_topics, topic_specs
from saffron.runtime.process.background import at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import DEAD_LETTERS
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.service import WindowingService
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")


@dataclass
class Bench:
    """The service on an in-memory log of two partitions."""

    directory: Path
    now: int = 10_000
    others: list[WindowingService] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = MemoryBroker(lambda: self.now)
        for spec in topic_specs("t.", 2):
            self.broker.create(TopicSpec(spec.name, spec.partitions, {}))
        self.producer = MemoryLog(self.broker).producer()
        self.metrics, self.health = Metrics(), Health("windowing")
        self.service = self.member()

    def member(self) -> WindowingService:
        settings = replace(Settings(), data=self.directory, prefix="t.", idle_ms=200, flush_ms=5)
        return WindowingService(MemoryLog(self.broker), settings, self.metrics, self.health, background=at_once)

    def event(self, partition: int, ts: int, topic: str = TOPICS.events) -> None:
        value = orjson.dumps({"type": "A", "ts": ts, "x": 1})
        self.producer.send(topic, partition, value, timestamp=ts)

    def drive(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self.now += 1
            for service in (self.service, *self.others):
                service.step(self.now)

    def blocks(self, partition: int, topic: str = TOPICS.windows) -> list[Block]:
        records = self.broker.partition(TopicPartition(topic, partition)).read(0, 1000, False)[0]
        return [decode_block(record.value or b"") for record in records if isinstance(read_tag(record), BlockTag)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_silent_partition_follows_the_others_watermark_and_its_backlog_is_late(bench: Bench) -> None:
    for ts in (1000, 2000, 3000):
        bench.event(0, ts)
    bench.event(1, 1000)
    bench.drive(1100)
    assert bench.blocks(1)[-1].watermark == 1000
    for ts in (4000, 5000):
        bench.event(0, ts)
    bench.drive(30)
    # Partition 1 has been read to its end and silent for long: it follows partition 0, which has just spoken.
    assert bench.blocks(1)[-1].watermark == 5000
    bench.event(1, 4500)
    bench.event(1, 6000)
    bench.drive(50)
    assert bench.blocks(1)[-1].columns.ts.tolist() == [6000]
    assert bench.metrics.value(DEAD_LETTERS, "late") == 1


def test_a_silent_partition_follows_one_of_another_member(bench: Bench) -> None:
    bench.others.append(bench.member())
    bench.drive(50)
    owned = [[where.partition for where in service.shell.chains] for service in (bench.service, bench.others[0])]
    assert sorted(owned) == [[0], [1]]
    bench.event(0, 1000)
    bench.event(1, 1000)
    bench.drive(2500)
    assert bench.blocks(1)[-1].watermark == 1000
    for ts in range(2000, 5000, 10):
        bench.event(0, ts)
        bench.drive(10)
    following = bench.blocks(1)[-1].watermark
    assert 2000 < following < 4990, "as the other member said last, at most a second ago"
    bench.event(1, following)
    bench.event(1, following - 1)
    bench.drive(50)
    assert bench.blocks(1)[-1].columns.ts.tolist() == [following]


def test_nobody_follows_while_the_owner_of_a_partition_has_not_spoken(bench: Bench) -> None:
    bench.broker.create(TopicSpec("many", 3, {}))
    for spec in stream_topics("t.", "many", 3):
        bench.broker.create(TopicSpec(spec.name, spec.partitions, {}))
    body = {"name": "many", "topic": "many", "key": None, "schema": None, "disorder": 0, "idle": 200}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps(body), key=b"many")
    bench.others.append(bench.member())
    bench.drive(50)
    members = [bench.service, *bench.others]
    owned = [[where.partition for where in one.shell.chains if where.topic == "many"] for one in members]
    larger = max((0, 1), key=lambda index: len(owned[index]))
    # The other one is alive, as the group sees it, and says nothing.
    bench.service, bench.others = members[larger], []
    silent, speaking = owned[larger]
    windows = TOPICS.windows_of("many")
    bench.event(silent, 1000, topic="many")
    for ts in range(1000, 3000, 50):
        bench.event(speaking, ts, topic="many")
        bench.drive(50)
    assert bench.blocks(speaking, windows)[-1].watermark > 2000
    assert bench.blocks(silent, windows)[-1].watermark == 1000
    bench.service = members[1 - larger]
    bench.drive(1100)  # it says that its partition is silent
    bench.service = members[larger]
    for ts in range(3000, 3200, 50):
        bench.event(speaking, ts, topic="many")
        bench.drive(50)
    assert bench.blocks(silent, windows)[-1].watermark > 2000


def test_the_service_is_ready_once_queries_and_streams_are_read(bench: Bench) -> None:
    assert not bench.health.status()["ready"]
    bench.drive(3)
    assert bench.health.status()["ready"]


def test_a_stream_that_is_added_has_chains_of_its_own(bench: Bench) -> None:
    bench.drive(5)
    bench.broker.create(TopicSpec("ticks", 1, {}))
    for spec in stream_topics("t.", "ticks", 1):
        bench.broker.create(TopicSpec(spec.name, spec.partitions, {}))
    body = {"name": "ticks", "topic": "ticks", "key": None, "schema": None, "disorder": 0, "idle": None}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps(body), key=b"ticks")
    bench.event(0, 1000, topic="ticks")
    bench.drive(1200)
    assert bench.blocks(0, TOPICS.windows_of("ticks"))[-1].columns.ts.tolist() == [1000]
