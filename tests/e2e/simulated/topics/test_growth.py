"""A stream whose events bring new types, attributes and kinds of numbers, under faults: nothing is lost, and all
partitions come to one schema."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.growth import grown, joined, knows
from saffron.engine.events.schema_record import schema_from_record
from saffron.records.table import Applied, version_table
from saffron.runtime.log.topics import stream_topics, topic_specs
from saffron.runtime.streams.schema_versions import SchemaVersions
from saffron.schema.schema import Schema
from tests.e2e.simulated.system import (
    FALLS,
    RALLY,
    SYMBOLS,
    TOPICS,
    Source,
    at_rest,
    check,
    close,
    make_system,
    makers,
    settings,
)
from tests.e2e.simulated.topics.living import Living
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.world import NO_CHAOS, World

PARTITIONS = 2
SPLITS = """PATTERN SEQ(Stock a, Split s) WHERE skip-till-any-match { [symbol] AND s.ratio > 1 AND a.volume >= 0 }
WITHIN 6 seconds RETURN a.volume AS volume, s.ratio AS ratio, s.by AS by"""

NEWS: list[dict[str, Any]] = [{}, {"x": 1}, {"x": 2, "y": "b"}]
"""What the first, second and third event have, besides type and time."""


class Growing(Source):
    """Rarely an attribute, a type or a kind of number that has not been there before."""

    def events(self, count: int) -> None:
        producer = MemoryLog(self.world.broker).producer()
        for _ in range(count):
            self._ts += self.draw.randrange(400)
            symbol = self.draw.choice(SYMBOLS)
            event: dict[str, Any] = {"type": "Stock", "ts": self._ts, "symbol": symbol, "price": self.draw.randrange(9)}
            if self.draw.random() < 0.2:
                event |= {"type": "Split", "ratio": self.draw.choice([2, 3, 1.5]), "by": self.draw.choice(["a", None])}
                del event["price"]
            elif self.draw.random() < 0.2:
                event |= {
                    "volume": self.draw.choice([1, 2**53 + 1, None]),
                    "sector": self.draw.choice(["tech", "food"]),
                }
            if self.draw.random() < 0.1:
                event["price"] = self.draw.choice([9.5, 10, None])
            where = self.draw.randrange(self.partitions)
            value = orjson.dumps(event)
            producer.send(TOPICS.events, where, value, key=symbol.encode(), timestamp=self.world.now)
        producer.flush(1)


def live(seed: int, directory: Path) -> tuple[World, Counter[str]]:
    world = make_system(seed, directory, partitions=PARTITIONS)
    source = Growing(world, PARTITIONS, random.Random(seed + 1))
    for name, text in (("rally", RALLY), ("falls", FALLS), ("splits", SPLITS)):
        source.query(name, text)
    turns = itertools.count()
    try:
        world.run(400, lambda: source.events(2) if next(turns) % 12 == 0 else None)
        close(world, PARTITIONS)
        world.settle(lambda: at_rest(world, PARTITIONS))
        counts = sum((check(world, partition) for partition in range(PARTITIONS)), Counter[str]())
        for partition in range(PARTITIONS):
            check_values(world, partition)
        check_schema(world)
        check_active(world)
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error
    return world, counts


def bodies(world: World, partition: int) -> list[dict[str, Any]]:
    records = world.read(TOPICS.events, partition, committed_only=False)
    found = [orjson.loads(record.value or b"") for record in records]
    return [one for one in found if one["type"] != "$watermark"]


def check_values(world: World, partition: int) -> None:
    """Every value that was sent stands in a block."""
    found = []
    for block in world.blocks(TOPICS.windows, partition):
        columns = {name: column_values(column) for name, column in block.columns.attributes.items()}
        types, times = column_values(block.columns.type), block.columns.ts.tolist()
        for at, ts in enumerate(times):
            own = {name: values[at] for name, values in columns.items() if values[at] is not None}
            found.append({"type": types[at], "ts": ts, **own})
    sent = [{name: value for name, value in one.items() if value is not None} for one in bodies(world, partition)]
    assert Counter(frozenset(one.items()) for one in found) <= Counter(frozenset(one.items()) for one in sent)
    assert len(found) > len(sent) // 2, "the others are late"


def check_schema(world: World) -> None:
    """The last version that was announced is what all events need, and at or above that of each partition."""
    versions, table = SchemaVersions(), version_table(TOPICS.streams)
    for record in world.read(TOPICS.streams, 0, committed_only=False):
        change = table.apply(record.key, record.value, record.offset)
        if isinstance(change, Applied):
            versions.read(change)
    version = versions.of("events")
    assert version is not None
    needed = Schema({}, {}, {})
    for partition in range(PARTITIONS):
        needed = joined(needed, grown(Schema({}, {}, {}), bodies(world, partition)))
        controls = [control for block in world.blocks(TOPICS.windows, partition) for control in block.controls]
        own = [schema_from_record(one.body["schema"]) for one in controls if one.kind == "schema"]
        assert all(knows(version.schema, one) for one in own)
        assert all(knows(later, earlier) for earlier, later in itertools.pairwise(own))
    assert dict(version.schema.kinds) == dict(needed.kinds)
    assert {name: set(own) for name, own in version.schema.types.items()} == {
        name: set(own) for name, own in needed.types.items()
    }


def check_active(world: World) -> None:
    """No query is rejected, and none waits any more."""
    last = {
        record.key: orjson.loads(record.value or b"null")
        for record in world.read(TOPICS.query_status, 0, committed_only=False)
    }
    states = {one["state"] for one in last.values() if one["service"] == "windowing"}
    assert states == {"active"}


def test_a_schema_that_grows_loses_nothing_whatever_dies(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    for seed in range(6):
        _, counts = live(seed, tmp_path / str(seed))
        total += counts
    assert total[TOPICS.complex_events] > 50
    assert total[TOPICS.trends] > 10


@pytest.mark.parametrize("had", [(), ("C",)])
@pytest.mark.parametrize("how", ["there", "anew"])
def test_a_given_schema_is_in_force_with_what_events_of_all_partitions_had(
    tmp_path: Path, had: tuple[str, ...], how: str
) -> None:
    """A partition that had no event, or only others, has room for `x` all the same; and so has one that is added."""
    living = Living(tmp_path)
    living.make_topic("t.grow", 2)
    living.world.topics(*stream_topics("t.", "grow", 2))
    living.stream("grow", "t.grow", schema=None)
    living.query("grow", "FROM grow PATTERN SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 1 hour RETURN a.k AS k")

    def send(partition: int, key: str, *types: str) -> None:
        for x, kind in enumerate(types):
            living.world.now += 1
            event = {"type": kind, "k": key, **({"x": x} if kind != "C" else {})}
            living.producer.send("t.grow", partition, orjson.dumps(event), timestamp=living.world.now)
        living.producer.flush(1)
        living.settle(300)

    send(0, "first", "A", "B")
    send(1, "other", *had)
    given = {"type": "object", "properties": {"type": {"enum": ["A", "B", "C"]}, "k": {"type": "string"}}}
    if how == "anew":
        living.away("windowing", "dead")
    living.stream("grow", "t.grow", schema=given)
    if how == "anew":
        living.back("windowing")
        living.broker.add_partitions("t.grow", 3)
    living.settle(300)
    for partition in range(len(living.broker.topics["t.grow"])):
        send(partition, f"later {partition}", "A", "B", "C")
    assert sorted(set(living.pairs("grow")) - {"first"}) == [f"later {one}" for one in range(2 + (how == "anew"))]
    last = {
        one.key: orjson.loads(one.value or b"")
        for one in living.world.read(TOPICS.query_status, 0, committed_only=False)
    }
    assert {one["state"] for one in last.values() if (one["name"], one["service"]) == ("grow", "windowing")} == {
        "active"
    }


@pytest.mark.parametrize("members", [1, 2])
def test_a_version_that_many_partitions_need_is_announced_once(tmp_path: Path, members: int) -> None:
    announced: list[int] = []
    for seed in range(4):
        world = World(seed, tmp_path / str(seed), NO_CHAOS)
        world.topics(*topic_specs("t.", 3))
        make = makers(replace(settings(tmp_path / str(seed), 3), disorder_ms=0))["windowing"]
        for member in range(members):
            world.add(f"windowing-{member}", make)
        producer = MemoryLog(world.broker).producer()
        world.run(300)
        for number, more in enumerate(NEWS):
            for partition in range(3):
                event = {"type": "A", "ts": 1_000 + number} | more
                producer.send(TOPICS.events, partition, orjson.dumps(event), timestamp=world.now)
            producer.flush(1)
            world.run(3_000)
        versions = [one for one in world.read(TOPICS.streams, 0, committed_only=False) if one.key == b"events/schema"]
        announced.append(len(versions))
        for partition in range(3):
            assert sum(len(block.columns) for block in world.blocks(TOPICS.windows, partition)) == 3
    assert announced == [3] * len(announced)
