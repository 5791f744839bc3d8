"""A merged stream of a shop, its sources, and what an uninterrupted run makes of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from saffron.engine.events.block import Block
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.schema.origin import NUMBER, OFFSET, PARTITION, SOURCE
from saffron.windowing.service import WindowingService
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import Chaos, World

TOPICS = Topics("t.")
NAME, TOPIC, TARGETS = "shop", "t.shop", 2
DISORDER = 500
COUNTS = {"orders": 2, "payments": 1, "trucks": 1}
SHOP = f"""
stream: shop
key: order_id
disorder: {DISORDER}ms
sources:
- topic: orders
  ts: {{field: at, format: epoch_ms}}
- topic: payments
  type: {{field: status, map: {{OK: Paid}}}}
  ts: {{field: paid, format: epoch_ms}}
  attributes: {{order_id: order.id, total: {{from: total, as: number}}}}
"""
TRUCKS = """
- topic: trucks
  explode: parcels
  ts: {field: left, format: epoch_ms}
"""

NESTED = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "at", "type": "long"},
        {
            "name": "customer",
            "type": {"type": "record", "name": "Customer", "fields": [{"name": "tier", "type": "string"}]},
        },
    ],
}

Key = tuple[int, int, int, int, int]
"""(ts, source, partition, offset, number)."""


@dataclass
class Twin:
    """What a definition makes of messages, said without it: events by key, dead letters by id."""

    watermarks: dict[tuple[str, int], int] = field(default_factory=dict)
    events: dict[Key, str] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)

    def take(self, topic: str, partition: int, offset: int, value: bytes) -> None:
        body = orjson.loads(value) if value != b"{broken" else None
        where = f"{topic}/{partition}/{offset}"
        if body is None:
            self.letters[where] = "not-json"
        elif topic == "orders":
            self._event(topic, partition, offset, 0, body["at"], body.get("order_id") or "")
        elif topic == "payments" and body["status"] != "OK":
            self.letters[where] = "no-type"
        elif topic == "payments":
            self._event(topic, partition, offset, 0, body["paid"], body["order"]["id"])
        else:
            for number, parcel in enumerate(body["parcels"]):
                if parcel["left"] is None:
                    self.letters[where + (f".{number}" if number else "")] = "no-ts"
                else:
                    self._event(topic, partition, offset, number, parcel["left"], parcel["order_id"])

    def _event(self, topic: str, partition: int, offset: int, number: int, ts: int, order: str) -> None:
        watermark = self.watermarks.get((topic, partition), -(2**62))
        if ts < watermark:
            self.letters[f"{topic}/{partition}/{offset}" + (f".{number}" if number else "")] = "late"
            return
        self.watermarks[topic, partition] = max(watermark, ts - DISORDER)
        self.events[ts, list(COUNTS).index(topic), partition, offset, number] = order


class Shop:
    """Members of `windowing` over the topics of a shop, and the stream that merges them."""

    def __init__(self, seed: int, directory: Path, chaos: Chaos | None = None) -> None:
        self.world = World(seed, directory, chaos or Chaos())
        self.world.topics(*topic_specs("t.", 1), topic_files()["events"].spec(TOPIC, TARGETS))
        self.world.topics(*stream_topics("t.", NAME, TARGETS))
        self.world.topics(*(TopicSpec(topic, count, {}) for topic, count in COUNTS.items()))
        self.producer = MemoryLog(self.world.broker).producer()
        self.metrics = Metrics()
        self.twin = Twin()
        self.draw = random.Random(seed)
        self.clock = dict.fromkeys([(t, p) for t, n in COUNTS.items() for p in range(n)], 1_000_000)
        self._offsets: dict[tuple[str, int], int] = {}
        self.versions = 0
        settings = replace(
            Settings(),
            data=directory,
            tables=directory / "lists",
            prefix="t.",
            commit_ms=10,
            session_ms=1_000,
            poll_records=20,
            block_events=16,
        )
        beside = SomeTime(self.world.random)
        for member in range(2):
            self.world.add(
                f"windowing-{member}",
                lambda log: WindowingService(log, settings, self.metrics, Health("test"), background=beside),
            )

    def apply(self, text: str) -> None:
        self.versions += 1
        self.put(self.record(text))

    def record(self, text: str) -> StreamRecord:
        numbers = {topic: number for number, topic in enumerate(COUNTS) if topic != "trucks" or self.versions > 1}
        definition = AppliedDefinition(text, numbers, self.versions)
        return StreamRecord(NAME, TOPIC, "order_id", disorder=DISORDER, definition=definition)

    def put(self, record: StreamRecord) -> None:
        self.producer.send(TOPICS.streams, 0, record.encode(), key=NAME.encode())
        self.producer.flush(1)

    def remove(self) -> None:
        self.producer.send(TOPICS.streams, 0, None, key=NAME.encode())
        self.producer.flush(1)

    def tell(self) -> None:
        """Everybody's next digest."""
        for _ in range(60):
            self.world.now += 50
            for process in self.world.processes:
                assert process.service is not None
                process.service.step(self.world.now)

    def send(self, topic: str, partition: int, body: Mapping[str, Any] | bytes) -> None:
        value = body if isinstance(body, bytes) else orjson.dumps(body)
        offset = self._offsets.get((topic, partition), 0)
        self._offsets[topic, partition] = offset + 1
        self.producer.send(topic, partition, value, key=b"k", timestamp=self.world.now)
        self.producer.flush(1)
        self.twin.take(topic, partition, offset, value)

    def some(self, topics: int) -> None:
        """A message of one of the first `topics` topics: some late, some broken, many at one ts."""
        topic = list(COUNTS)[self.draw.randrange(topics)]
        partition = self.draw.randrange(COUNTS[topic])
        self.clock[topic, partition] += self.draw.choice((0, 0, 100, 300))
        order = self.draw.choice("abcde")
        ts = self.clock[topic, partition] - self.draw.choice((0, 0, 0, 300, 1_000))
        if self.draw.random() < 0.05:
            self.send(topic, partition, b"{broken")
        elif topic == "orders":
            self.send(topic, partition, {"order_id": order, "at": ts, "customer": {"tier": "gold"}})
        elif topic == "payments":
            status = self.draw.choice(("OK", "OK", "OK", "?"))
            self.send(topic, partition, {"order": {"id": order}, "paid": ts, "status": status, "total": "12.50"})
        else:
            times = [self.draw.choice((ts, ts + 100, None)) for _ in range(self.draw.randrange(4))]
            self.send(topic, partition, {"parcels": [{"order_id": order, "left": one} for one in times]})

    def finish(self, topics: int) -> None:
        """A last message of every source partition, far ahead in time."""
        for topic in list(COUNTS)[:topics]:
            for partition in range(COUNTS[topic]):
                for one in range(TARGETS):
                    self.clock[topic, partition] = 5_000_000
                    self.send(topic, partition, last_of(topic, f"last{one}"))

    def blocks(self, partition: int) -> list[Block]:
        return self.world.blocks(TOPICS.windows_of(NAME), partition)

    def order(self, partition: int) -> list[Key]:
        """The events of a partition by their keys, in the order of the stream."""
        found = []
        for block in self.blocks(partition):
            columns = [block.columns.attributes.get(name) for name in (SOURCE, PARTITION, OFFSET, NUMBER)]
            rows = [[0] * len(block.columns) if one is None else one.data.tolist() for one in columns]
            found += list(zip(block.columns.ts.tolist(), *([max(0, int(v)) for v in row] for row in rows), strict=True))
        return found

    def letters(self) -> dict[str, str]:
        records = self.world.read(TOPICS.dead_letters, 0, committed_only=True)
        found = [((one.key or b"").decode(), orjson.loads(one.value or b"")["reason"]) for one in records]
        assert len({key for key, _ in found}) == len(found), "each dead letter once"
        return dict(found)

    def is_committed(self, stem: str = NAME) -> bool:
        """Whether every message is read, and its transaction is committed."""
        group = f"t.router.{stem}"
        for topic, count in COUNTS.items():
            for partition in range(count):
                where = TopicPartition(topic, partition)
                committed = self.world.broker.offsets.get((group, where))
                sent = self._offsets.get((topic, partition), 0)
                if sent and (committed is None or committed.offset < sent):
                    return False
        return True

    def is_read(self) -> bool:
        """Whether every message is committed, and windowing has released all before the last ts."""
        return self.is_committed() and self.passed(4_000_000)

    def passed(self, ts: int) -> bool:
        """Whether the watermark of every partition has reached a time."""
        return all(any(block.watermark >= ts for block in self.blocks(one)) for one in range(TARGETS))

    def expected(self, partition: int) -> list[Key]:
        """The events of a partition below the last watermark, by the twin."""
        return sorted(
            key
            for key, order in self.twin.events.items()
            if key[0] < 4_000_000 and partition_of(order.encode(), TARGETS) == partition
        )

    def check(self) -> None:
        for partition in range(TARGETS):
            assert [key for key in self.order(partition) if key[0] < 4_000_000] == self.expected(partition)
            for record in self.world.read(TOPIC, partition, committed_only=True):
                body = orjson.loads(record.value or b"")
                assert body["type"] != "$watermark" or "version" in body, "each speaks for its own source only"
        assert self.letters() == self.twin.letters


def last_of(topic: str, order: str) -> dict[str, Any]:
    """A message far ahead in time."""
    match topic:
        case "orders":
            return {"order_id": order, "at": 5_000_000}
        case "payments":
            return {"order": {"id": order}, "paid": 5_000_000, "status": "OK"}
        case _:
            return {"parcels": [{"order_id": order, "left": 5_000_000}]}
