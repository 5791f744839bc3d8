"""Tables under faults: no event is read before they are whole, and what was read stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.mapping.definition_reader import read_definition
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics, topic_files
from saffron.runtime.streams.merging import InnerEvent, SourceReader
from saffron.runtime.streams.messages import Messages, batch_of
from saffron.runtime.streams.stream_tables import empty_tables
from saffron.runtime.telemetry.metric_names import (
    ROUTES_WAITING,
    TABLE_BAD_ROWS,
    TABLE_BYTES,
    TABLE_MISSES,
    TABLE_ROWS,
)
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.world import NO_CHAOS, Chaos
from tests.unit.windowing.merged_shop import NAME, SHOP, TARGETS, TOPIC, Shop

CRM, PARTS, LOADED = "crm", 2, 5_000
"""The table's topic, its partitions, and its rows before the stream is applied: which take many polls."""
TABLES = f"""
tables:
- {{name: customers, topic: {CRM}, key: id}}
add:
  tier: {{table: customers, key: who, take: tier}}
  is_known: {{table: customers, key: who}}
"""
SLOW = 4_000_000


class WithTable(Shop):
    """A shop with a table of customers. `tiers`: by customer all values that it ever had; None: no row."""

    def __init__(self, seed: int, directory: Path, chaos: Chaos | None = None) -> None:
        super().__init__(seed, directory, chaos)
        self.world.topics(TopicSpec(CRM, PARTS, {"cleanup.policy": "compact"}))
        self.tiers: dict[str, list[str | None]] = {}
        for number in range(LOADED):
            self.change(f"c{number}", f"tier{number % 3}")

    def change(self, customer: str, tier: str | None) -> None:
        self.tiers.setdefault(customer, []).append(tier)
        value = None if tier is None else orjson.dumps({"id": customer, "tier": tier, "other": "x" * 20})
        self.producer.send(CRM, len(customer) % PARTS, value, key=customer.encode())
        self.producer.flush(1)

    def order_of(self, customer: str, **more: Any) -> None:
        partition = self.draw.randrange(2)
        self.clock["orders", partition] += 100
        at = self.clock["orders", partition]
        self.send("orders", partition, {"order_id": self.draw.choice("abc"), "at": at, "who": customer, **more})

    def events(self) -> list[dict[str, Any]]:
        """All events on the stream's own topic but the last ones."""
        records = [one for part in range(TARGETS) for one in self.world.read(TOPIC, part, committed_only=True)]
        bodies = [orjson.loads(one.value or b"") for one in records]
        return [one for one in bodies if one["type"] != "$watermark" and one["ts"] < SLOW]


@pytest.mark.parametrize("seed", range(6))
def test_events_are_read_once_with_a_value_that_the_table_had_whatever_dies(seed: int, tmp_path: Path) -> None:
    shop = WithTable(seed, tmp_path)
    shop.apply(SHOP + TABLES)
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}

    def each() -> None:
        if shop.draw.random() < 0.4:
            shop.order_of(f"c{shop.draw.randrange(LOADED)}")
        if shop.draw.random() < 0.2:
            shop.change(f"c{shop.draw.randrange(0, LOADED, 7)}", shop.draw.choice(("new", "newer", None)))
        for event in shop.events() if shop.draw.random() < 0.1 else ():
            place = event["$topic"], event["$partition"], event["$offset"]
            assert seen.setdefault(place, event) == event, "what was read stays"

    shop.world.run(250, each)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.check()
    events = shop.events()
    assert len({(one["$topic"], one["$partition"], one["$offset"]) for one in events}) == len(events) > 20
    for event in events:
        assert event.get("tier") in shop.tiers[event["who"]], "and never null where there always was a row"
        assert event["is_known"] is ("tier" in event)


def test_rows_that_come_later_count_for_what_is_read_later(tmp_path: Path) -> None:
    shop = WithTable(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP + TABLES)
    for change in ("first", "second", None):
        if change != "first":
            shop.change("c1", change)
            shop.world.settle(shop.is_committed)
        shop.order_of("c1")
        shop.world.settle(shop.is_committed)
    shop.order_of("nobody", tier="own")
    shop.finish(2)
    shop.world.settle(shop.is_read)
    found = sorted((one["$partition"], one["$offset"], one.get("tier"), one["is_known"]) for one in shop.events())
    assert sorted((tier or "", known) for _, _, tier, known in found) == [
        ("", False), ("", False), ("second", True), ("tier1", True),
    ]  # fmt: skip
    shop.producer.send(CRM, 0, b"no row", key=b"x")
    shop.producer.flush(1)
    shop.world.settle(shop.is_read)
    for _ in range(60):
        shop.world.now += 50
        for process in shop.world.processes:
            assert process.service is not None
            process.service.step(shop.world.now)
    assert shop.metrics.value(TABLE_ROWS, NAME, "customers") == LOADED - 1
    assert shop.metrics.value(TABLE_BAD_ROWS, NAME, "customers") == 1
    assert shop.metrics.value(TABLE_BYTES, NAME, "customers") > LOADED * 40
    assert sum(shop.metrics.value(TABLE_MISSES, NAME, f"orders/{one}") for one in range(2)) >= 2


