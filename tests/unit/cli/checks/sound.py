"""A look at a sound system, for tests that spoil one thing of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from saffron.cli.checks.cluster.look import Digest, Look
from saffron.cli.finding import OK, Finding
from saffron.cli.queries.standing import ListedQuery
from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.log import Record
from saffron.runtime.log.inspect import PartitionFacts, TopicFacts
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.topics import topic_files, topic_specs
from saffron.runtime.process.config import Settings

NOW = 1_700_000_000_000
PARTITIONS = 3
SERVICES = ("windowing", "shedder", "matcher", "greta")
SETTINGS = Settings(bootstrap="kafka:9092", replication=3)
EVERYTHING = frozenset({"READ", "WRITE", "DESCRIBE"})
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"type": {"const": "Quote"}, "symbol": {"type": "string"}, "price": {"type": "number"}},
    "required": ["type", "symbol", "price"],
}
TEXT = "PATTERN SEQ(Quote a, Quote b) WHERE [symbol] AND a.price > b.price WITHIN 1 hour"


def bad(findings: Iterator[Finding]) -> list[Finding]:
    """Those that are not well."""
    return [one for one in findings if one.state != OK]


def topics() -> dict[str, TopicFacts]:
    one = PartitionFacts(1, (1, 2, 3), (1, 2, 3))
    return {
        spec.name: TopicFacts((one,) * spec.partitions, {**spec.config, "min.insync.replicas": "2"}, EVERYTHING)
        for spec in topic_specs(SETTINGS.prefix, PARTITIONS)
    }


def digests(service: str, partition: int, **fields: Any) -> list[Digest]:
    """A minute of one partition of a service: idle, unless `fields` say otherwise."""
    return [
        Digest(**{
            "service": service, "stream": "events", "partition": partition, "at": at, "interval_ms": 1000,
            "events": 0, "lag": 0, "stamped": at + 3, **fields,
        })
        for at in range(NOW - 60_000, NOW, 1000)
    ]  # fmt: skip


def event(
    key: bytes | None, *, partition: int | None = None, at: int = NOW - 500, value: bytes | None = b"{}"
) -> Record:
    place = partition_of(key or b"", PARTITIONS) if partition is None else partition
    return Record("saffron.events", place, 0, at, key, value)


def letter(reason: str, number: int = 0, at: int = NOW - 1000) -> Letter:
    return Letter("saffron.events", 0, number, at, reason, f"detail of {reason}", b"{}", at)


def query(text: str = TEXT, state: str = "active", reason: str | None = None, shed: str = "auto") -> ListedQuery:
    record = QueryRecord("q", 1, "add", text, shed=shed)
    return ListedQuery(record, (QueryStatus("q", 1, "windowing", "events", 0, state, reason, 0),))


def stream(**fields: Any) -> StreamRecord:
    return StreamRecord(**{"name": "events", "topic": "saffron.events", "key": "symbol", "schema": SCHEMA, **fields})


def sound() -> Look:
    files = topic_files()
    return Look(
        settings=SETTINGS,
        now=NOW,
        brokers=3,
        names=frozenset(topics()),
        topics=topics(),
        wanted={name: files[name.removeprefix(SETTINGS.prefix)] for name in topics()},
        streams={"events": stream()},
        queries={"q": query()},
        events={"events": tuple(event(orjson.dumps(number)) for number in range(50))},
        digests=tuple(one for name in SERVICES for place in range(PARTITIONS) for one in digests(name, place)),
    )
