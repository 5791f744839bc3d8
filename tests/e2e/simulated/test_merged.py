"""A stream split into topics and merged by a definition: services and `replay --stream` give the same bytes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.tables.query_lookups import for_queries
from saffron.records.query import ADD, QueryRecord
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import stream_topics, topic_files, topic_specs
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.merged_stream import InnerFiles, MergedFiles
from saffron.runtime.replay.replay import Replay
from saffron.schema.schema import Kind
from saffron.schema.table_names import Lookup
from saffron.windowing import lookup_wait
from tests.e2e.simulated.system import TOPICS, makers, settings, undated
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import World

NAME, TOPIC, PARTITIONS = "all", "t.all", 2
COUNTS = {"one": 2, "two": 1, "three": 1}
END = 10_000_000
KEYS = "tuvwxyz"
DEFINITION = "stream: all\nkey: k\nsources:\n" + "".join(
    f"- topic: {topic}\n  type: {{field: kind}}\n  ts: {{field: at, format: epoch_ms}}\n  envelope: array\n"
    for topic in COUNTS
)
QUERIES = {
    "rise": """FROM all PATTERN SEQ(A a, A+ b[], B c) WHERE skip-till-next-match { [k] AND b[i].x > a.x }
        WITHIN 3 seconds""",
    "sums": "FROM all PATTERN A S+ WHERE [k] AND S.x > NEXT(S).x WITHIN 2 seconds SLIDE 1 second RETURN COUNT(*)",
    "absent": "FROM all PATTERN SEQ(B a, NOT A b) WHERE [k] WITHIN 1 second",
}

DRAWN = 300
"""Events, each with its number `n`."""
Place = tuple[str, int]
Lanes = dict[Place, list[list[dict[str, Any]]]]
"""By source partition its messages, each an array of events."""


def drawn(seed: int) -> Lanes:
    """Events in order of time, of which many have one ts, dealt to source partitions."""
    draw = random.Random(seed)
    lanes: Lanes = {(topic, part): [] for topic, count in COUNTS.items() for part in range(count)}
    ts = 1_000_000
    for number in range(DRAWN):
        ts += draw.choice((0, 0, 1, 200))
        lane = lanes[draw.choice(list(lanes))]
        event = {"kind": draw.choice("AAB"), "at": ts, "k": draw.choice(KEYS), "x": draw.randrange(9), "n": number}
        if lane and draw.random() < 0.3:
            lane[-1].append(event)
        else:
            lane.append([event])
    for lane in lanes.values():
        lane += [[{"kind": "Z", "at": END, "k": k}] for k in KEYS]
    return lanes


IN_TABLE = """FROM all PATTERN SEQ(A a, B b)
    WHERE skip-till-next-match { [k] AND a.k IN tiers AND NOT b.x IN ranks } WITHIN 2 seconds"""
"""A query that looks up in tables; others show nothing of it."""


class System:
    """All services, the topics of the sources, and the stream that merges them."""

    def __init__(
        self, seed: int, directory: Path, definition: str = DEFINITION, asked: Mapping[str, str] = QUERIES
    ) -> None:
        self.world = world = World(seed, directory / "snapshots")
        world.topics(*topic_specs("t.", PARTITIONS), topic_files()["events"].spec(TOPIC, PARTITIONS))
        world.topics(*stream_topics("t.", NAME, PARTITIONS), *(TopicSpec(topic, n, {}) for topic, n in COUNTS.items()))
        chosen = replace(settings(directory, PARTITIONS), disorder_ms=0)
        for name, make in makers(chosen, background=SomeTime(world.random)).items():
            world.add(name, make)
        self.producer = MemoryLog(world.broker).producer()
        applied = AppliedDefinition(definition, {topic: number for number, topic in enumerate(COUNTS)}, 1)
        record = StreamRecord(NAME, TOPIC, "k", definition=applied)
        self.producer.send(TOPICS.streams, 0, record.encode(), key=NAME.encode())
        for name, text in asked.items():
            self.query(name, text)

    def live(self, seed: int, lanes: Lanes) -> None:
        """Sends the messages in an order by chance, under faults, until all are through."""
        order = [place for place, lane in lanes.items() for _ in lane]
        random.Random(seed).shuffle(order)
        left = {place: list(lane) for place, lane in lanes.items()}
        self.world.run(len(order), lambda: self._send(order.pop(), left) if order else None)
        while order:
            self._send(order.pop(), left)
        self.world.settle(lambda: _at_rest(self.world))

    def query(self, name: str, text: str) -> None:
        self.producer.send(TOPICS.queries, 0, QueryRecord(name, 1, ADD, text).encode(), key=name.encode())
        self.producer.flush(1)

    def results(self) -> list[list[bytes]]:
        """Those of each partition: first of match queries, then of aggregate queries."""
        topics = TOPICS.complex_events, TOPICS.trends
        return [
            [text for topic in topics for text in undated(self.world.read(topic, one, committed_only=True))]
            for one in range(PARTITIONS)
        ]

    def numbers(self) -> list[int]:
        """The numbers of all events on the stream's own topic."""
        records = [one for part in range(PARTITIONS) for one in self.world.read(TOPIC, part, committed_only=True)]
        bodies = [orjson.loads(record.value or b"") for record in records]
        return [body["n"] for body in bodies if "n" in body]

    def _send(self, place: Place, left: Lanes) -> None:
        self.producer.send(*place, orjson.dumps(left[place].pop(0)), timestamp=END + self.world.now)
        self.producer.flush(1)


