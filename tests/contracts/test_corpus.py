"""What earlier versions have left on topics and on disk is read by today's code, which goes on with their answers."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from corpus import read_positions, read_records, trades

from saffron.control.tables import Tables
from saffron.engine.events.codec import decode_block
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, topic_files
from saffron.runtime.results.snapshots import Snapshots
from saffron.schema.numbers import number_of_text
from tests.e2e.simulated.system import expected, makers, settings, undated
from tests.memory.memory_broker import Entry, MemoryBroker, PartitionLog
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import World

CORPORA = sorted(path for path in (Path(__file__).parents[1] / "corpus").iterdir() if path.is_dir())
PREFIX = "saffron."
TOPICS = Topics(PREFIX)
PARTITIONS = 2
STREAMS = ("events", "trades", "by_sector")
UNWRITTEN = ("dips",)
"""Queries whose results only others read (INTO without PUBLISH): 0.1.0 wrote them, too."""
STATES = {
    "rally": "active",
    "downtrends": "active",
    "dips": "active",
    "two_dips": "active",
    "sectors": "active",
    "sales": "active",
    "sums": "active",
    "paused": "paused",
    "replaced": "active",
}


@pytest.fixture(params=CORPORA, ids=lambda path: path.name)
def corpus(request: pytest.FixtureRequest) -> Path:
    directory: Path = request.param
    return directory


def pour(corpus: Path, broker: MemoryBroker) -> None:
    """The corpus's topics with every record at its offset, and where its groups stood."""
    positions = read_positions(corpus)
    counts = Counter(where.topic for where in positions.ends)
    for topic, count in counts.items():
        broker.create(TopicSpec(topic, count, _config(topic)))
    for record in read_records(corpus):
        log = broker.partition(TopicPartition(record.topic, record.partition))
        _fill(log, record.offset)
        log.entries.append(Entry(record, None))
    for where, end in positions.ends.items():
        _fill(broker.partition(where), end)
    for (group, where), committed in positions.committed.items():
        broker.offsets[PREFIX + group, where] = committed


def _config(topic: str) -> dict[str, str]:
    """As the topic's file says; a stream's own topic is like that of events, an inner one like the default stream's."""
    files = topic_files()
    name = topic.removeprefix(PREFIX)
    return dict(files.get(name, files.get(name.rpartition(".")[2], files["events"])).config)


def _fill(log: PartitionLog, end: int) -> None:
    """Markers of transactions, or what compaction took, up to an offset."""
    log.entries += [Entry(None, None)] * (end - log.high)


def test_every_record_of_the_control_topics_is_understood(corpus: Path) -> None:
    tables = Tables(TOPICS, 1_000)
    for record in read_records(corpus):
        if record.topic in tables.topics:
            tables.apply(record.topic, record.key, record.value, record.timestamp)
    assert list(tables.problems) == []
    views = [tables.queries.view(name) for name in tables.queries.names()]
    assert {view["name"]: view["state"] for view in views} == STATES
    assert sorted(row.name for row in tables.streams.all().values()) == sorted(STREAMS)
    assert tables.models()


def test_every_block_and_every_snapshot_is_read(corpus: Path) -> None:
    controls: Counter[str] = Counter()
    for record in read_records(corpus):
        if record.topic.endswith(("windows", "admitted")) and dict(record.headers).get("claim"):
            controls.update(control.kind for control in decode_block(record.value or b"").controls)
    assert {"schema", "query", "checkpoint"} <= controls.keys()
    restored = 0
    for service, operator in (("matcher", MatchOperator), ("greta", TrendOperator)):
        for path in sorted((corpus / "snapshots" / service).glob("*/*")):
            snapshots = Snapshots(path)
            found = snapshots.newest(2**62, "")
            assert found is not None, snapshots.skipped
            stream = TOPICS.stream_of(path.parent.name)
            assert stream is not None
            operator(partition=int(path.name), stream=stream).restore(found.state)
            restored += 1
    assert restored == 2 * len(STREAMS) * PARTITIONS


