"""All four services on the in-memory log, as processes of a `World`, and what their results must be."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import orjson

from saffron.engine.events.block import Block
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.addresses import Address
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.engine.windows.operator import WindowingOperator
from saffron.greta.main import GRETA
from saffron.language.plan.row import Row
from saffron.matcher.main import MATCHER
from saffron.runtime.kernels.warm import Request, Warmed
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.background import Background, at_once
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.reading import result_json
from saffron.runtime.result_formats.rows import avro_schema, values_of
from saffron.runtime.results.result_service import ResultService, ServiceKind
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from saffron.shedder.service import ShedderService
from saffron.windowing.service import WindowingService
from tests.memory.memory_log import MemoryLog, raw_batch
from tests.unit.runtime.some_time import SomeTime
from tests.unit.runtime.world import Make, Service, World

TOPICS = Topics("t.")
DISORDER = 1_000
RESULT_BYTES = 440
"""Some results are larger; a test that wants some sets it."""
SYMBOLS = ("IBM", "KO", "XOM")

RALLY = """PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip-till-next-match { [symbol] AND a[i].price > avg(a[..i-1].price) AND b.price < a[last].price }
WITHIN 4 seconds RETURN a[1].symbol, count(a[])"""
ANY = """PATTERN SEQ(Stock a, Stock b, Stock c)
WHERE skip-till-any-match { [symbol] AND a.price < b.price AND b.price < c.price } WITHIN 6 seconds"""
FALLS = """PATTERN Stock S+ WHERE [symbol] AND S.price > NEXT(S).price
GROUP BY sector WITHIN 4 seconds SLIDE 2 seconds RETURN sector, COUNT(*)"""
WRONG = "PATTERN SEQ(Stock a, Stock b) WHERE NOT a.price WITHIN 1 second"


class AtOnce:
    """Compiles nothing ahead: in this process the kernels are compiled once and kept."""

    def __init__(self, kernels: Path) -> None:
        del kernels
        self._asked: list[Request] = []

    def prepare(self) -> None:
        pass

    def ask(self, request: Request) -> None:
        self._asked.append(request)

    def step(self) -> list[Warmed]:
        asked, self._asked = self._asked, []
        return [Warmed(one) for one in asked]

    def close(self) -> None: ...


def settings(directory: Path, partitions: int) -> Settings:
    return replace(
        Settings(),
        data=directory,
        snapshots=directory / "snapshots",
        bootstrap="memory",
        prefix="t.",
        partitions=partitions,
        commit_ms=10,
        flush_ms=5,
        block_events=16,
        poll_records=20,
        snapshot_ms=80,
        checkpoint_events=40,
        session_ms=1_000,
        disorder_ms=DISORDER,
    )


def makers(
    chosen: Settings,
    metrics: Callable[[str], Metrics] = lambda service: Metrics(),
    background: Background = at_once,
) -> dict[str, Make]:
    """How each service is made; `metrics`: those of a service, by its name."""

    def results(kind: ServiceKind) -> Make:
        def make(log: MemoryLog) -> Service:
            parts = log, chosen, metrics(kind.service), Health("test")
            return ResultService(kind, *parts, warm=AtOnce, background=background)

        return make

    return {
        "windowing": lambda log: WindowingService(
            log, chosen, metrics("windowing"), Health("test"), background=background
        ),
        "shedder": lambda log: ShedderService(log, chosen, metrics("shedder"), Health("test")),
        "matcher": results(MATCHER),
        "greta": results(GRETA),
    }


@dataclass
class Source:
    """Produces events, queries, orders and models by a seeded generator."""

    world: World
    partitions: int
    draw: random.Random

    def __post_init__(self) -> None:
        self._producer = MemoryLog(self.world.broker).producer()
        self._versions: dict[str, int] = {}
        self._ts = 1_000_000

    def events(self, count: int) -> None:
        """Some out of order within the bound, a few bad, a few late."""
        for _ in range(count):
            self._ts += self.draw.randrange(400)
            late = self.draw.choice((0, 0, 0, 0, 300, 900, 900, 3_000))
            symbol = self.draw.choice(SYMBOLS)
            event = {
                "type": "Stock",
                "ts": self._ts - late,
                "symbol": symbol,
                "sector": "tech" if symbol == "IBM" else "food",
                "price": self.draw.choice([9.0, 10.0, 10.5, 11.0, 12.0]),
            }
            value = orjson.dumps(event) if self.draw.random() > 0.03 else b"{broken"
            where = self.draw.randrange(self.partitions)
            self._producer.send(TOPICS.events, where, value, key=symbol.encode(), timestamp=self.world.now)
        self._producer.flush(1)

    def query(self, name: str, text: str | None, op: str = "add", since: str = "now") -> None:
        version = self._versions[name] = self._versions.get(name, 0) + 1
        body = {"name": name, "version": version, "op": op, "text": text, "from": since}
        self._producer.send(TOPICS.queries, 0, None if text is None else orjson.dumps(body), key=name.encode())
        self._producer.flush(1)

    def order(self, name: str, keep: int) -> None:
        """A forced order to the shedder."""
        where = self.draw.randrange(self.partitions)
        body = {"kind": "force", "stream": "events", "partition": where, "query": name, "n": keep}
        self._producer.send(TOPICS.load, 0, orjson.dumps(body), key=b"force/events/%d" % where)
        self._producer.flush(1)

    def change(self) -> None:
        """One of many changes of the standing queries, at whatever moment this is."""
        match self.draw.randrange(8):
            case 0:
                self.query("any", ANY, since=self.draw.choice(("now", "earliest")))
            case 1:
                self.query("any", None)
            case 2:
                self.query("rally", RALLY, op=self.draw.choice(("pause", "resume")))
            case 3:
                self.query("falls", FALLS, since=self.draw.choice(("now", "earliest")))
            case 4:
                self.query("wrong", WRONG)
            case 5:
                self.query("rally", RALLY.replace("4 seconds", f"{self.draw.randrange(1, 6)} seconds"))
            case _:
                self.order(self.draw.choice(("rally", "any")), self.draw.randrange(4))


def make_system(seed: int, directory: Path, *, partitions: int = 2, **changes: Any) -> World:
    """All services, once or twice each. `changes`: of their settings."""
    world = World(seed, directory / "snapshots")
    world.topics(*topic_specs("t.", partitions))
    chosen = replace(settings(directory, partitions), **changes)
    for name, make in makers(chosen, background=SomeTime(world.random)).items():
        for member in range(1 + seed % 2):
            world.add(f"{name}-{member}", make)
    return world


def addressed(operator: ResultOperator, standing: Sequence[Block]) -> list[tuple[bytes, Address | None]]:
    """What an undisturbed operator says to these blocks, and where it goes (PUBLISH)."""
    found: list[tuple[bytes, Address | None]] = []
    for index, block in enumerate(standing):
        results = operator.apply(block, lambda upto=index: iter(standing[: upto + 1]))  # type: ignore[misc]
        addresses = results.addresses(0, len(results))
        found += zip(results.json(0, len(results)), addresses, strict=True)
    return [(body, where) for body, where in found if body]


def expected(operator: ResultOperator, standing: Sequence[Block]) -> list[bytes]:
    """What it says in the topic of all results."""
    return [body for body, where in addressed(operator, standing) if where is None]


def undated(records: Sequence[Record]) -> list[bytes]:
    """Results as JSON, without the time of their detection."""
    return undated_bodies([result_json(record) or b"" for record in records])


def undated_bodies(bodies: Sequence[bytes]) -> list[bytes]:
    return [body[: body.index(b',"detected_at":')] + b"}" for body in bodies]


def check(world: World, partition: int) -> Counter[str]:
    """Everything of a partition stands exactly once, in order; returns the number of results by topic."""
    counts: Counter[str] = Counter()
    too_large = large_results(world, partition)
    windows = world.blocks(TOPICS.windows, partition)
    check_events(world, partition, windows)
    admitted = world.blocks(TOPICS.admitted, partition)
    for topic, service, operator in (
        (TOPICS.complex_events, "matcher", MatchOperator(partition=partition, stream="events")),
        (TOPICS.trends, "greta", TrendOperator(partition=partition, stream="events")),
    ):
        records = world.read(topic, partition, committed_only=True)
        whole = [(orjson.loads(one)["id"], one, where) for one, where in addressed(operator, admitted)]
        found = [(id_, one, where) for id_, one, where in whole if id_ not in too_large]
        assert undated(records) == [one for _, one, where in found if where is None], topic
        counts[topic] += len(records)
        for name in {where.topic for _, _, where in found if where is not None}:
            wanted = [(one, where) for _, one, where in found if where is not None and where.topic == name]
            check_published(world, name, b"/saffron/%s/events/%d" % (service.encode(), partition), wanted)
            counts[name] += len(wanted)
        too_large -= {id_ for id_, _, _ in whole}
        counts[TOPICS.dead_letters] += len(whole) - len(found)
    assert not too_large, "dead letters of results that there are not"
    return counts


def check_published(world: World, topic: str, source: bytes, wanted: Sequence[tuple[bytes, Address]]) -> None:
    """The results of one source in a topic of PUBLISH: each once, in the partition of its key, in order there."""
    count = len(world.broker.topics[topic])
    for partition in range(count):
        records = world.read(topic, partition, committed_only=True)
        mine = [record for record in records if ("ce_source", source) in record.headers]
        here = [
            (body, where)
            for body, where in wanted
            if partition == (int(source.rpartition(b"/")[2]) if where.key is None else partition_of(where.key, count))
        ]
        assert [shown(one, wanted[0][1].row) for one in mine] == [right(*one) for one in here], (topic, partition)
        keys = [orjson.loads(body)["query"].encode() if not where.keyed else where.key for body, where in here]
        assert [record.key for record in mine] == keys


def shown(record: Record, row: Row | None) -> Any:
    """A message of a topic of PUBLISH without the time of its detection: a result's JSON, or the values of a row."""
    value = record.value or b""
    if row is None:
        return undated([record])[0]
    if row.form == "JSON SCHEMA":
        return undetected(orjson.loads(value)["payload"])
    read: Any = fastavro.schemaless_reader(io.BytesIO(value[5:]), json.loads(avro_schema(row)), None)
    return undetected(
        {name: round(one.timestamp() * 1000) if isinstance(one, datetime) else one for name, one in read.items()}
    )


