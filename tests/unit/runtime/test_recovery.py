"""Exactly once on the in-memory log: faults between any two steps, from seeds; tiny operators, real shells."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.shed.operator import ShedderOperator
from saffron.runtime.hops.hop import Hop
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.hops.when_written import unreported
from saffron.runtime.log import Consumer, Record, TopicPartition, TopicSpec
from saffron.runtime.results.chain_plan import ChainPlan
from saffron.runtime.results.result_chain import ResultChain
from saffron.shedder.hop import ShedderHop
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import FakeOperator, FakeWindowing
from tests.unit.runtime.plans import plan_of
from tests.unit.runtime.results import chain_bench
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import World

PARTITIONS = 2
LIMITS = replace(chain_bench.LIMITS, position_ms=40, observe_ms=25, snapshot_ms=60, retry_ms=700, results=7)


class Wiring:
    """Between two topics of the same partitions."""

    def __init__(self, world: World, source: str, target: str) -> None:
        self._world, self._source, self._target = world, source, target

    def topics(self) -> Sequence[str]:
        return [self._source]

    def output(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self._target, where.partition)

    def chain(self, where: TopicPartition) -> Hop:
        if self._target == "admitted":
            operator = ShedderOperator(where.partition, "events")
            return ShedderHop(operator, where.topic, credit_events=10**9, patience_ms=100)
        draw = self._world.random
        return FakeWindowing(
            iter(lambda: draw.randrange(6), -1),
            iter(lambda: draw.choice([0] * 30 + [25]), -1),
            every=draw.randrange(1, 9),
        )

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        if self._target == "windows":
            return consumer.poll_raw(20, wait)
        found: dict[TopicPartition, list[Record]] = {}
        for record in consumer.poll(20, wait):
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        return list(found.items())

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        """Nothing to count."""


class Inner:
    """An inner hop as a service of the world."""

    def __init__(self, world: World, log: MemoryLog, source: str, target: str) -> None:
        draw = world.random
        self.hop = InnerHop(
            log,
            f"to-{target}",
            Wiring(world, source, target),
            unreported,
            nonce=lambda: f"{draw.getrandbits(128):032x}",
            retry_ms=700,
        )

    def step(self, now_ms: int) -> bool:
        return self.hop.step(now_ms)

    def close(self, now_ms: int) -> None:
        del now_ms
        self.hop.close()


def matcher(world: World, log: MemoryLog) -> LastHop[ResultChain]:
    beside = SomeTime(world.random)
    limits = replace(LIMITS, turn_ms=20 if world.seed % 3 == 0 else LIMITS.turn_ms)

    def plan(where: TopicPartition) -> ChainPlan:
        return plan_of(
            log,
            where,
            world.snapshots / str(where.partition),
            partitions=PARTITIONS,
            output=TopicPartition("complex-events", where.partition),
            letters=TopicPartition("dead-letters", where.partition),
            source=b"matcher/%d" % where.partition,
            commit_executor=beside,
            snapshot_executor=beside,
        )

    return LastHop(
        log,
        "matcher",
        topics=lambda: ["admitted"],
        chain=lambda consumer, where, clock: ResultChain(log, consumer, plan(where), limits, clock),
        poll_records=8,
    )


def make_world(seed: int, directory: Path) -> World:
    world = World(seed, directory)
    names = ("events", "windows", "admitted", "complex-events", "observations.latency")
    world.topics(*(TopicSpec(name, PARTITIONS, {}) for name in names))
    for member in range(1 + seed % 2):
        world.add(f"windowing-{member}", lambda log: Inner(world, log, "events", "windows"))
        world.add(f"shedder-{member}", lambda log: Inner(world, log, "windows", "admitted"))
        world.add(f"matcher-{member}", lambda log: matcher(world, log))
    return world


def produce(world: World, draw: random.Random, total: int) -> None:
    """A few events now and then, some of which have very many results."""
    producer = MemoryLog(world.broker).producer()
    for _ in range(total):
        x = draw.choice((0, 0, 1, 2, 40))
        producer.send("events", draw.randrange(PARTITIONS), b"%d" % x, timestamp=world.now)
    producer.flush(1)


def check(world: World, partition: int) -> None:
    events = [int(record.value or b"") for record in world.read("events", partition, committed_only=False)]
    for topic in ("windows", "admitted"):
        standing = world.blocks(topic, partition)
        assert [x for block in standing for x in block.columns.attributes["x"].data.tolist()] == events, topic
        assert [seq for block in standing for seq in block.columns.seq.tolist()] == list(range(len(events)))
    oracle = FakeOperator()
    expected = [body for block in world.blocks("admitted", partition) for body in _all(oracle.apply(block))]
    seen = world.read("complex-events", partition, committed_only=True)
    got = [body[: body.index(b',"detected_at"')] + b"}" for body in (record.value or b"" for record in seen)]
    assert got == expected
    said = world.read("observations.latency", partition, committed_only=True)
    if not world.positions_lost:
        assert sum(orjson.loads(record.value or b"")["events"] for record in said) == len(events)


def _all(results: Any) -> list[bytes]:
    found: list[bytes] = results.json(0, len(results))
    return found


@pytest.mark.parametrize("chunk", range(3))
def test_every_result_stands_exactly_once_whatever_dies(chunk: int, tmp_path: Path) -> None:
    for seed in range(chunk * 20, chunk * 20 + 20):
        live(seed, tmp_path / str(seed))


def live(seed: int, directory: Path) -> None:
    """One seed: a life full of faults, then rest, then the reckoning."""
    world = make_world(seed, directory)
    draw, counter = random.Random(seed + 1), itertools.count()
    try:
        world.run(400, lambda: produce(world, draw, 3) if next(counter) % 6 == 0 else None)
        world.settle(lambda: _done(world))
        for partition in range(PARTITIONS):
            check(world, partition)
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error


def _done(world: World) -> bool:
    """Every event has gone all the way, and nothing is left open."""
    for partition in range(PARTITIONS):
        where = TopicPartition("admitted", partition)
        committed = world.broker.offsets.get(("matcher", where))
        if committed is None or committed.offset < world.broker.partition(where).high:
            return False
        events = world.broker.partition(TopicPartition("events", partition)).high
        if sum(len(block.columns) for block in world.blocks("admitted", partition)) != events:
            return False
    return True
