"""Counters say what the log says, however often a step failed and was done again."""

from __future__ import annotations

import itertools
import random
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import AbortableError, FencedError, LogError
from saffron.runtime.hops.input_state import LOST, InputState
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.hops.tags import ClaimTag, claim_value
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.results.large_results import REASON as TOO_LARGE
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import METRICS
from saffron.runtime.telemetry.metrics import Metrics
from tests.e2e.simulated.system import (
    ANY,
    FALLS,
    RALLY,
    RESULT_BYTES,
    TOPICS,
    Source,
    at_rest,
    close,
    makers,
    settings,
)
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, World
from tests.unit.windowing.merged_shop import NAME, SHOP, TARGETS, TOPIC
from tests.unit.windowing.test_tables import TABLES, WithTable

OF_WORK = {
    names.TRANSACTION_ABORTS,
    names.REBALANCES,
    names.RESTARTS,
    names.UNREADABLE_RECORDS,
    names.MODEL_BATCHES,
    names.MODEL_INPUT_REFUSED,
    names.OVERDUE_RESULTS,
}
"""Counters of what processes do or meet, or of how late they are: a step that is done again counts again."""
AT_LEAST = {names.MISTYPED_VALUES, names.LEFT_OUT_VALUES, names.TIMES_IN_SECONDS}
"""Counters of what windowing reads, and may read again."""

Told = dict[Counter, dict[tuple[str, ...], float]]
"""Counters, each by labels."""
_GETS_ON = {
    "windowing": names.BLOCKS,
    "shedder": names.BLOCKS,
    "matcher": names.EVENTS_APPLIED,
    "greta": names.EVENTS_APPLIED,
}
Doubt = Callable[[random.Random], None]


def in_doubt(world: World, service: str, operation: str, topic: str = "") -> Doubt:
    """The next such operation of a service fails, before or after it is done."""
    process = next(one for one in world.processes if one.name == service)

    def doubt(draw: random.Random) -> None:
        errors: Sequence[LogError] = (LogError("in doubt"),)
        if operation in ("commit", "send_offsets"):
            errors = (AbortableError("refused"), LogError("in doubt"), FencedError("fenced"))
        if process.log is not None and not process.log.faults:
            process.log.inject(operation, draw.choice(errors), after=draw.random() < 0.5, topic=topic)

    return doubt


def claimed(world: World, service: str, topic: str) -> Doubt:
    """Somebody else claims an inner partition, ahead of what the service has on the wire, and does nothing with it."""
    process = next(one for one in world.processes if one.name == service)

    def doubt(draw: random.Random) -> None:
        for wire in process.log.wires if process.log is not None else ():
            wire.held = world.now + 40
        world.run(8)
        nonce = f"{draw.getrandbits(128):032x}"
        producer = MemoryLog(world.broker).producer()
        producer.send(topic, 0, claim_value(nonce), headers=ClaimTag(nonce).headers())
        producer.flush(1)

    return doubt


def told(metrics: Metrics, counter: Counter) -> dict[tuple[str, ...], float]:
    """A counter's series that are not 0."""
    return {labels: value for labels, value in metrics._numbers[counter.name].items() if value}


def digests(world: World) -> None:
    """Everybody's next digest."""
    for _ in range(60):
        world.now += 50
        for process in world.processes:
            assert process.service is not None, f"{process.name} ended: {world.history[-5:]}"
            process.service.step(world.now)


def lost(state: InputState) -> tuple[int, int]:
    """How often retention took records, and how many, as the log says."""
    found = [one.after - one.before for one in state.incidents if one.kind == LOST]
    return len(found), sum(found)


def letters_of(world: World, topic: str) -> Counts[str]:
    """Dead letters by reason, each counted once. `topic`: which they come from."""
    records = [one for part in (0,) for one in world.read(TOPICS.dead_letters, part, committed_only=True)]
    found = {one.key: orjson.loads(one.value or b"")["reason"] for one in records}
    return Counts(reason for key, reason in found.items() if (key or b"").startswith(topic.encode()))


def events_in(found: Iterable[Block]) -> int:
    return sum(block.next_seq - block.first_seq for block in found)


def by_query(world: World, topic: str) -> dict[tuple[str, ...], float]:
    """The results in a topic by query."""
    counts = Counts((one.key or b"").decode() for one in world.read(topic, 0, committed_only=True))
    return {(query,): count for query, count in counts.items()}


