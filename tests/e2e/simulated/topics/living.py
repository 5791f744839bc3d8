"""All services on the in-memory log, over topics that change: deleted, grown, trimmed, denied."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from saffron.cli.client import Client
from saffron.cli.streams.present import written
from saffron.control.streams.change import StreamChange
from saffron.control.streams.stream_changes import begins_anew, plan_anew, plan_change
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.topics import stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.metrics import Metrics
from tests.e2e.simulated.system import TOPICS, makers, settings
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import NO_CHAOS, Process, World

PAIR = "FROM {} PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 minutes RETURN a.k AS k"
SCHEMA = {"type": "object", "properties": {"type": {"enum": ["A", "B"]}, "k": {"type": ["string", "null"]}}}
OTHER = "other"


@dataclass
class Living:
    """All services, each once; streams `events` and `other` with one partition and a query each, which is in force."""

    directory: Path
    partitions: int = 1
    metrics: dict[str, Metrics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = World(1, self.directory / "snapshots", NO_CHAOS)
        self.broker = self.world.broker
        self.world.topics(*topic_specs("t.", self.partitions))
        self.make_topic(f"t.{OTHER}", 1)
        self.world.topics(*stream_topics("t.", OTHER, 1))
        self.producer = MemoryLog(self.broker).producer()
        chosen = replace(settings(self.directory, self.partitions), disorder_ms=0)
        metrics = self.metrics.setdefault
        parts = makers(chosen, lambda name: metrics(name, Metrics()), SomeTime(self.world.random))
        for name, make in parts.items():
            self.world.add(name, make)
        self.numbers: Iterator[int] = itertools.count(1)
        for stream in ("events", OTHER):
            self.stream(stream, f"t.{stream}")
            self.query(stream, PAIR.format(stream))
        self.settle()

    def make_topic(self, name: str, partitions: int) -> None:
        self.broker.create(topic_files()["events"].spec(name, partitions))

    def make_again(self, topic: str) -> None:
        """Make one of the system's topics, as `saffron up` does."""
        self.world.topics(*(one for one in topic_specs("t.", self.partitions) if one.name == topic))

    def put(self, topic: str, key: str, row: dict[str, Any] | None) -> None:
        self.producer.send(topic, 0, None if row is None else orjson.dumps(row), key=key.encode())
        self.producer.flush(1)

    def stream(self, name: str, topic: str, **more: Any) -> None:
        row = {"name": name, "topic": topic, "key": "k", "schema": SCHEMA, "disorder": 0, "idle": None}
        self.put(TOPICS.streams, name, row | more)

    def route(self) -> None:
        """A stream `by_k` from `events`."""
        self.make_topic("t.by_k", 1)
        self.world.topics(*stream_topics("t.", "by_k", 1))
        self.stream("by_k", "t.by_k", **{"from": "events"})
        self.settle(300)

    def query(self, name: str, text: str) -> None:
        self.put(TOPICS.queries, name, {"name": name, "version": 1, "op": "add", "text": text, "from": "now"})

    def send(
        self, kinds: str, *keys: str, topic: str = TOPICS.events, partition: int = 0, ts: int | None = None
    ) -> None:
        """An event of each kind for each key. `ts`: theirs, else that of their messages."""
        for key, kind in itertools.product(keys, kinds):
            self.world.now += 1
            event = {"type": kind, "k": key} | ({} if ts is None else {"ts": ts})
            self.producer.send(topic, partition, orjson.dumps(event), timestamp=self.world.now)
        self.producer.flush(1)

    def pairs(self, query: str = "events") -> list[str]:
        """The keys of its results, in the order of each partition."""
        found = []
        for partition in range(len(self.broker.topics[TOPICS.complex_events])):
            for record in self.world.read(TOPICS.complex_events, partition, committed_only=True):
                body = orjson.loads(record.value or b"")
                found += [body["return"]["k"]] if body["query"] == query else []
        return found

    def settle(self, turns: int = 150) -> None:
        """Let everybody work, and time pass (some 3 s). Where nothing is written, one turn takes the time of three."""
        before = -1
        while turns > 0:
            for process in self.world.processes:
                self.world._turn(process)
            self.world._deliver(True)
            written = self.world.written()
            taken = 1 if written != before else min(3, turns)
            self.world.now += 20 * taken
            before, turns = written, turns - taken

    def process(self, name: str) -> Process:
        return next(one for one in self.world.processes if one.name == name)

    def away(self, name: str, how: str) -> None:
        """Stop a service's process, or end it."""
        process = self.process(name)
        if how == "dead":
            assert process.log is not None
            process.log.kill()
            process.service = process.log = None
        process.paused_until = 2**62

    def back(self, name: str) -> None:
        self.process(name).paused_until = 0

    def told(self, service: str = "windowing") -> list[tuple[str, int, int, int, int]]:
        """The incidents that a service tells of last: kind, partition, and offset, before, after."""
        found = self._incidents(service)
        return [(one["kind"], partition, one["offset"], one["before"], one["after"]) for partition, one in found]

    def at_of(self, service: str) -> list[int]:
        """The times of the incidents that a service tells of last."""
        return [one["at"] for _, one in self._incidents(service)]

    def _incidents(self, service: str) -> list[tuple[int, dict[str, Any]]]:
        """The incidents that a service tells of last, each with its partition."""
        found: list[tuple[int, dict[str, Any]]] = []
        for record in self.world.read(TOPICS.health, 0, committed_only=False):
            body = orjson.loads(record.value or b"")
            if body["service"] == service and "inputs" in body:
                found = [(row["partition"], one) for row in body["inputs"] for one in row["incidents"]]
        return found

    def troubles(self, service: str) -> list[str]:
        """What a service has said lately that it waits for; it says nothing where there is nothing to tell."""
        records = self.world.read(TOPICS.health, 0, committed_only=False)
        lately = [record for record in records if record.timestamp > self.world.now - 2_500]
        bodies = [orjson.loads(record.value or b"") for record in lately]
        found: list[str] = next((one["troubles"] for one in reversed(bodies) if _of(one, service)), [])
        return found

    def expire(self) -> None:
        """What retention does, by the settings of each topic."""
        for topic, partitions in self.broker.topics.items():
            keep = int(self.broker.configs[topic].get("retention.ms", -1))
            for number, log in enumerate(partitions):
                times = [0 if entry.record is None else entry.record.timestamp for entry in log.entries]
                kept = next((i for i, at in enumerate(times) if keep < 0 or at >= self.world.now - keep), len(times))
                self.broker.trim(TopicPartition(topic, number), log.low + kept)

    def begin_anew(self, name: str, left: Sequence[str] = ()) -> None:
        """`saffron stream remove`, then `saffron stream add`, as the runbook prescribes. `left`: topics that the first
        stream left, which are deleted in between."""
        client = Client(Settings(prefix="t.", bootstrap="memory"), MemoryLog(self.broker))
        if begins_anew(name):
            written(client, lambda now: plan_anew(name, now))
        else:
            client.put(TOPICS.streams, name, None)
        self.settle()
        for topic in left:
            self.broker.delete(topic)
        kept = {place: one for place, one in self.broker.offsets.items() if place[1].topic not in left}
        self.broker.offsets = kept  # as Kafka does, where nobody reads the topic any more
        written(client, lambda now: plan_change(StreamChange(name, key="k", schema=SCHEMA), now))
        client.log.close()
        self.settle(700)

    def others_go_on(self) -> None:
        before = len(self.pairs(OTHER))
        self.send("AB", "well", topic=f"t.{OTHER}")
        self.settle()
        assert len(self.pairs(OTHER)) == before + 1


def _of(body: dict[str, Any], service: str) -> bool:
    return bool(body["service"] == service and "troubles" in body)