def _at_rest(world: World) -> bool:
    for partition in range(PARTITIONS):
        where = TopicPartition(TOPICS.admitted_of(NAME), partition)
        standing = world.blocks(where.topic, partition)
        if not standing or standing[-1].watermark < END:
            return False
        for group in ("t.matcher", "t.greta"):
            committed = world.broker.offsets.get((group, where))
            if committed is None or committed.offset < world.broker.partition(where).high:
                return False
    return True


def by_replay(
    directory: Path, lanes: Lanes, definition: str = DEFINITION, asked: Mapping[str, str] = QUERIES
) -> list[list[bytes]]:
    """The results of each partition by `replay --stream`, over the topics' messages in files."""
    files: dict[str, list[Path]] = {}
    for (topic, partition), lane in sorted(lanes.items()):
        path = directory / f"{topic}-{partition}.ndjson"
        path.write_bytes(b"\n".join(map(orjson.dumps, lane)))
        files.setdefault(topic, []).append(path)
    merged = MergedFiles(for_queries(read_definition(definition), asked.values()), files, PARTITIONS)
    run = Replay(queries(asked), merged=merged, partitions=PARTITIONS)
    found = [text for results in run.results(merged.batches()) for texts in results.json() for text in texts]
    return _parted(found)


def queries(asked: Mapping[str, str] = QUERIES) -> list[Query]:
    return [Query(*one) for one in asked.items()]


def _parted(found: Sequence[bytes]) -> list[list[bytes]]:
    """By partition: first the results of match queries, then those of aggregate queries, as their topics have them."""
    kinds = [one for one in found if b'"query":"sums"' not in one], [one for one in found if b'"query":"sums"' in one]
    return [[text for kind in kinds for text in kind if b'"partition":%d,' % one in text] for one in range(PARTITIONS)]


@pytest.mark.parametrize("seed", range(3))
def test_services_and_replay_give_the_same_bytes(seed: int, tmp_path: Path) -> None:
    lanes = drawn(seed)
    expected = by_replay(tmp_path, lanes)
    assert sum(map(len, expected)) > 50
    system = System(seed, tmp_path)
    system.live(seed, lanes)
    assert system.results() == expected


@pytest.mark.parametrize("seed", range(3))
def test_services_and_replay_give_the_same_bytes_with_a_table_from_a_file(seed: int, tmp_path: Path) -> None:
    rows = tmp_path / "tiers.csv"
    rows.write_text("k,tier,rank\n" + "".join(f"{key},tier {key},{rank}\n" for rank, key in enumerate(KEYS[:4])))
    definition = f"""{DEFINITION}tables:
- {{name: tiers, file: {rows}, key: k}}
add:
  tier: {{table: tiers, key: k, take: tier}}
  rank: {{table: tiers, key: k, take: rank, as: number}}
  is_known: {{table: tiers, key: k}}
"""
    lanes = drawn(seed)
    expected = by_replay(tmp_path, lanes, definition)
    assert any(b'"rank":3' in text and b'"tier":"tier w"' in text for texts in expected for text in texts)
    assert any(b'"is_known":false' in text for texts in expected for text in texts)
    system = System(seed, tmp_path, definition)
    system.live(seed, lanes)
    assert system.results() == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_query_looks_up_in_tables_and_nothing_of_it_shows_in_others(seed: int, tmp_path: Path) -> None:
    (tmp_path / "tiers.csv").write_text("k\n" + "".join(f"{key}\n" for key in KEYS[:4]))
    (tmp_path / "ranks.csv").write_text("rank,name\n1,one\n3,three\n")
    definition = f"""{DEFINITION}tables:
- {{name: tiers, file: {tmp_path / "tiers.csv"}, key: k}}
- {{name: ranks, file: {tmp_path / "ranks.csv"}, key: rank}}
"""
    lanes = drawn(seed)
    others = by_replay(tmp_path, lanes)
    expected = by_replay(tmp_path, lanes, definition, {**QUERIES, "looks": IN_TABLE})
    looks = [orjson.loads(text) for part in expected for text in part if b'"query":"looks"' in text]
    assert len(looks) > 5
    for one in looks:
        assert one["key"]["k"] in KEYS[:4]
        assert one["events"]["b"].get("x") not in (1, 3)
    assert [[text for text in part if b'"query":"looks"' not in text] for part in expected] == others
    system = System(seed, tmp_path, definition, {**QUERIES, "looks": IN_TABLE})
    system.live(seed, lanes)
    assert system.results() == expected


