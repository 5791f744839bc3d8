"""Streams made from others: under faults every event goes on exactly once, and its new stream's order is its own."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from saffron.errors import AbortableError, FencedError
from saffron.runtime.dead_letters.letters import Letter, gather
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import (
    ROUTE_LAG,
    ROUTE_WATERMARK,
    ROUTED_EVENTS,
    ROUTES_WAITING,
    TRANSACTION_ABORTS,
)
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.routing.router import Router
from saffron.windowing.service import WindowingService
from tests.memory.memory_log import MemoryConsumer, MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, Chaos, Process, World

TOPICS = Topics("t.")
NAME, TOPIC = "by_sector", "t.by_sector"
SOURCES, TARGETS = 3, 2
SECTORS = ("tech", "food", "oil", "rail")
DISORDER = 500


@dataclass
class System:
    """Members of `windowing` over a source of three partitions, and a stream made from it, of two."""

    seed: int
    directory: Path
    chaos: Chaos = field(default_factory=Chaos)
    idle: int | None = None
    members: int = 2
    sent: list[bytes] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.world = World(self.seed, self.directory, self.chaos)
        self.world.topics(*topic_specs("t.", SOURCES), topic_files()["events"].spec(TOPIC, TARGETS))
        self.world.topics(*stream_topics("t.", NAME, TARGETS))
        self.producer = MemoryLog(self.world.broker).producer()
        row: dict[str, object] = {"name": NAME, "topic": TOPIC, "key": "sector", "schema": None, "from": "events"}
        row |= {"disorder": DISORDER, "idle": self.idle}
        self.producer.send(TOPICS.streams, 0, orjson.dumps(row), key=NAME.encode())
        self.producer.flush(1)
        settings = replace(
            Settings(),
            data=self.directory,
            prefix="t.",
            commit_ms=10,
            disorder_ms=DISORDER,
            session_ms=1_000,
            poll_records=20,
            block_events=16,
        )
        beside = SomeTime(self.world.random)
        for member in range(self.members):
            self.world.add(
                f"windowing-{member}",
                lambda log: WindowingService(log, settings, self.metrics, Health("test"), background=beside),
            )

    def send(self, source: int, ts: int, sector: str | None) -> None:
        number = len(self.sent)
        body = {"type": "Quote", "ts": ts, "n": number} | ({"sector": sector} if sector else {})
        value = orjson.dumps(body)
        self.sent.append(value)
        headers = [("n", b"%d" % number)]
        self.producer.send(TOPICS.events, source, value, key=b"k", headers=headers, timestamp=ts)
        self.producer.flush(1)

    def end(self, ts: int) -> None:
        for source in range(SOURCES):
            value = orjson.dumps({"type": "$watermark", "ts": ts, "end": True})
            self.producer.send(TOPICS.events, source, value, timestamp=ts)
        self.producer.flush(1)

    def routed(self) -> list[Record]:
        """Events on the new topic as a reader sees them."""
        found = [one for p in range(TARGETS) for one in self.world.read(TOPIC, p, committed_only=True)]
        return [one for one in found if orjson.loads(one.value or b"")["type"] != "$watermark"]

    def windows(self, partition: int) -> list[tuple[int, int]]:
        """(ts, n) in the order of the new stream."""
        blocks = self.world.blocks(TOPICS.windows_of(NAME), partition)
        columns = [block.columns for block in blocks if len(block.columns)]
        return [
            pair for one in columns for pair in zip(one.ts.tolist(), one.attributes["n"].data.tolist(), strict=True)
        ]

    def letters(self) -> list[Letter]:
        """The dead letters of both streams."""
        return gather(
            one for p in range(SOURCES) for one in self.world.read(TOPICS.dead_letters, p, committed_only=True)
        )

    def tell(self) -> None:
        """Everybody's next digest."""
        for _ in range(30):
            self.world.now += 50
            for process in self.world.processes:
                assert process.service is not None
                process.service.step(self.world.now)

    def rested(self) -> bool:
        """Whether all sources have said, in every partition, that they are silent."""
        for partition in range(TARGETS):
            bodies = [orjson.loads(one.value or b"") for one in self.world.read(TOPIC, partition, committed_only=True)]
            said = {one["source"]: one.get("silent") for one in bodies if one["type"] == "$watermark"}
            if [said.get(source) for source in range(SOURCES)] != [True] * SOURCES:
                return False
        return True

    def ended(self) -> bool:
        blocks = (self.world.blocks(TOPICS.windows_of(NAME), partition) for partition in range(TARGETS))
        return all(any(block.end for block in some) for some in blocks)