def right(body: bytes, where: Address) -> Any:
    """What such a message should show."""
    if where.row is None:
        return body
    return undetected(values_of(where.row, body[:-1] + b',"detected_at":0}'))


def undetected(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in values.items() if name != "detected_at"}


def large_results(world: World, partition: int) -> set[str]:
    """The ids of results in whose place a dead letter stands, each once."""
    records = world.read(TOPICS.dead_letters, partition, committed_only=True)
    records = [record for record in records if (record.key or b"").startswith(TOPICS.admitted.encode())]
    assert len({record.key for record in records}) == len(records)
    found = [orjson.loads(record.value or b"")["result"] for record in records]
    assert all(one["bytes"] > one["limit"] for one in found)
    ids = {one["id"] for one in found}
    assert len(ids) == len(found)
    return ids


def check_events(world: World, partition: int, windows: Sequence[Block]) -> None:
    """Every event is in one block or is a dead letter, numbered densely in (ts, offset) order."""
    seqs = [seq for block in windows for seq in block.columns.seq.tolist()]
    assert seqs == list(range(len(seqs)))
    letters = {record.key for record in world.read(TOPICS.dead_letters, partition, committed_only=False)}
    letters = {key for key in letters if key is not None and key.startswith(TOPICS.events.encode())}
    records = world.read(TOPICS.events, partition, committed_only=False)
    closing = sum(block.end for block in windows)
    assert len(seqs) + len(letters) + closing == len(records), "every record is an event, a dead letter or the end"
    undisturbed = WindowingOperator(partition, "events", disorder_ms=DISORDER)
    undisturbed.ingest(raw_batch(records))
    ordered = [ts for block in undisturbed.flush() for ts in block.columns.ts.tolist()]
    assert [ts for block in windows for ts in block.columns.ts.tolist()] == ordered
    assert letters == {b"t.events/%d/%d" % (partition, letter.offset) for letter in undisturbed.take_dead_letters()}


def close(world: World, partitions: int) -> None:
    """The end of every partition's stream."""
    producer = MemoryLog(world.broker).producer()
    for partition in range(partitions):
        value = orjson.dumps({"type": "$watermark", "ts": 2**52, "end": True})
        producer.send(TOPICS.events, partition, value, timestamp=2**52)
    producer.flush(1)


def at_rest(world: World, partitions: int) -> bool:
    """Every partition's end has gone all the way."""
    for partition in range(partitions):
        where = TopicPartition(TOPICS.admitted, partition)
        for group in ("t.matcher", "t.greta"):
            committed = world.broker.offsets.get((group, where))
            if committed is None or committed.offset < world.broker.partition(where).high:
                return False
        standing = world.blocks(TOPICS.admitted, partition)
        if not standing or not any(block.end for block in standing):
            return False
    return True