@pytest.mark.parametrize("grows", [False, True], ids=["alike", "grown"])
def test_todays_services_go_on_with_the_answers(corpus: Path, tmp_path: Path, *, grows: bool) -> None:
    """`grows`: what comes now has attributes, types and kinds of numbers that were not there."""
    world = World(1, tmp_path / "snapshots")
    pour(corpus, world.broker)
    shutil.copytree(corpus / "snapshots", tmp_path / "snapshots")
    world.now = 1 + max(record.timestamp for record in read_records(corpus))
    before = {topic: _results(world, topic) for topic in (TOPICS.complex_events, TOPICS.trends)}
    chosen = replace(settings(tmp_path, PARTITIONS), prefix=PREFIX, disorder_ms=0)
    for name, make in makers(chosen, background=SomeTime(world.random)).items():
        world.add(name, make)
    _feed(world, corpus, grows=grows)
    world.settle(lambda: _at_rest(world))
    for topic, operator in ((TOPICS.complex_events, MatchOperator), (TOPICS.trends, TrendOperator)):
        for partition in range(PARTITIONS):
            admitted = {stream: world.blocks(TOPICS.admitted_of(stream), partition) for stream in STREAMS}
            right = [
                body
                for stream, standing in admitted.items()
                for body in expected(operator(partition=partition, stream=stream), standing)
            ]
            found = [
                body
                for body in undated(world.read(topic, partition, committed_only=True))
                if orjson.loads(body)["query"] not in UNWRITTEN
            ]
            assert by_value(Counter(found) - Counter(right)) == by_value(Counter(right) - Counter(found)), (
                f"{topic}/{partition}"
            )
        assert _results(world, topic) > before[topic] > 0
    found = [
        one
        for partition in range(PARTITIONS)
        for one in undated(world.read(TOPICS.complex_events, partition, committed_only=True))
    ]
    assert any(b'"venue":"X"' in body and b"9007199254740993" in body for body in found) is grows


def by_value(bodies: Counter[bytes]) -> list[bytes]:
    """Results with their numbers as they are written since 0.2.0: whole ones as digits."""
    return sorted(orjson.dumps(json.loads(body, parse_float=number_of_text)) for body in bodies.elements())


def _feed(world: World, corpus: Path, *, grows: bool) -> None:
    """The corpus's quotes again, a week later, and more trades; then the end of each stream."""
    producer = MemoryLog(world.broker).producer()
    quotes = [record for record in read_records(corpus) if record.topic == TOPICS.events]
    for number, record in enumerate(quotes):
        if (later := _later(record, _NEW[number % len(_NEW)] if grows else {})) is not None:
            producer.send(record.topic, record.partition, later, key=record.key, timestamp=world.now)
    for index, value in enumerate(trades(800, 900)):
        producer.send(PREFIX + "trades", index % PARTITIONS, value, timestamp=world.now)
    end = orjson.dumps({"type": "$watermark", "ts": 1_160_000_000_000, "end": True})
    for topic in (TOPICS.events, PREFIX + "trades"):
        for partition in range(PARTITIONS):
            producer.send(topic, partition, end, timestamp=world.now)
    producer.flush(1)


_NEW: list[dict[str, Any]] = [
    {},
    {"venue": "X"},
    {"price": 2**53 + 1},
    {"type": "Split", "ratio": 1.5},
    {"venue": None, "volume": 2**60 + 1},
    {"price": 77},
    {},
]


def _later(record: Record, more: Mapping[str, Any]) -> bytes | None:
    try:
        event: dict[str, Any] = orjson.loads(record.value or b"")
        return orjson.dumps({**event, **more, "ts": event["ts"] + 7 * 86_400_000})
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None  # no event: the corpus has some


def _results(world: World, topic: str) -> int:
    return sum(len(world.read(topic, partition, committed_only=True)) for partition in range(PARTITIONS))


def _at_rest(world: World) -> bool:
    """Everything is applied, and the end of every partition has gone all the way."""
    places = [TopicPartition(TOPICS.admitted_of(stream), one) for stream in STREAMS for one in range(PARTITIONS)]
    for where in places:
        for group in ("matcher", "greta"):
            committed = world.broker.offsets.get((PREFIX + group, where))
            if committed is None or committed.offset < world.broker.partition(where).high:
                return False
    return all(any(block.end for block in world.blocks(where.topic, where.partition)) for where in places)