@pytest.mark.parametrize("seed", range(8))
def test_every_event_goes_on_exactly_once_whatever_dies(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    draw = random.Random(seed)
    clock = [1_000_000 + 5_000 * source for source in range(SOURCES)]  # partitions far apart in time

    def each() -> None:
        if draw.random() < 0.2:
            source = draw.randrange(SOURCES)
            clock[source] += draw.randrange(300)
            system.send(source, clock[source] - draw.choice((0, 0, 0, 400)), draw.choice((*SECTORS, None)))

    system.world.run(300, each)
    system.end(2_000_000)
    system.world.settle(system.ended)
    routed = system.routed()
    assert sorted(one.value or b"" for one in routed) == sorted(system.sent), system.world.history[-20:]
    for one in routed:
        body = orjson.loads(one.value or b"")
        assert one.key == body.get("sector", "").encode()
        assert one.partition == partition_of(one.key or b"", TARGETS)
        assert (one.timestamp, one.headers) == (body["ts"], (("n", b"%d" % body["n"]),))
    assert system.letters() == [], "no event is late"
    by_partition: dict[int, list[int]] = defaultdict(list)
    for one in routed:
        by_partition[one.partition].append(orjson.loads(one.value or b"")["ts"])
    for partition in range(TARGETS):
        assert [ts for ts, _ in system.windows(partition)] == sorted(by_partition[partition])


@pytest.mark.parametrize("seed", range(6))
def test_what_is_late_is_so_by_its_own_source_partition_wherever_commits_fall(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    draw = random.Random(seed)
    clock = [1_000_000 + 5_000 * source for source in range(SOURCES)]
    watermarks = [0] * SOURCES
    late: list[tuple[int, int]] = []
    in_time: list[tuple[int, int]] = []

    def each() -> None:
        if draw.random() < 0.3:
            source = draw.randrange(SOURCES)
            clock[source] += draw.randrange(300)
            ts = clock[source] - draw.choice((0, 0, 400, 700, 3_000))
            (late if ts < watermarks[source] else in_time).append((ts, len(system.sent)))
            watermarks[source] = max(watermarks[source], ts - DISORDER)
            system.send(source, ts, draw.choice((*SECTORS, None)))

    system.world.run(200, each)
    system.end(2_000_000)
    system.world.settle(lambda: system.ended() and len(system.letters()) >= 2 * len(late))
    assert late
    assert sorted(pair for partition in range(TARGETS) for pair in system.windows(partition)) == sorted(in_time)
    letters = system.letters()
    assert {(one.reason, one.topic) for one in letters} == {("late", TOPICS.events)}
    for stream in ("", NAME):
        events = [orjson.loads(one.value or b"") for one in letters if one.stream == stream]
        assert sorted((one["ts"], one["n"]) for one in events) == sorted(late), stream


def test_a_silent_source_is_not_waited_for_where_the_stream_says_so(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS, idle=100)
    system.send(0, 1_000_000, "tech")
    system.send(1, 1_000_400, "tech")
    where = partition_of(b"tech", TARGETS)
    system.world.settle(lambda: len(system.routed()) == 2)
    assert system.windows(where) == [], "the events of the first may still be overtaken by 500 ms"
    for ts in (1_001_000, 1_001_600):
        system.send(1, ts, "tech")
        system.world.settle(lambda: True)
    system.world.settle(lambda: len(system.windows(where)) == 3)
    assert [ts for ts, _ in system.windows(where)] == [1_000_000, 1_000_400, 1_001_000]


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize("step_ms", [5, 250])
@pytest.mark.parametrize("seed", range(4))
def test_what_came_to_silent_sources_while_nobody_read_is_not_late(
    seed: int, step_ms: int, forgotten: bool, tmp_path: Path
) -> None:
    """One of the sources is taken over later than the others. `step_ms`: how long a step takes, as taking over may."""
    system = System(seed, tmp_path, NO_CHAOS, idle=300, members=1)
    for source in range(SOURCES):
        system.send(source, 1_000_000, "tech")
    system.world.settle(system.rested)
    (process,) = system.world.processes
    system.world._kill(process)
    if forgotten:
        system.world.broker.forget(f"t.router.{NAME}")
    for number in range(90):
        system.send(number % SOURCES, 1_000_001 + 100 * number, SECTORS[number % 4])
    system.world._turn(process)
    assert process.log is not None
    process.log.inject("init", FencedError("by the transaction of the one that died"), after=False)
    for _ in range(400):  # the group gives it its partitions once the session of the dead one is over
        system.world._turn(process)
        system.world._deliver(True)
        system.world.now += step_ms
    assert not process.log.faults
    system.world.settle(lambda: len(system.routed()) == 93 and system.rested())
    system.end(2_000_000)
    system.world.settle(system.ended)
    assert system.letters() == []
    numbers = [number for partition in range(TARGETS) for _, number in system.windows(partition)]
    assert sorted(numbers) == list(range(93))


@pytest.mark.parametrize("seed", range(8))
def test_a_silent_source_is_waited_for_from_soon_after_its_member_died(seed: int, tmp_path: Path) -> None:
    """A message comes to it while nobody reads it, and then many later ones to the others."""
    system = System(seed, tmp_path, NO_CHAOS, idle=300)
    system.world.broker.session_timeout = 20_000
    for source in range(SOURCES):
        system.send(source, 1_000_000, "tech")
    system.world.settle(system.rested)
    dead, alive = sorted(system.world.processes, key=lambda one: len(router_of(one).chains(NAME)))
    (source,) = (where.partition for where in router_of(dead).chains(NAME))
    system.world._kill(dead)

    def live(turns: int) -> None:
        for _ in range(turns):
            system.world._turn(alive)
            system.world._deliver(True)
            system.world.now += 50

    live(80)
    system.send(source, 1_000_100, "tech")
    for number in range(20):
        for other in set(range(SOURCES)) - {source}:
            system.send(other, 1_002_000 + 100 * number, SECTORS[number % 4])
        live(2)
    live(800)  # it takes the source over
    system.end(2_000_000)
    system.world.settle(system.ended)
    assert system.letters() == []
    numbers = [number for partition in range(TARGETS) for _, number in system.windows(partition)]
    assert sorted(numbers) == list(range(44))


def router_of(process: Process) -> Router:
    assert isinstance(process.service, WindowingService)
    return process.service._router


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("idle", [None, 300])
@pytest.mark.parametrize("dies_after", [None, *range(1, 12)])
def test_a_source_made_anew_with_fewer_partitions_goes_on(
    dies_after: int | None, idle: int | None, running: bool, forgotten: bool, tmp_path: Path
) -> None:
    system = System(1, tmp_path, NO_CHAOS, idle=idle, members=1)
    for source in range(SOURCES):
        system.send(source, 1_000_000 + source, "tech")
    system.world.settle(lambda: len(system.routed()) == SOURCES)
    (process,) = system.world.processes
    if not running:
        system.world._kill(process)
    system.world.broker.delete(TOPICS.events)
    if forgotten:
        system.world.broker.forget(f"t.router.{NAME}")
    for _ in range(3):
        system.world._turn(process)
        system.world.now += 50
    system.world.topics(topic_files()["events"].spec(TOPICS.events, 1))
    for ts in range(1_001_000, 1_009_000, 1_000):
        system.send(0, ts, "tech")
    for _ in range(dies_after or 0):
        system.world._turn(process)
        system.world._deliver(True)
        system.world.now += 5
    if dies_after is not None:
        system.world._kill(process)
    where = partition_of(b"tech", TARGETS)
    expected = [*range(1_000_000, 1_000_003), *range(1_001_000, 1_008_000, 1_000)]
    system.world.settle(lambda: len(system.windows(where)) == len(expected))
    assert [ts for ts, _ in system.windows(where)] == expected
    system.world.broker.add_partitions(TOPICS.events, 3)  # it grows again
    for source in (2, 1, 0):
        system.send(source, 1_009_000 + source, "tech")
    system.world.settle(lambda: len(system.routed()) == 14)
    system.end(2_000_000)
    system.world.settle(system.ended)
    assert len(system.windows(where)) == 14
    assert system.letters() == []


def test_a_partition_that_is_gone_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client waits ten seconds for it, and all streams of the member with it. The group learns a little later."""
    system = System(1, tmp_path, NO_CHAOS, members=1)
    for source in range(SOURCES):
        system.send(source, 1_000_000 + source, "tech")
    system.world.settle(lambda: len(system.routed()) == SOURCES)
    (process,) = system.world.processes
    asked: list[TopicPartition] = []
    watermarks = MemoryConsumer.watermarks

    def asking(consumer: MemoryConsumer, partition: TopicPartition) -> tuple[int, int]:
        asked.append(partition)
        return watermarks(consumer, partition)

    monkeypatch.setattr(MemoryConsumer, "watermarks", asking)
    system.world.broker.delete(TOPICS.events)
    system.world.topics(topic_files()["events"].spec(TOPICS.events, 1))
    assert isinstance(process.service, WindowingService)
    inner, routed = process.service.shell.chains, router_of(process).chains(NAME)
    for one in inner.values():
        one.release(0)
    for other in routed.values():
        other.restart()
    for _ in range(20):
        system.world.now += 1_000
        for one in inner.values():
            one.step(system.world.now)
        for other in routed.values():
            other.step(system.world.now)
        system.world._deliver(True)
    assert {one for one in asked if one.topic == TOPICS.events} == {TopicPartition(TOPICS.events, 0)}


def test_what_a_producer_has_aborted_is_no_event(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS)
    aborted = MemoryLog(system.world.broker).producer("user")
    aborted.begin()
    aborted.send(TOPICS.events, 0, orjson.dumps({"type": "Quote", "ts": 1, "n": -1, "sector": "tech"}), timestamp=1)
    aborted.abort()
    system.send(0, 1_000_000, "tech")
    system.end(2_000_000)
    system.world.settle(system.ended)
    assert [one.value for one in system.routed()] == system.sent
    assert sum(len(block.columns) for block in system.world.blocks(TOPICS.windows, 0)) == 1


def test_it_is_counted_what_was_routed_and_how_far_each_source_is(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS, members=1)
    for number in range(10):
        system.send(number % SOURCES, 1_000_000 + number, "tech")
    system.world.settle(lambda: len(system.routed()) == 10)
    (log,) = (process.log for process in system.world.processes)
    assert log is not None
    log.inject("commit", AbortableError("x"), after=False)
    system.send(0, 1_000_100, "food")
    system.world.run(100)
    system.world.settle(lambda: len(system.routed()) == 11)
    system.tell()
    metrics, labels = system.metrics, [(NAME, str(source)) for source in range(SOURCES)]
    assert [metrics.value(ROUTED_EVENTS, *one) for one in labels] == [5, 3, 3]
    assert [metrics.value(ROUTE_LAG, *one) for one in labels] == [0, 0, 0]
    reached = [round(1_000 * metrics.value(ROUTE_WATERMARK, *one)) + DISORDER for one in labels]
    assert reached == [1_000_100, 1_000_007, 1_000_008]
    assert (metrics.total(TRANSACTION_ABORTS), metrics.total(ROUTES_WAITING)) == (1, 0)


def test_a_route_whose_topic_is_missing_waits_for_it(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS, members=1)
    row = {"name": "lost", "topic": "t.lost", "key": "sector", "schema": None, "from": "events"}
    system.producer.send(TOPICS.streams, 0, orjson.dumps(row), key=b"lost")
    system.producer.flush(1)
    system.world.settle(lambda: True)
    system.tell()
    assert system.metrics.value(ROUTES_WAITING, "lost", "topic") == 1


@pytest.mark.parametrize("exists", [False, True])
def test_a_route_whose_source_was_removed_says_so_whether_a_topic_has_its_name_or_not(
    tmp_path: Path, exists: bool
) -> None:
    """Such a topic is nobody's stream: neither is it read, nor does it help to make one."""
    system = System(1, tmp_path, NO_CHAOS, members=1)
    system.world.topics(*([TopicSpec("t.gone", 1, {})] if exists else []), TopicSpec("t.lost", 1, {}))
    row = {"name": "lost", "topic": "t.lost", "key": "sector", "schema": None, "from": "gone"}
    system.producer.send(TOPICS.streams, 0, orjson.dumps(row), key=b"lost")
    system.producer.flush(1)
    system.world.settle(lambda: True)
    [trouble] = router_of(system.world.processes[0]).troubles
    assert trouble == (
        "stream lost is made from stream 'gone', which is not there (any more): "
        "saffron stream add gone, or saffron stream remove lost"
    )
