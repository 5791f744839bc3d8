"""A fleet that falls silent, on a real broker: two members route and window a stream of two topics, one of them dies.

The same, and more, on the in-memory log: `simulated/test_silence.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from saffron.records.query import ADD, QueryRecord
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics, topic_files
from tests.e2e.broker.processes import SERVICES, System

pytestmark = [pytest.mark.kafka]

DEVICES = [f"device{number}" for number in range(12)]
DISORDER, SILENCE, MISSING = 500, 3_000, 6_000
QUERY = f"FROM fleet PATTERN SEQ(Beat a, NOT Beat b FOR {MISSING} ms) WHERE [device] WITHIN 1 hour"
PATIENCE_S = 60.0


class Fleet:
    """A system with a stream `fleet` of two topics, and a query for missing heartbeats."""

    def __init__(self, system: System) -> None:
        self.system = system
        prefix = system.settings.prefix
        self.sources = [f"{prefix}beats", f"{prefix}notes"]
        specs = [TopicSpec(topic, 2, {}) for topic in self.sources]
        system.log.create_topics([*specs, topic_files()["events"].spec(f"{prefix}fleet", 2)])
        system.log.create_topics(stream_topics(prefix, "fleet", 2))
        beats, notes = self.sources
        text = (
            f"stream: fleet\nkey: device\ndisorder: {DISORDER}ms\nidle: 1s\nsilence: {SILENCE}ms\nsources:\n"
            + "".join(
                f"- topic: {topic}\n  type: {kind}\n  ts: {{field: at, format: epoch_ms}}\n"
                for topic, kind in ((beats, "Beat"), (notes, "Note"))
            )
        )
        bounds = {"disorder": DISORDER, "idle": 1_000, "silence": SILENCE}
        applied = AppliedDefinition(text, {beats: 0, notes: 1}, 1)
        record = StreamRecord("fleet", f"{prefix}fleet", "device", definition=applied, **bounds)  # type: ignore[arg-type]
        system.producer.send(system.topics.streams, 0, record.encode(), key=b"fleet")
        system.producer.send(system.topics.queries, 0, QueryRecord("missing", 1, ADD, QUERY).encode(), key=b"missing")
        system.producer.flush(20)
        for service in SERVICES:
            system.start(service)
        system.start("windowing", "second")
        self.sent: dict[str, int] = {}

    def beat(self) -> None:
        """A beat of each device, now."""
        self.sent = {}
        for device in DEVICES:
            at = self.sent[device] = time.time_ns() // 1_000_000
            body = orjson.dumps({"device": device, "at": at})
            self.system.producer.send_many(self.sources[0], [{"key": device.encode(), "value": body}])
        self.system.producer.flush(20)

    def missing(self) -> list[tuple[str, int]]:
        """The devices that were told of, each with its last beat."""
        self.system.results()
        found = self.system.readers[self.system.topics.complex_events].found
        bodies = [orjson.loads(one) for part in found for one in part]
        return sorted((one["key"]["device"], one["end"] - MISSING) for one in bodies)

    def late(self) -> int:
        """Dead letters."""
        places = [TopicPartition(self.system.topics.dead_letters, one) for one in range(2)]
        return sum(self.system.log.ends(places).values())


@pytest.fixture
def fleet(broker: str, prefix: str, tmp_path: Path) -> Iterator[Fleet]:
    system = System(broker, prefix, tmp_path, partitions=2)
    try:
        yield Fleet(system)
    finally:
        system.close()


def test_a_silent_fleet_is_told_of_once_though_a_member_dies(fleet: Fleet) -> None:
    system = fleet.system
    fleet.beat()
    system.active(2)
    for _ in range(3):
        fleet.beat()
        began = time.monotonic()
        system.wait(lambda began=began: time.monotonic() - began > 0.5, 5, "time stands still")  # type: ignore[misc]
    first = fleet.sent.items()  # of earlier beats, too, if it took long until the query was in force
    system.wait(lambda: first <= set(fleet.missing()), PATIENCE_S, "the fleet's silence was not told of")
    before = fleet.missing()
    fleet.beat()
    second = fleet.sent.items()
    system.kill("second")
    system.wait(lambda: second <= set(fleet.missing()), PATIENCE_S, "the second silence was not told of")
    assert fleet.missing() == sorted([*before, *second]), "each once"
    assert fleet.late() == 0
