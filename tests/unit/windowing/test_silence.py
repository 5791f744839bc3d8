"""Silence of a stream: event time goes on where nothing comes, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.windows.order import silence
from saffron.errors import LogError
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.hops.block_reader import BlockReader
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, stream_topics, topic_specs
from saffron.runtime.process.background import at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import DEAD_LETTERS, LATE_BY_SILENCE, LATE_EVENTS, SILENCE
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.service import WindowingService
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import Killed, MemoryLog

TOPICS = Topics("t.")
BOUND, DISORDER = 10_000, 2_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
NAME = "beats"


@dataclass
class Bench:
    """Members of windowing on a log of two partitions, and one stream with a silence of `BOUND`."""

    directory: Path
    now: int = 10_000_000
    stepped: int = 0
    """How far the wall clock was set forward."""
    services: list[WindowingService] = field(default_factory=list)
    logs: list[MemoryLog] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = MemoryBroker(lambda: self.now, session_timeout=3_000)
        for spec in [*topic_specs("t.", 2), TopicSpec("beats", 2, {}), *stream_topics("t.", NAME, 2)]:
            self.broker.create(TopicSpec(spec.name, spec.partitions, {}))
        self.producer = MemoryLog(self.broker).producer()
        self.metrics = Metrics()
        self.join()

    def stream(self, record: StreamRecord) -> None:
        self.producer.send(TOPICS.streams, 0, record.encode(), key=record.name.encode())

    def join(self) -> None:
        settings = replace(Settings(), data=self.directory, prefix="t.", flush_ms=5, session_ms=3_000, commit_ms=20)
        parts = settings, self.metrics, Health("windowing")
        self.logs.append(MemoryLog(self.broker))
        self.services.append(
            WindowingService(self.logs[-1], *parts, background=at_once, steady_ms=lambda: self.now - 5_000_000)
        )

    def kill(self, member: int = 0) -> None:
        self.logs.pop(member).kill()
        del self.services[member]

    def event(self, partition: int, ts: int, topic: str = "beats") -> None:
        value = orjson.dumps({"type": "Beat", "ts": ts, "x": 1})
        self.producer.send(topic, partition, value, timestamp=self.now + self.stepped)

    def drive(self, milliseconds: int, tick: int = 25) -> None:
        for _ in range(milliseconds // tick):
            self.now += tick
            for service in self.services:
                service.step(self.now + self.stepped)

    def blocks(self, partition: int) -> list[Block]:
        reader = BlockReader()
        records = self.broker.partition(TopicPartition(TOPICS.windows_of(NAME), partition)).read(0, 10**6, False)[0]
        return [block for block in map(reader.accept, records) if block is not None]

    def watermark(self, partition: int = 0) -> int:
        return self.blocks(partition)[-1].watermark


PLAIN = StreamRecord(NAME, "beats", disorder=DISORDER, silence=BOUND)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def live(bench: Bench) -> Bench:
    """A stream whose two partitions have had an event each, of ts 1,000,000, just now."""
    bench.stream(PLAIN)
    bench.drive(3 * SECOND)
    for partition in (0, 1):
        bench.event(partition, 1_000_000)
    bench.drive(2 * SECOND)
    return bench


def test_event_time_goes_on_by_the_time_that_passes_and_brings_out_what_disorder_holds(live: Bench) -> None:
    assert live.watermark() == 1_000_000 - DISORDER
    live.drive(BOUND - 3 * SECOND)
    assert live.watermark() == 1_000_000 - DISORDER, "silence has not lasted"
    assert not sum(len(block.columns) for block in live.blocks(0))
    live.drive(4 * SECOND)
    assert [ts for block in live.blocks(0) for ts in block.columns.ts.tolist()] == [1_000_000]
    live.drive(27 * SECOND)
    for partition in (0, 1):
        passed = live.watermark(partition) - (1_000_000 - DISORDER)
        assert 37 * SECOND <= passed <= 40 * SECOND, "some 40 s have passed, looked at once a second"
    steps = [block.watermark for block in live.blocks(0)]
    assert steps == sorted(steps)
    assert len(steps) < 35, "about one a second"
    live.drive(SECOND)
    assert live.metrics.value(SILENCE, NAME, "0") == pytest.approx(38.5, abs=2)


def test_where_one_partition_has_something_no_other_goes_on(live: Bench) -> None:
    for beat in range(1, 40):
        live.event(1, 1_000_000 + beat * SECOND)
        live.drive(SECOND)
    assert live.watermark(0) == 1_000_000 - DISORDER, "`idle` is for that"
    assert live.watermark(1) == 1_039_000 - DISORDER
    live.drive(20 * SECOND)
    for partition, before in ((0, 1_000_000), (1, 1_039_000)):
        assert 17 * SECOND <= live.watermark(partition) - (before - DISORDER) <= 21 * SECOND, "each from where it was"


def test_a_clock_that_is_set_changes_nothing(live: Bench) -> None:
    live.drive(4 * SECOND)
    live.stepped = HOUR
    live.drive(2 * SECOND)
    assert live.watermark() == 1_000_000 - DISORDER
    live.drive(6 * SECOND)
    passed = live.watermark() - (1_000_000 - DISORDER)
    assert 10 * SECOND <= passed <= 13 * SECOND
    live.stepped = -HOUR
    live.drive(10 * SECOND)
    assert 8 * SECOND <= live.watermark() - (1_000_000 - DISORDER) - passed <= 12 * SECOND


def test_what_silence_makes_late_is_counted_apart(live: Bench) -> None:
    live.drive(30 * SECOND)
    assert live.watermark() > 1_025_000
    live.event(0, 1_010_000)
    live.event(0, 1_050_000)
    live.event(0, 990_000)
    live.drive(2 * SECOND)
    assert live.metrics.value(LATE_BY_SILENCE, NAME, "0") == 1
    assert live.metrics.value(LATE_EVENTS, NAME, "0") == 1
    assert live.metrics.value(DEAD_LETTERS, "late-by-silence") == 1
    assert live.metrics.value(SILENCE, NAME, "0") == 0, "events have overtaken it"
    assert live.watermark() == 1_050_000 - DISORDER


def test_it_goes_on_for_a_day_at_most_also_over_restarts(live: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert silence.MOST_MS == DAY
    monkeypatch.setattr(silence, "MOST_MS", 2 * HOUR)
    live.drive(100 * MINUTE, tick=2_000)
    live.drive(SECOND)
    live.kill()
    live.drive(5 * SECOND)
    before = live.watermark()
    assert 98 * MINUTE < before - 1_000_000 <= 100 * MINUTE + BOUND
    live.join()
    live.drive(20 * SECOND)
    live.drive(30 * MINUTE, tick=2_000)
    assert live.watermark() == live.watermark(1) == 1_000_000 - DISORDER + 2 * HOUR
    assert len(live.blocks(0)) < 900, "steps grow with the silence"


def test_a_new_owner_goes_on_from_the_log_and_its_time_begins_anew(live: Bench) -> None:
    live.drive(30 * SECOND)
    before = [live.watermark(partition) for partition in (0, 1)]
    live.kill()
    live.now += 60 * SECOND  # nobody looks
    live.join()
    live.drive(8 * SECOND)
    assert [live.watermark(partition) for partition in (0, 1)] == before
    live.drive(12 * SECOND)
    for partition in (0, 1):
        assert 9 * SECOND <= live.watermark(partition) - before[partition] <= 20 * SECOND
    live.event(0, before[0] - 5 * SECOND)
    live.drive(SECOND)
    assert live.metrics.value(LATE_BY_SILENCE, NAME, "0") == 1, "the log says what silence had raised"


@pytest.mark.parametrize("how", ["stopped", "no broker"])
def test_a_time_in_which_nobody_could_look_does_not_count(live: Bench, how: str) -> None:
    """Producers may hold back then what they could not send, and send it afterwards."""
    live.drive(8 * SECOND)
    if how == "stopped":
        live.now += 60 * SECOND
    else:
        for _ in range(60):
            live.logs[0].inject("ends", LogError("no broker"), after=False)
            live.drive(SECOND)
    live.drive(6 * SECOND)
    assert live.watermark() == 1_000_000 - DISORDER
    live.drive(8 * SECOND)
    assert 10 * SECOND <= live.watermark() - (1_000_000 - DISORDER) <= 16 * SECOND


@pytest.mark.parametrize("call", range(0, 60, 3))
def test_a_member_that_dies_at_any_call_leaves_a_log_that_the_next_one_goes_on_with(live: Bench, call: int) -> None:
    live.drive(BOUND - SECOND)
    live.logs[0].kill_at(call)
    died = False
    for _ in range(200):
        try:
            live.drive(25)
        except Killed:
            died = True
            break
    assert died
    live.kill()
    before = [live.watermark(partition) for partition in (0, 1)]
    live.join()
    live.drive(BOUND + 12 * SECOND)
    for partition in (0, 1):
        steps = [block.watermark for block in live.blocks(partition)]
        assert steps == sorted(steps)
        assert BOUND <= steps[-1] - before[partition] <= BOUND + 12 * SECOND
        assert [ts for block in live.blocks(partition) for ts in block.columns.ts.tolist()] == [1_000_000]


def test_partitions_of_several_members_go_on_together_and_wait_for_one_that_says_nothing(bench: Bench) -> None:
    bench.join()
    bench.stream(PLAIN)
    bench.drive(10 * SECOND)
    owned = [{where.partition for where in one.shell.chains if where.topic == "beats"} for one in bench.services]
    assert sorted(owned, key=min) == [{0}, {1}]
    for partition in (0, 1):
        bench.event(partition, 1_000_000)
    bench.drive(BOUND + 5 * SECOND)
    before = [bench.watermark(partition) for partition in (0, 1)]
    assert min(before) >= 1_000_000 + BOUND
    assert abs(before[0] - before[1]) <= 2 * SECOND
    (mute,) = owned[1]
    bench.kill(1)
    bench.drive(3 * SECOND)  # until the group gives its partition to the other one, it is not known to be silent
    assert bench.watermark(1 - mute) - before[1 - mute] <= 2 * SECOND
    bench.drive(BOUND + 5 * SECOND)
    assert all(bench.watermark(one) > before[one] + BOUND - SECOND for one in (0, 1))


def test_without_silence_nothing_is_looked_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    ends = MemoryLog.ends

    def counted(log: MemoryLog, places: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        asked.append(places)
        return ends(log, places)

    monkeypatch.setattr(MemoryLog, "ends", counted)
    bench.stream(replace(PLAIN, silence=None))
    bench.drive(3 * SECOND)
    bench.event(0, 1_000_000)
    bench.drive(60 * SECOND)
    assert not asked
    assert bench.watermark() == 1_000_000 - DISORDER
    bench.stream(PLAIN)
    bench.event(1, 1_000_000)
    bench.drive(20 * SECOND)
    assert asked
    assert bench.watermark() > 1_000_000 + BOUND - DISORDER, "it is in force once it is written"


MERGED = f"""
stream: beats
disorder: {DISORDER}ms
idle: 4s
silence: {BOUND}ms
partitions: 1
sources:
- topic: one
  ts: {{field: ts, format: epoch_ms}}
