"""Merged streams: under faults every element is one event or one dead letter, in the order of the definition."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics
from saffron.runtime.telemetry.metric_names import (
    DEAD_LETTERS,
    FILTERED,
    MISTYPED_VALUES,
    ROUTED_EVENTS,
    ROUTES_WAITING,
    WITHOUT_ARRAY,
)
from tests.unit.engine.events.test_framed import avro
from tests.unit.runtime.world import NO_CHAOS
from tests.unit.windowing.fake_registry import running
from tests.unit.windowing.merged_shop import (
    COUNTS,
    NAME,
    NESTED,
    SHOP,
    TARGETS,
    TOPIC,
    TOPICS,
    TRUCKS,
    Shop,
    Twin,
)


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


@pytest.mark.parametrize("gone", ["orders", "payments"])
def test_a_topic_that_vanishes_while_it_is_read_is_waited_for_until_it_is_there_again(
    gone: str, tmp_path: Path
) -> None:
    shop = Shop(1, tmp_path, NO_CHAOS)
    shop.apply(SHOP)
    shop.finish(2)
    shop.world.settle(shop.is_read)
    shop.world.broker.delete(gone)
    shop.tell()
    assert shop.metrics.value(ROUTES_WAITING, NAME, "topic") == 1
    shop.world.topics(TopicSpec(gone, COUNTS[gone], {}))
    shop.tell()
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


@pytest.mark.parametrize("known", [{}, {"orders": 1}, {"orders": 2}])
def test_a_partition_that_is_added_is_read_from_its_first_record_though_the_source_is_from_its_end(
    known: dict[str, int], tmp_path: Path
) -> None:
    """`known`: partitions when the topic became a source; none: it was written by a version that did not say."""
    shop = Shop(1, tmp_path, NO_CHAOS)
    for partition in range(2):
        shop.send("orders", partition, {"order_id": f"{partition}", "at": 1_000_000})
    shop.twin = Twin()
    record = shop.record(SHOP.replace("- topic: orders", "- topic: orders\n  start: latest"))
    assert record.definition is not None
    shop.put(replace(record, definition=replace(record.definition, partitions=known)))
    places = [TopicPartition("orders", partition) for partition in range(2)]
    shop.world.settle(lambda: all(("t.router.shop", place) in shop.world.broker.offsets for place in places))
    shop.finish(2)
    shop.world.settle(shop.is_read)
    found = [key[1:3] for partition in range(TARGETS) for key in shop.order(partition) if key[0] < 4_000_000]
    assert found == ([(0, 1)] if known == {"orders": 1} else [])


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
