"""A fleet that falls silent: what time decides is told while nothing comes, once, and as the log has it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.records.query import ADD, QueryRecord
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import stream_topics, topic_files, topic_specs
from tests.e2e.simulated.system import TOPICS, expected, makers, settings, undated
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, Chaos, World

NAME, TOPIC, PARTITIONS = "fleet", "t.fleet", 2
COUNTS = {"beats": 2, "notes": 1}
DEVICES = "tuvwxyz"
SILENCE, MISSING, WINDOW = 3_000, 8_000, 4_000
DEFINITION = f"""
stream: {NAME}
key: device
disorder: 500ms
idle: 1s
silence: {SILENCE}ms
sources:
- topic: beats
  type: Beat
  ts: {{field: at, format: epoch_ms}}
- topic: notes
  type: Note
  ts: {{field: at, format: epoch_ms}}
"""
QUERIES = {
    "missing": f"FROM fleet PATTERN SEQ(Beat a, NOT Beat b FOR {MISSING} ms) WHERE [device] WITHIN 1 hour",
    "unanswered": "FROM fleet PATTERN SEQ(Note a, NOT Beat b) WHERE [device] WITHIN 2 seconds",
    "sums": f"""FROM fleet PATTERN Beat S+ WHERE [device] AND S.x > NEXT(S).x GROUP BY device
        WITHIN {WINDOW} ms SLIDE 1 second RETURN COUNT(*)""",
    "windows": f"""FROM fleet PATTERN SEQ(Beat a, NOT Note n) WHERE [device]
        WITHIN {WINDOW} ms SLIDE {WINDOW} ms RETURN a.x AS x""",
}
PAST = MISSING + 2_000
"""So far beyond the last event everything that time decides is decided."""


class System:
    """All services, each twice, and a stream of two topics."""

    def __init__(self, seed: int, directory: Path, chaos: Chaos | None = None) -> None:
        self.world = world = World(seed, directory / "snapshots", chaos or Chaos())
        world.topics(*topic_specs("t.", PARTITIONS), topic_files()["events"].spec(TOPIC, PARTITIONS))
        world.topics(*stream_topics("t.", NAME, PARTITIONS), *(TopicSpec(topic, n, {}) for topic, n in COUNTS.items()))
        for name, make in makers(settings(directory, PARTITIONS), background=SomeTime(world.random)).items():
            for member in range(2):
                world.add(f"{name}-{member}", make)
        self.producer = MemoryLog(world.broker).producer()
        self.draw = random.Random(seed)
        self.start = world.now
        self.sent: dict[str, list[int]] = {device: [] for device in DEVICES}
        self.count = 0
        applied = AppliedDefinition(DEFINITION, {topic: number for number, topic in enumerate(COUNTS)}, 1)
        record = StreamRecord(NAME, TOPIC, "device", disorder=500, idle=1_000, silence=SILENCE, definition=applied)
        self.put(TOPICS.streams, NAME, record.encode())
        for name, text in QUERIES.items():
            self.put(TOPICS.queries, name, QueryRecord(name, 1, ADD, text).encode())

    def put(self, topic: str, key: str, value: bytes) -> None:
        self.producer.send(topic, 0, value, key=key.encode())
        self.producer.flush(1)

    def send(self, topic: str, device: str, at: int) -> None:
        body = {"device": device, "at": at, "x": self.draw.randrange(9), "n": self.count}
        partition = partition_of(device.encode(), COUNTS[topic])
        self.producer.send(topic, partition, orjson.dumps(body), key=device.encode(), timestamp=self.world.now)
        self.producer.flush(1)
        self.count += 1
        if topic == "beats":
            self.sent[device].append(at)

    def some(self) -> None:
        """A beat of every device now, a little late, and perhaps a note."""
        for device in DEVICES:
            self.send("beats", device, self.world.now - self.draw.randrange(300))
        if self.draw.random() < 0.5:
            self.send("notes", self.draw.choice(DEVICES), self.world.now)

    def run(self, turns: int) -> None:
        """Beats for a time, then none for a time, under faults. Time goes on faster than the services are looked at."""
        beating, after = True, 0

        def each() -> None:
            nonlocal beating, after
            self.world.now += self.draw.choice((0, 5, 20))
            if self.world.now < after:
                return
            if beating:
                self.some()
            pause = self.draw.random() < 0.1
            beating = not pause
            after = self.world.now + (self.draw.randrange(4_000, 12_000) if pause else self.draw.randrange(200, 900))

        self.world.run(turns, each)
        self.some()

    def settle(self) -> None:
        """Nothing comes any more; everybody lives."""
        last = max(at for times in self.sent.values() for at in times)
        self.world.settle(lambda: self.is_past(last + PAST))

    def is_past(self, ts: int) -> bool:
        """Whether the event time of all partitions is beyond `ts`, and results have followed."""
        for partition in range(PARTITIONS):
            where = TopicPartition(TOPICS.admitted_of(NAME), partition)
            standing = self.world.blocks(where.topic, partition)
            if not standing or standing[-1].watermark < ts:
                return False
            for group in ("t.matcher", "t.greta"):
                committed = self.world.broker.offsets.get((group, where))
                if committed is None or committed.offset < self.world.broker.partition(where).high - 1:
                    return False
        return True

    def results(self, query: str) -> list[dict[str, Any]]:
        topic = TOPICS.trends if query == "sums" else TOPICS.complex_events
        records = [one for part in range(PARTITIONS) for one in self.world.read(topic, part, committed_only=True)]
        return [body for body in (orjson.loads(one.value or b"") for one in records) if body["query"] == query]

    def letters(self) -> Counter[str]:
        """Dead letters by reason, each message's once."""
        found = {}
        for partition in range(PARTITIONS):
            for record in self.world.read(TOPICS.dead_letters, partition, committed_only=True):
                found[record.key] = orjson.loads(record.value or b"")["reason"]
        return Counter(found.values())

    def check(self) -> None:
        """Each event is in one block or is a dead letter, and results are what operators make of the blocks."""
        events = 0
        for partition in range(PARTITIONS):
            windows = self.world.blocks(TOPICS.windows_of(NAME), partition)
            seqs = [seq for block in windows for seq in block.columns.seq.tolist()]
            assert seqs == list(range(len(seqs)))
            events += len(seqs)
            marks = [block.watermark for block in windows]
            assert marks == sorted(marks)
            admitted = self.world.blocks(TOPICS.admitted_of(NAME), partition)
            operators: tuple[tuple[str, ResultOperator], ...] = (
                (TOPICS.complex_events, MatchOperator(partition=partition, stream=NAME)),
                (TOPICS.trends, TrendOperator(partition=partition, stream=NAME)),
            )
            for topic, operator in operators:
                found = undated(self.world.read(topic, partition, committed_only=True))
                assert found == expected(operator, admitted)[: len(found)]
                assert len(found) > 10
        assert events + self.letters().total() == self.count, "every event stands once, or is a dead letter"