- topic: two
  ts: {{field: ts, format: epoch_ms}}
"""


@pytest.fixture
def merged(bench: Bench) -> Bench:
    for spec in (TopicSpec("one", 2, {}), TopicSpec("two", 1, {}), TopicSpec("t.beats", 1, {})):
        bench.broker.create(spec)
    applied = AppliedDefinition(MERGED, {"one": 0, "two": 1}, 1)
    bench.stream(StreamRecord(NAME, "t.beats", disorder=DISORDER, idle=4_000, silence=BOUND, definition=applied))
    bench.drive(3 * SECOND)
    for place, ts in ((("one", 0), 1_000_000), (("two", 0), 1_001_000)):
        bench.event(place[1], ts, topic=place[0])
    bench.drive(SECOND)
    return bench


def test_a_merged_stream_goes_on_once_all_its_topics_are_silent(merged: Bench) -> None:
    merged.drive(BOUND - 3 * SECOND)
    assert merged.watermark() == 1_001_000 - DISORDER, "that of the silent topics, by `idle`"
    merged.drive(22 * SECOND)
    assert 27 * SECOND <= merged.watermark() - (1_001_000 - DISORDER) <= 30 * SECOND
    assert [ts for block in merged.blocks(0) for ts in block.columns.ts.tolist()] == [1_000_000, 1_001_000]
    before = merged.watermark()
    for beat in range(15):
        merged.event(0, 1_031_000 + beat * SECOND, topic="two")
        merged.drive(SECOND)
    assert merged.watermark() - before <= 17 * SECOND
    assert merged.metrics.value(LATE_BY_SILENCE, NAME, "0") in (0, None)


def test_a_merged_stream_does_not_go_on_while_a_source_is_not_routed(merged: Bench) -> None:
    """Another member routes a topic, and is gone: what comes to it is not read."""
    merged.join()
    merged.drive(10 * SECOND)
    merged.drive(BOUND + 5 * SECOND)
    before = merged.watermark()
    assert before > 1_001_000 + BOUND - DISORDER
    routed = [set(one._router.chains(NAME)) for one in merged.services]
    windowing = next(n for n, one in enumerate(merged.services) if any("beats" in w.topic for w in one.shell.chains))
    assert routed[1 - windowing]
    kept = merged.services.pop(1 - windowing)  # alive, as the group sees it at first
    merged.drive(2_500)
    assert merged.watermark() - before <= 2 * SECOND
    merged.services.append(kept)
