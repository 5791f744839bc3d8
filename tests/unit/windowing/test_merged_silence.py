"""Silence of the sources of a merged stream: whom a silent one holds back, and for how long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.errors import FencedError
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.telemetry.metric_names import (
    INPUT_INCIDENTS,
)
from tests.unit.engine.events.test_framed import avro
from tests.unit.runtime.world import NO_CHAOS
from tests.unit.windowing.fake_registry import running
from tests.unit.windowing.merged_shop import (
    DISORDER,
    NAME,
    NESTED,
    SHOP,
    TARGETS,
    TOPIC,
    Shop,
    last_of,
)

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
