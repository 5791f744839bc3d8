"""Merged streams: under faults every element is one event or one dead letter, in the order of the definition."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.errors import FencedError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.hops.block_reader import BlockReader
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import (
    DEAD_LETTERS,
    FILTERED,
    INPUT_INCIDENTS,
    MISTYPED_VALUES,
    ROUTED_EVENTS,
    ROUTES_WAITING,
    WITHOUT_ARRAY,
)
from saffron.runtime.telemetry.metrics import Metrics
from saffron.schema.origin import NUMBER, OFFSET, PARTITION, SOURCE
from saffron.windowing.service import WindowingService
from tests.memory.memory_log import MemoryLog
from tests.unit.engine.events.test_framed import avro
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, Chaos, World
from tests.unit.windowing.fake_registry import running

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
        reader = BlockReader()
        records = self.world.read(TOPICS.windows_of(NAME), partition, committed_only=False)
        return [block for block in map(reader.accept, records) if block is not None]

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


@pytest.mark.parametrize("seed", range(6))
def test_every_element_is_one_event_or_one_dead_letter_whatever_dies(seed: int, tmp_path: Path) -> None:
    shop = Shop(seed, tmp_path)
    shop.apply(SHOP)
    shop.world.run(250, lambda: shop.some(2) if shop.draw.random() < 0.4 else None)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.check()


@pytest.mark.parametrize("seed", range(4))
def test_a_source_that_is_appended_joins_and_one_that_is_left_out_holds_nothing_back(seed: int, tmp_path: Path) -> None:
    shop = Shop(seed, tmp_path)
    shop.apply(SHOP)
    shop.world.run(80, lambda: shop.some(2) if shop.draw.random() < 0.4 else None)
    shop.apply(SHOP + TRUCKS.lstrip("\n"))
    shop.world.run(120, lambda: shop.some(3) if shop.draw.random() < 0.4 else None)
    shop.world.settle(shop.is_committed)
    shop.apply(SHOP)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.check()


def test_what_is_refused_nulled_and_waited_for_is_counted(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP.replace("- topic: orders", "- topic: orders\n  where: order_id != 'x'"))
    shop.send("orders", 0, {"order_id": "a", "at": 1_000_000})
    shop.send("orders", 1, b"{broken")
    shop.producer.send("orders", 1, b'{"test":true}', timestamp=shop.world.now)
    shop.producer.flush(1)
    shop.send("payments", 0, {"order": {"id": "a"}, "paid": 1_000_100, "status": "OK", "total": "much"})
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.tell()
    assert shop.metrics.value(DEAD_LETTERS, "not-json") == 1
    assert shop.metrics.value(MISTYPED_VALUES, NAME, "payments/0") == 1
    assert shop.metrics.value(ROUTED_EVENTS, NAME, "orders/0") == 3
    assert shop.metrics.value(FILTERED, NAME, "orders/1") == 1
    assert shop.metrics.value(ROUTES_WAITING, NAME, "topic") == 0


def test_messages_without_the_array_of_explode_are_counted(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP.replace("- topic: orders\n", "- topic: orders\n  explode: lines\n"))
    for _ in range(3):
        shop.producer.send("orders", 0, b'{"order_id":"a"}', timestamp=shop.world.now)
    shop.producer.flush(1)
    shop.world.settle(shop.is_committed)
    shop.tell()
    assert shop.metrics.value(WITHOUT_ARRAY, NAME, "orders/0") == 3


def test_a_stream_that_is_made_anew_counts_from_0(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    again = replace(shop.record(SHOP), generation=2)
    shop.world.topics(*stream_topics("t.", again.stem, TARGETS))
    shop.apply(SHOP)
    shop.send("payments", 0, {"order": {"id": "a"}, "paid": 1_000_100, "status": "OK", "total": "much"})
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.tell()
    labels = NAME, "payments/0"
    assert [shop.metrics.value(one, *labels) for one in (ROUTED_EVENTS, MISTYPED_VALUES)] == [3, 1]
    shop.remove()
    shop.tell()
    assert f'stream="{NAME}"' not in shop.metrics.text().decode()
    shop.put(again)
    shop.finish(2)
    shop.world.settle(lambda: shop.is_committed(again.stem))
    shop.tell()
    assert [shop.metrics.value(one, *labels) for one in (ROUTED_EVENTS, MISTYPED_VALUES)] == [2, 0]


def test_a_source_is_read_from_where_its_definition_says(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    for number in range(4):
        shop.world.now += 1_000
        shop.send("orders", 0, {"order_id": f"{number}", "at": 1_000_000 + number})
    shop.twin = Twin()
    time = datetime.fromtimestamp((shop.world.now - 1_000) / 1000, UTC).isoformat()
    starts = f"- topic: orders\n  start: {time}", "- topic: payments\n  start: latest"
    shop.send("payments", 0, b"{broken")
    shop.apply(SHOP.replace("- topic: orders", starts[0]).replace("- topic: payments", starts[1]))
    shop.world.settle(lambda: ("t.router.shop", TopicPartition("payments", 0)) in shop.world.broker.offsets)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    found = [key for partition in range(TARGETS) for key in shop.order(partition) if key[0] < 4_000_000]
    assert sorted(offset for _, _, _, offset, _ in found) == [2, 3]
    assert shop.letters() == {}


def test_messages_of_the_past_are_stamped_anew_so_that_retention_keeps_them(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP)
    shop.world.now += 30 * 86_400_000
    for time, order in ((1_000, "old"), (shop.world.now - 60_000, "new")):
        shop.producer.send("orders", 0, orjson.dumps({"order_id": order, "at": 1_000_000}), timestamp=time)
    shop.producer.flush(1)
    records: list[Record] = []

    def routed() -> bool:
        records[:] = [one for part in range(TARGETS) for one in shop.world.read(TOPIC, part, committed_only=True)]
        return sum(b"order_id" in (one.value or b"") for one in records) == 2

    shop.world.settle(routed)
    times = {orjson.loads(one.value or b"").get("order_id"): one.timestamp for one in records}
    assert times["old"] > shop.world.now - 60_000
    assert times["new"] <= shop.world.now - 60_000


IDLE = SHOP.replace("key: order_id", "key: order_id\nidle: 300ms")


def silent(shop: Shop) -> set[tuple[int, int]]:
    """The sources, by number and partition, that have said in every partition that they are silent."""
    found: list[set[tuple[int, int]]] = []
    for partition in range(TARGETS):
        said: dict[tuple[int, int], bool] = {}
        for record in shop.world.read(TOPIC, partition, committed_only=True):
            body = orjson.loads(record.value or b"")
            if body["type"] == "$watermark":
                said[body["of"], body["source"]] = body.get("silent", False)
        found.append({source for source, is_silent in said.items() if is_silent})
    return set.intersection(*found)


def rested(shop: Shop) -> bool:
    """Whether all sources are silent, and have said so in every partition."""
    return len(silent(shop)) == 3


def test_where_all_sources_are_silent_time_goes_on_to_the_latest_of_them(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(IDLE)
    shop.send("orders", 0, {"order_id": "a", "at": 1_000_000})
    shop.send("orders", 0, {"order_id": "b", "at": 2_000_000})
    shop.world.settle(lambda: rested(shop) and shop.passed(2_000_000 - DISORDER))
    assert [key[0] for partition in range(TARGETS) for key in shop.order(partition)] == [1_000_000]


def test_a_burst_that_comes_to_several_silent_sources_at_once_is_not_late(tmp_path: Path) -> None:
    shop = Shop(2, tmp_path, NO_CHAOS)
    shop.apply(IDLE)
    for topic, partition in shop.clock:
        if topic != "trucks":
            shop.send(topic, partition, last_of(topic, "first") | {"at": 1_000_000, "paid": 1_000_000})
    shop.world.settle(lambda: rested(shop))
    for ts in range(1_100_000, 1_900_000, 50_000):
        for partition in range(2):
            shop.send("orders", partition, {"order_id": "a", "at": ts})
        shop.send("payments", 0, {"order": {"id": "a"}, "paid": ts, "status": "OK"})
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.check()


def begun_anew(shop: Shop) -> None:
    """All members die while all sources are silent, and the positions of their group are gone."""
    shop.world.settle(lambda: rested(shop) and shop.is_committed())
    for process in shop.world.processes:
        shop.world._kill(process)
    shop.world.broker.forget(f"t.router.{NAME}")


def routed(shop: Shop) -> list[tuple[Any, ...]]:
    """The places of the messages that the events of the stream's topic were read from, in order."""
    records = [one for part in range(TARGETS) for one in shop.world.read(TOPIC, part, committed_only=True)]
    events = [body for one in records if (body := orjson.loads(one.value or b""))["type"] != "$watermark"]
    return sorted((one["$source"], one["$partition"], one["$offset"], one["ts"]) for one in events)