def test_a_source_that_is_gone_is_read_on_without_tables_that_are_gone() -> None:
    where = TopicPartition("orders", 0)
    one, two = (
        read_definition(f"stream: s\nsources: [{{topic: {topic}}}]\n{more}")
        for topic, more in (
            ("orders", "tables: [{name: t, topic: x, key: k}]\nadd: {a: {table: t, key: k}}"),
            ("o", ""),
        )
    )
    now = [one]
    reader = SourceReader(where, lambda: now[-1], 1, 10**9, tables=lambda: empty_tables(now[-1]))
    record = Record("orders", 0, 0, 5, None, b'{"k": 1}')
    batch = batch_of([record])
    (first,) = reader.read(batch, Messages([record], batch)).events
    now.append(two)
    (second,) = reader.read(batch, Messages([record], batch)).events
    assert isinstance(first, InnerEvent)
    assert isinstance(second, InnerEvent)
    assert (b'"a":false' in first.value, b'"a"' in second.value) == (True, False)


def missing(path: Path) -> None:
    del path


def of_names_twice(path: Path) -> None:
    path.write_text("id,id\nc1,gold\n")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (missing, "customers.csv cannot be read (No such file or directory)"),
        (Path.mkdir, "customers.csv cannot be read (Is a directory)"),
        (of_names_twice, "the header line names 'id' twice"),
    ],
)
def test_a_stream_waits_alone_for_a_file_that_cannot_be_read(
    wrong: Callable[[Path], None], told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = WithTable(1, tmp_path, NO_CHAOS)
    file = tmp_path / "lists" / "customers.csv"
    file.parent.mkdir()
    wrong(file)
    shop.apply(SHOP + TABLES.replace(f"topic: {CRM}", "file: customers.csv"))
    plain = AppliedDefinition(SHOP.replace("stream: shop", "stream: plain"), {"orders": 0, "payments": 1}, 1)
    shop.world.topics(topic_files()["events"].spec("t.plain", 1), *stream_topics("t.", "plain", 1))
    record = StreamRecord("plain", "t.plain", "order_id", definition=plain)
    shop.producer.send("t.streams", 0, record.encode(), key=b"plain")
    shop.producer.flush(1)
    shop.order_of("c1")
    turns(shop, 200)
    assert shop.events() == []
    assert shop.metrics.value(ROUTES_WAITING, NAME, "table") > 0
    assert told in caplog.text
    assert [orjson.loads(one.value or b"")["who"] for one in orders(shop, "t.plain")] == ["c1"]
    file.rmdir() if file.is_dir() else None
    file.write_text("id,tier\nc1,gold\n")
    shop.finish(2)
    shop.world.settle(shop.is_read)
    assert [one["tier"] for one in shop.events()] == ["gold"]


def orders(shop: WithTable, topic: str) -> list[Record]:
    return [one for one in shop.world.read(topic, 0, committed_only=True) if b'"who"' in (one.value or b"")]


def turns(shop: WithTable, count: int) -> None:
    """Lets all processes do `count` steps, however much they have still to do."""
    for _ in range(count):
        shop.world.now += 50
        for process in shop.world.processes:
            shop.world._turn(process)


def test_a_topic_that_is_made_anew_is_loaded_again_before_an_event_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = WithTable(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP + TABLES)
    shop.order_of("c1")
    shop.world.settle(shop.is_committed)
    shop.world.broker.delete(CRM)
    turns(shop, 60)
    shop.order_of("c1")
    turns(shop, 60)
    assert [one["tier"] for one in shop.events()] == ["tier1"], "nothing is read while the topic is missing"
    assert shop.metrics.value(ROUTES_WAITING, NAME, "table") > 0
    assert f"topic {CRM} is missing" in caplog.text
    shop.world.topics(TopicSpec(CRM, PARTS, {"cleanup.policy": "compact"}))
    shop.change("c1", "anew")
    shop.world.settle(shop.is_committed)
    shop.world.broker.delete(CRM)
    shop.world.topics(TopicSpec(CRM, PARTS, {"cleanup.policy": "compact"}))
    for number in range(LOADED):  # so many that the old position is one of the new topic's
        shop.change(f"c{number}", "third")
    turns(shop, 1)
    for customer in ("c1", "c2"):
        shop.order_of(customer)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    assert sorted(one["tier"] for one in shop.events()) == ["anew", "third", "third", "tier1"]
    assert "was deleted and made again" in caplog.text


def test_partitions_that_are_added_are_read_from_their_first_record(tmp_path: Path) -> None:
    shop = WithTable(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP + TABLES)
    shop.order_of("c1")
    shop.world.settle(shop.is_committed)
    shop.world.broker.add_partitions(CRM, PARTS + 2)
    for partition in range(PARTS, PARTS + 2):
        row = orjson.dumps({"id": f"new{partition}", "tier": f"of{partition}"})
        shop.producer.send(CRM, partition, row, key=b"new%d" % partition)
    shop.producer.flush(1)
    turns(shop, 60)
    for customer in ("new2", "new3", "c1"):
        shop.order_of(customer)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    assert sorted(one["tier"] for one in shop.events()) == ["of2", "of3", "tier1", "tier1"]


def test_tables_are_read_under_groups_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = set()
    consumer = MemoryLog.consumer

    def noted(log: MemoryLog, group: str, **more: Any) -> Any:
        groups.add(group)
        return consumer(log, group, **more)

    monkeypatch.setattr(MemoryLog, "consumer", noted)
    shop = WithTable(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP + TABLES)
    shop.order_of("c1")
    shop.world.settle(shop.is_committed)
    assert "t.tables" in groups
    assert all(one.startswith("t.") for one in groups), "no rights on others are granted"