@pytest.mark.parametrize("seed", range(4))
def test_every_event_behind_a_query_is_looked_up_for_it(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup_wait, "HELD_MS", END)
    (tmp_path / "tiers.csv").write_text("k\nu\nv\n")
    system = System(seed, tmp_path, f"{DEFINITION}tables: [{{name: tiers, file: {tmp_path / 'tiers.csv'}, key: k}}]\n")
    lanes = drawn(seed)
    order = [place for _, place in sorted((one[0]["at"], place) for place, lane in lanes.items() for one in lane)][::-1]
    left = {place: list(lane) for place, lane in lanes.items()}

    def each() -> None:
        if order and system.world.random.random() < 0.04:
            system._send(order.pop(), left)

    system.world.run(8 * len(order), each)
    system.world.settle(lambda: len(_spoken(system)) == sum(COUNTS.values()))
    system.query("looks", "FROM all PATTERN A a WHERE skip-till-any-match { a.k NOT IN tiers } WITHIN 1 second")
    system.world.settle(lambda: all(_spoken(system).values()))
    system.world.run(30 * len(order), each)
    system.world.settle(lambda: _at_rest(system.world))
    seen = [_looked_up(system, one) for one in range(PARTITIONS)]
    assert all(each.all() for each in seen)
    assert sum(map(len, seen)) > 50


def _spoken(system: System) -> dict[tuple[int, int], str | None]:
    """By source partition the look-ups that its last watermark names."""
    marks = [orjson.loads(one.value or b"") for one in system.world.read(TOPIC, 0, committed_only=True)]
    return {(one["of"], one["source"]): one.get("lookups") for one in marks if one["type"] == "$watermark"}


def _looked_up(system: System, partition: int) -> NDArray[np.bool_]:
    """For each event behind the query `looks` whether the table was asked."""
    active, found = False, [np.zeros(0, np.bool_)]
    for block in system.world.blocks(TOPICS.windows_of(NAME), partition):
        added = [one.position for one in block.controls if one.kind == "query" and one.body["name"] == "looks"]
        active = active or bool(added)
        if active:
            asked = block.columns.attributes[Lookup("tiers", "k").name].data
            found.append(np.not_equal(asked[block.columns.seq >= max(added, default=0)], Kind.BOOL.null))
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(3))
def test_where_idle_decided_a_replay_of_the_inner_topic_gives_the_same_bytes(seed: int, tmp_path: Path) -> None:
    system = System(seed, tmp_path, DEFINITION.replace("key: k", "key: k\nidle: 20ms"))
    system.live(seed, drawn(seed))
    files = []
    for partition in range(PARTITIONS):
        files.append(tmp_path / f"inner-{partition}.ndjson")
        records = system.world.read(TOPIC, partition, committed_only=True)
        files[-1].write_bytes(b"\n".join(record.value or b"" for record in records))
        assert any(b'"silent":true' in (record.value or b"") for record in records)
    assert sorted(system.numbers()) == list(range(DRAWN)), "each event once"
    inner = InnerFiles(read_definition(DEFINITION), files)
    run = Replay(queries(), merged=inner, partitions=PARTITIONS)
    found = [text for results in run.results(inner.batches()) for texts in results.json() for text in texts]
    assert system.results() == _parted(found)


@pytest.mark.parametrize("seed", range(6))
def test_splitting_a_stream_into_topics_and_merging_it_is_the_identity(seed: int, tmp_path: Path) -> None:
    lanes = drawn(seed)
    numbered = [
        (event["at"], list(COUNTS).index(topic), partition, offset, number, event)
        for (topic, partition), lane in lanes.items()
        for offset, message in enumerate(lane)
        for number, event in enumerate(message)
    ]
    ordered = [event for *_, event in sorted(numbered, key=lambda one: one[:5])]
    alone: list[Told] = []
    for partition in range(PARTITIONS):
        mine = [
            {"type": one["kind"], "ts": one["at"], **one}
            for one in ordered
            if partition_of(one["k"].encode(), PARTITIONS) == partition
        ]
        found = Replay(queries()).results([batch_of_values([orjson.dumps(one) for one in mine])])
        alone += [one for results in found for texts in results.json() for one in told(texts)]
    assert sorted(alone) == sorted(one for texts in by_replay(tmp_path, lanes) for one in told(texts))


Told = tuple[str, str, str]


def told(texts: Sequence[bytes]) -> list[Told]:
    """Queries, times and keys of results, which do not depend on the partition's number."""
    rows = map(orjson.loads, texts)
    return [(one["query"], str(one.get("start", one["window"])), str(one.get("key", one.get("group")))) for one in rows]