def test_a_group_that_is_gone_while_sources_are_silent_repeats_nothing(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(IDLE)
    for ts in range(1_000_000, 1_002_000, 100):
        for partition in range(2):
            shop.send("orders", partition, {"order_id": "a", "at": ts})
        shop.send("payments", 0, {"order": {"id": "a"}, "paid": ts, "status": "OK"})
    begun_anew(shop)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.check()
    assert len(set(routed(shop))) == len(routed(shop))


def test_a_source_that_is_made_anew_while_it_is_silent_is_told(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(IDLE)
    for ts in range(1_000_000, 1_000_500, 100):
        shop.send("orders", 0, {"order_id": "a", "at": ts})
        shop.send("orders", 1, {"order_id": "a", "at": ts})
        shop.send("payments", 0, {"order": {"id": "a"}, "paid": ts, "status": "OK"})
    begun_anew(shop)  # Kafka forgets the positions of a topic that is deleted
    shop.world.broker.delete("payments")
    shop.world.topics(TopicSpec("payments", 1, {}))
    shop._offsets["payments", 0] = 0
    shop.send("payments", 0, {"order": {"id": "b"}, "paid": 1_900_000, "status": "OK"})
    shop.world.settle(lambda: (1, 0, 0, 1_900_000) in routed(shop) and shop.is_committed())
    assert shop.metrics.value(INPUT_INCIDENTS, "payments", "0", "remade") == 1
    assert len(set(routed(shop))) == len(routed(shop)) == 16


def test_a_source_made_anew_with_fewer_partitions_holds_nothing_back(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP)
    for partition in range(2):
        shop.send("orders", partition, {"order_id": "a", "at": 1_000_000})
    shop.send("payments", 0, {"order": {"id": "a"}, "paid": 1_000_000, "status": "OK"})
    shop.world.settle(lambda: len(routed(shop)) == 3 and shop.is_committed())
    for process in shop.world.processes:
        shop.world._kill(process)
    shop.world.broker.delete("orders")
    shop.world.topics(TopicSpec("orders", 1, {}))
    shop._offsets["orders", 0] = 0
    shop.send("orders", 0, {"order_id": "b", "at": 1_900_000})
    shop.send("payments", 0, {"order": {"id": "b"}, "paid": 1_900_000, "status": "OK"})
    shop.world.settle(lambda: shop.passed(1_900_000 - DISORDER))
    assert len(routed(shop)) == 5


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


def test_a_source_may_be_avro_beside_one_of_json(tmp_path: Path) -> None:
    with running() as registry:
        registry.add(7, json.dumps(NESTED))
        shop = Shop(1, tmp_path, NO_CHAOS)
        shop.apply(SHOP.replace("- topic: orders", f"- topic: orders\n  format: avro\n  registry: {registry.url}"))
        order = {"order_id": "a", "at": 1_000_000, "customer": {"tier": "gold"}}
        for value in (
            avro(7, NESTED, order),
            None,
            b"\0\0\0\0\x09x",
            avro(7, NESTED, order | {"at": 9}),
        ):
            shop.producer.send("orders", 0, value, timestamp=shop.world.now)
        shop.producer.flush(1)
        shop.world.settle(lambda: len(shop.letters()) == 2)
        assert shop.letters() == {"orders/0/2": "unknown-schema", "orders/0/3": "late"}
        routed = [
            one.value or b"" for part in range(TARGETS) for one in shop.world.read(TOPIC, part, committed_only=True)
        ]
        (event,) = [body for body in map(orjson.loads, routed) if body["type"] == "orders"]
        assert (event["customer.tier"], event["$offset"]) == ("gold", 0)


def test_a_silent_source_whose_messages_cannot_be_read_yet_is_waited_for(tmp_path: Path) -> None:
    """Its registry does not answer for a while."""
    with running() as registry:
        registry.add(7, json.dumps(NESTED))
        shop = Shop(1, tmp_path, NO_CHAOS)
        shop.apply(IDLE.replace("- topic: orders", f"- topic: orders\n  format: avro\n  registry: {registry.url}"))
        order = {"order_id": "a", "at": 1_000_000, "customer": {"tier": "gold"}}

        def send(number: int, ts: int, partition: int) -> None:
            value = avro(number, NESTED, order | {"at": ts})
            shop.producer.send("orders", partition, value, timestamp=shop.world.now)
            shop.producer.flush(1)

        for partition in range(2):
            send(7, 1_000_000, partition)
        shop.send("payments", 0, {"order": {"id": "a"}, "paid": 1_000_000, "status": "OK"})
        shop.world.settle(lambda: rested(shop))
        registry.down = True
        send(8, 1_500_000, 0)
        for ts in range(1_600_000, 3_000_000, 100_000):
            shop.send("payments", 0, {"order": {"id": "a"}, "paid": ts, "status": "OK"})
            for _ in range(10):
                for process in shop.world.processes:
                    shop.world._turn(process)
                shop.world._deliver(True)
                shop.world.now += 20
        registry.add(8, json.dumps(NESTED))
        registry.down = False
        shop.world.settle(lambda: rested(shop) and shop.passed(2_000_000))
        order_of_a = shop.order(partition_of(b"a", TARGETS))
        assert 1_500_000 in [key[0] for key in order_of_a]
        assert shop.letters() == {}


@pytest.mark.parametrize("late", range(4))
@pytest.mark.parametrize("seed", range(2))
def test_a_source_without_idle_does_not_pass_a_silent_one_when_all_begin_anew(
    seed: int, late: int, tmp_path: Path
) -> None:
    """`late`: so many times a member must try before it takes sources over."""
    shop = Shop(seed, tmp_path, NO_CHAOS)
    shop.apply(SHOP.replace("- topic: orders", "- topic: orders\n  idle: 300ms"))
    for partition in range(2):
        shop.send("orders", partition, {"order_id": "a", "at": 1_000_000})
    shop.send("payments", 0, {"order": {"id": "a"}, "paid": 1_000_000, "status": "OK"})
    shop.world.settle(lambda: silent(shop) == {(0, 0), (0, 1)} and shop.is_committed())
    for process in shop.world.processes:
        shop.world._kill(process)
    for process in shop.world.processes:
        shop.world._turn(process)
        assert process.log is not None
        for _ in range(late):
            process.log.inject("init", FencedError("by the transaction of the one that died"), after=False)
    for ts in range(1_100_000, 1_900_000, 50_000):
        for partition in range(2):
            shop.send("orders", partition, {"order_id": "a", "at": ts})
        shop.send("payments", 0, {"order": {"id": "a"}, "paid": ts, "status": "OK"})
    shop.finish(2)
    for _ in range(400):
        for process in shop.world.processes:
            shop.world._turn(process)
        shop.world._deliver(True)
        shop.world.now += 5
    shop.world.settle(shop.is_read)
    shop.check()


def test_a_dead_letter_has_its_element_alone(tmp_path: Path) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP)
    shop.apply(SHOP + TRUCKS.lstrip("\n"))
    parcels = [{"order_id": "a", "left": 1_000_000}, {"order_id": "b", "left": None}, {"order_id": "c", "left": None}]
    shop.send("trucks", 0, {"truck": 7, "parcels": parcels})
    shop.world.settle(lambda: len(shop.letters()) == 2)
    records = shop.world.read(TOPICS.dead_letters, 0, committed_only=True)
    values = {(one.key or b"").decode(): orjson.loads(one.value or b"")["value"] for one in records}
    assert {key: orjson.loads(value) for key, value in values.items()} == {
        "trucks/0/0.1": {"truck": 7, "parcels": parcels[1:2]},
        "trucks/0/0.2": {"truck": 7, "parcels": parcels[2:]},
    }