class Life:
    """All services over one partition, with faults from which they recover, and losses."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.draw = random.Random(seed)
        self.world = World(seed, directory / "snapshots", NO_CHAOS)
        self.world.topics(*topic_specs("t.", 1))
        self.metrics = {name: Metrics() for name in ("windowing", "shedder", "matcher", "greta")}
        chosen = replace(settings(directory, 1), result_bytes=RESULT_BYTES, session_ms=100)
        for name, make in makers(chosen, self.metrics.__getitem__, SomeTime(self.world.random)).items():
            self.world.add(name, make)
        self.source = Source(self.world, 1, random.Random(seed + 1))
        for name, text in (("rally", RALLY), ("any", ANY), ("falls", FALLS)):
            self.source.query(name, text)
        world = self.world
        sends = in_doubt(world, "matcher", "send", TOPICS.complex_events)
        self.doubts = {
            "matcher": [*(in_doubt(world, "matcher", operation) for operation in ("commit", "send_offsets")), sends],
            "greta": [in_doubt(world, "greta", operation) for operation in ("commit", "send_offsets")],
            "windowing": [
                in_doubt(world, "windowing", "send", TOPICS.windows),
                claimed(world, "windowing", TOPICS.windows),
            ],
            "shedder": [
                in_doubt(world, "shedder", "send", TOPICS.admitted),
                claimed(world, "shedder", TOPICS.admitted),
            ],
        }
        self._doubted = dict.fromkeys(self.doubts, 0.0)
        self._turns = itertools.count()

    def run(self) -> None:
        self.world.run(200)  # all queries are in force
        for _ in range(2):
            self.some(150)
            self.lose()
        self.some(100)
        for process in self.world.processes:
            if process.log is not None:
                process.log.faults.clear()
        close(self.world, 1)
        self.world.settle(lambda: at_rest(self.world, 1))
        digests(self.world)
        assert not self.world.history, "a process that ends takes counts with it"

    def some(self, rounds: int) -> None:
        """Rounds of events, orders and faults, in each of which every process has about two steps."""
        for _ in range(rounds):
            turn = next(self._turns)
            if turn % 3 == 0:
                self.source.events(2)
            if turn % 20 == 15:
                self.source.order("any", 0)
            service = self.draw.choice(list(self.doubts))
            got = self.metrics[service].total(_GETS_ON[service])
            if got > self._doubted[service]:  # a service that never gets on ends
                self._doubted[service] = got
                self.draw.choice(self.doubts[service])(self.draw)
            self.world.run(8)

    def lose(self) -> None:
        """Retention takes events that windowing has not read."""
        windowing = self.world.processes[0]
        windowing.paused_until = self.world.now + 200
        self.source.events(12)
        where = TopicPartition(TOPICS.events, 0)
        self.world.broker.trim(where, self.world.broker.partition(where).high - 3)
        while self.world.now < windowing.paused_until:
            self.world.run(1)

    def right(self) -> Mapping[str, Told]:
        """By service what its counters must be, from the log alone."""
        here = ("events", "0")
        windows, admitted = self.world.blocks(TOPICS.windows, 0), self.world.blocks(TOPICS.admitted, 0)
        matcher = MatchOperator(partition=0, stream="events")
        for block in admitted:
            matcher.apply(block)
        dropped: dict[tuple[str, ...], float] = {
            (query,): count for query, count in matcher.statistics()["dropped"].items()
        }
        bad, large = letters_of(self.world, TOPICS.events), letters_of(self.world, TOPICS.admitted)
        losses, records = lost(InputState.from_record(windows[-1].input["source"]))
        assert all((bad["late"], bad["not-json"], large[TOO_LARGE], records, dropped)), "something of each"
        applied: Told = {names.EVENTS_APPLIED: {here: events_in(admitted)}}
        by_service: dict[str, Told] = {
            "windowing": {
                names.EVENTS_IN: {here: events_in(windows)},
                names.BLOCKS: {(TOPICS.windows,): len(windows)},
                names.LATE_EVENTS: {here: bad["late"]},
                names.DEAD_LETTERS: {(reason,): count for reason, count in bad.items()},
                names.LOST_OFFSETS: {(TOPICS.events, "0"): records},
                names.INPUT_INCIDENTS: {(TOPICS.events, "0", LOST): losses},
            },
            "shedder": {
                names.EVENTS_IN: {here: events_in(admitted)},
                names.BLOCKS: {(TOPICS.admitted,): len(admitted)},
            },
            "matcher": {
                **applied,
                names.COMPLEX_EVENTS: by_query(self.world, TOPICS.complex_events),
                names.DEAD_LETTERS: {(reason,): count for reason, count in large.items()},
                names.SHED_PARTIAL_MATCHES: dropped,
            },
            "greta": {**applied, names.TRENDS: by_query(self.world, TOPICS.trends)},
        }
        return by_service


@pytest.mark.parametrize("seed", range(6))
def test_the_counters_of_all_services_are_what_the_log_says(seed: int, tmp_path: Path) -> None:
    life = Life(seed, tmp_path)
    life.run()
    aborts = [life.metrics[name].total(names.TRANSACTION_ABORTS) for name in ("matcher", "greta")]
    assert all(aborts), "transactions were done again"
    for service, right in life.right().items():
        found = {one: told(life.metrics[service], one) for one in METRICS if isinstance(one, Counter)}
        found = {one: series for one, series in found.items() if series and one not in OF_WORK | AT_LEAST}
        assert found == right, service


class Routed(WithTable):
    """A merged stream with a table, a condition, values of a wrong kind, and a loss."""

    def __init__(self, seed: int, directory: Path, doubts: random.Random | None) -> None:
        super().__init__(seed, directory, NO_CHAOS)
        self.apply((SHOP + TABLES).replace("- topic: orders", "- topic: orders\n  where: order_id != 'a'"))
        self._doubts = doubts
        self._doubt = [
            in_doubt(self.world, f"windowing-{member}", operation)
            for member in range(2)
            for operation in ("commit", "send_offsets")
        ]

    def turn(self) -> None:
        if self.draw.random() < 0.4:
            self.some(2)
        if self.draw.random() < 0.2:
            self.order_of(self.draw.choice(("c1", "nobody")))
        if self.draw.random() < 0.1:
            body = {"order": {"id": "e"}, "paid": self.clock["payments", 0], "status": "OK", "total": "much"}
            self.send("payments", 0, body)
        if self._doubts is not None and self._doubts.random() < 0.15:
            self._doubts.choice(self._doubt)(self._doubts)

    def live(self) -> None:
        where = TopicPartition("orders", 0)
        self.order_of("c1")
        self.world.settle(self.is_committed)
        self.world.run(250, self.turn)
        self.world.settle(self.is_committed)
        for process in self.world.processes:
            process.paused_until = self.world.now + 300
        for _ in range(6):
            self.send("orders", 0, {"order_id": "b", "at": self.clock["orders", 0]})
        self.world.broker.trim(where, self.world.broker.partition(where).high - 2)
        self.world.run(250, self.turn)
        self.finish(2)
        self.world.settle(self.is_read)
        digests(self.world)

    def counted(self) -> Told:
        """The counters of sources. What the stream's own partitions read is counted as in any stream."""
        counters = (names.ROUTED_EVENTS, names.FILTERED, names.TABLE_MISSES, names.MISTYPED_VALUES, names.DEAD_LETTERS)
        more = (names.LOST_OFFSETS, names.INPUT_INCIDENTS)
        return {one: told(self.metrics, one) for one in (*counters, *more)}