def test_a_silent_fleet_is_told_of_while_nothing_comes(tmp_path: Path) -> None:
    system = System(1, tmp_path, NO_CHAOS)
    world = system.world
    world.settle(lambda: world.now > system.start + 5_000)
    for _ in range(10):
        system.some()
        world.settle(lambda after=world.now + 300: world.now > after)  # type: ignore[misc]
    last = {device: max(times) for device, times in system.sent.items()}
    fell_silent = world.now
    system.settle()
    missing = system.results("missing")
    assert sorted((one["key"]["device"], one["end"] - MISSING) for one in missing) == sorted(last.items()), (
        "each device once"
    )
    assert world.now - fell_silent < PAST + 4_000, "soon after its time is over"
    assert system.letters().total() == 0
    assert {one["group"]["device"] for one in system.results("sums")} == set(DEVICES)
    assert max(one["window"][1] for one in system.results("windows")) > max(last.values()), "the last one has closed"
    system.check()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_dies_the_log_decides_and_all_follow_it(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path)
    try:
        system.run(2_000)
        system.settle()
        silences = [
            block.watermark
            for partition in range(PARTITIONS)
            for block in system.world.blocks(TOPICS.windows_of(NAME), partition)
            if "heard" in block.input
        ]
        assert len(silences) > 5, "silence has decided something"
        last = {device: max(times) for device, times in system.sent.items()}
        told = {
            one["key"]["device"]
            for one in system.results("missing")
            if one["end"] - MISSING == last[one["key"]["device"]]
        }
        assert told == set(DEVICES)
        system.check()
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(system.world.history[-40:])) from error