@pytest.mark.parametrize("seed", range(6))
def test_the_counters_of_merged_streams_are_those_of_an_undisturbed_life(seed: int, tmp_path: Path) -> None:
    calm = Routed(seed, tmp_path / "calm", None)
    calm.live()
    shop = Routed(seed, tmp_path / "shop", random.Random(seed))
    shop.live()
    assert shop.metrics.value(names.TRANSACTION_ABORTS) > calm.metrics.value(names.TRANSACTION_ABORTS)
    counted = shop.counted()
    assert counted == calm.counted()
    assert all(counted.values()), f"something of each: {counted}"
    records: list[dict[str, Any]] = [
        orjson.loads(one.value or b"")
        for part in range(TARGETS)
        for one in shop.world.read(TOPIC, part, committed_only=True)
    ]
    assert sum(one["type"] != "$watermark" for one in records) == sum(counted[names.ROUTED_EVENTS].values())
    assert {(reason,): count for reason, count in Counts(shop.letters().values()).items()} == counted[
        names.DEAD_LETTERS
    ]
    committed = shop.world.broker.offsets[f"t.router.{NAME}", TopicPartition("orders", 0)]
    reached = RoutePosition.from_committed(committed)
    assert reached is not None
    assert counted[names.LOST_OFFSETS] == {("orders", "0"): lost(reached.input)[1]}


def test_every_counter_is_checked_here_or_counts_work() -> None:
    checked = {
        *(names.EVENTS_IN, names.BLOCKS, names.LATE_EVENTS, names.DEAD_LETTERS, names.LOST_OFFSETS),
        *(names.INPUT_INCIDENTS, names.EVENTS_APPLIED, names.COMPLEX_EVENTS, names.TRENDS, names.SHED_PARTIAL_MATCHES),
        *(names.ROUTED_EVENTS, names.FILTERED, names.TABLE_MISSES),
    }
    elsewhere = {names.LATE_BY_SILENCE, names.SHED_EVENTS}  # counted as late events are, and in shedder/test_alike.py
    elsewhere |= {names.WITHOUT_ARRAY}  # counted where FILTERED is
    assert checked | elsewhere | OF_WORK | AT_LEAST == {one for one in METRICS if isinstance(one, Counter)}
