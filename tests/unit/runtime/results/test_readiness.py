"""When `matcher` and `greta` say that they are ready for a query: for which partition, version and schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson
import pytest

from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.records.status import QueryStatus
from saffron.runtime.kernels.warm import Request, Warmed
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.results.readiness import QueryRegistration, Readiness
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.streams.statuses import Statuses
from saffron.schema.schema import Kind, Schema
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")
MATCH = "PATTERN SEQ(A a, A b) WITHIN 1 second"
OTHER = "PATTERN SEQ(A a, A b) WITHIN 2 seconds"


def schema(*names: str) -> dict[str, Any]:
    return schema_to_record(Schema(dict.fromkeys(names, Kind.INT), {"A": names}, {"A": frozenset()}))


X, XY = schema("x"), schema("x", "y")


class Slow:
    """Compiles what `finish` names."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.prepared = False
        self._done: list[Warmed] = []

    def prepare(self) -> None:
        self.prepared = True

    def ask(self, request: Request) -> None:
        self.asked.append(request)

    def finish(self, index: int) -> None:
        self._done.append(Warmed(self.asked[index]))

    def fail(self, index: int, failure: str) -> None:
        self._done.append(Warmed(self.asked[index], failure))

    def step(self) -> list[Warmed]:
        done, self._done = self._done, []
        return done

    def close(self) -> None: ...


@dataclass
class Partition:
    """What is seen of a chain."""

    schema: Mapping[str, Any] | None = None
    operator: object | None = object()
    replaying: bool = False


class Bench:
    """A matcher's readiness on an in-memory log, with partitions 0 and 1 assigned."""

    def __init__(self) -> None:
        broker = self.broker = MemoryBroker(lambda: 0)
        for spec in topic_specs("t.", 2):
            broker.create(TopicSpec(spec.name, spec.partitions, {}))
        log = MemoryLog(broker)
        self.producer = log.producer()
        self.warming = Slow()
        self.given: set[str] = set()
        self.refused: dict[str, str] = {}
        self.beside: dict[str, set[str]] = {}
        self.partitions = {0: Partition(), 1: Partition()}
        statuses = Statuses(self.producer, TOPICS)
        self.readiness = Readiness(
            log,
            TOPICS,
            "matcher",
            "module:Class",
            self.warming,
            statuses,
            trends=False,
            has_schema=lambda stream: stream in self.given,
            prepare=self._prepare,
            report=lambda unreadable: None,
        )

    def _prepare(self, query: QueryRegistration, topic: str, beside: Mapping[str, str]) -> str:
        self.beside[query.name] = set(beside)
        return self.refused.get(topic, "")

    def query(
        self, version: int, text: str | None = MATCH, op: str = "add", shed: str = "auto", name: str = "m"
    ) -> None:
        body = {"name": name, "version": version, "op": op, "text": text, "from": "now", "shed": shed}
        self.producer.send(TOPICS.queries, 0, None if text is None else orjson.dumps(body), key=name.encode())

    def announce(self, partition: int, record: Mapping[str, Any], version: int = 1) -> None:
        status = QueryStatus("m", version, "windowing", "events", partition, "waiting", "for it", None, record)
        Statuses(self.producer, TOPICS).report(status)

    def said(self) -> list[tuple[int, int, str | None]]:
        """(partition, version, schema) of each "ready" since the last call."""
        before = self.words()
        chains = {("events", partition): cast("ResultChain", one) for partition, one in self.partitions.items()}
        self.readiness.step(chains)
        new = [orjson.loads(value or b"") for value in self.words()[len(before) :]]
        return [(one["partition"], one["version"], one.get("schema_id")) for one in new if one["state"] == "ready"]

    def words(self) -> list[bytes | None]:
        where = TopicPartition(TOPICS.query_status, 0)
        return [record.value for record in self.broker.partition(where).read(0, 1000, False)[0]]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_without_a_schema_it_is_ready_as_soon_as_the_chain_has_caught_up(bench: Bench) -> None:
    assert not bench.warming.prepared, "there is no query"
    bench.query(1)
    bench.partitions[1].replaying = True
    assert bench.said() == [(0, 1, None)]
    assert bench.warming.prepared
    bench.partitions[1].replaying = False
    assert bench.said() == [(1, 1, None)]
    assert bench.warming.asked == []


def test_where_a_schema_was_given_it_is_waited_for(bench: Bench) -> None:
    bench.given.add("events")
    bench.query(1)
    assert bench.said() == []
    bench.partitions[0].schema = X
    assert bench.said() == []
    bench.warming.finish(0)
    assert bench.said() == [(0, 1, fingerprint(X))]


def test_what_windowing_has_inferred_is_compiled_for_before_it_is_in_force(bench: Bench) -> None:
    bench.query(1)
    bench.said()
    bench.announce(0, X)
    assert bench.said() == []
    bench.warming.finish(0)
    assert bench.said() == [(0, 1, fingerprint(X))]
    bench.partitions[0].schema = X
    assert bench.said() == [], "nothing new"


def test_partitions_with_different_schemas_are_compiled_for_each(bench: Bench) -> None:
    bench.query(1)
    bench.said()
    bench.announce(0, X)
    bench.announce(1, XY)
    bench.said()
    assert [request.schema for request in bench.warming.asked] == [X, XY]
    bench.warming.finish(1)
    assert bench.said() == [(1, 1, fingerprint(XY))]
    bench.warming.finish(0)
    assert bench.said() == [(0, 1, fingerprint(X))]


def test_an_announcement_for_another_version_is_not_compiled_for(bench: Bench) -> None:
    bench.query(2)
    bench.announce(0, X, version=1)
    assert bench.said() == [(0, 2, None), (1, 2, None)]
    assert bench.warming.asked == []


def test_nothing_is_taken_back_while_the_schema_is_on_its_way_from_windowing(bench: Bench) -> None:
    bench.query(1)
    bench.said()
    bench.announce(0, X)
    bench.said()
    bench.warming.finish(0)
    Statuses(bench.producer, TOPICS).report(QueryStatus("m", 1, "windowing", "events", 0, "active"))
    assert bench.said() == [(0, 1, fingerprint(X))]
    assert bench.said() == []


def test_the_same_text_is_compiled_once_and_another_anew(bench: Bench) -> None:
    bench.partitions = {0: Partition(X)}
    bench.query(1)
    bench.said()
    bench.query(2, op="pause")
    assert bench.said() == []
    bench.warming.finish(0)
    assert bench.said() == [(0, 2, fingerprint(X))], "what was asked for the first version will do"
    bench.query(3, OTHER)
    assert bench.said() == []
    assert [(request.version, request.text) for request in bench.warming.asked] == [(1, MATCH), (3, OTHER)]
    bench.query(4, OTHER, shed="none")
    assert bench.said() == []
    assert bench.warming.asked[-1].shed == "none", "it may run in another way"
    bench.query(5, None)
    bench.warming.finish(1)
    assert bench.said() == [], "it is gone"


def test_a_partition_that_comes_back_is_spoken_for_again(bench: Bench) -> None:
    bench.query(1)
    assert len(bench.said()) == 2
    kept = bench.partitions.pop(1)
    assert bench.said() == []
    bench.partitions[1] = kept
    assert bench.said() == [(1, 1, None)]


def test_aggregate_queries_and_nonsense_are_not_the_matchers(bench: Bench) -> None:
    bench.query(1, "PATTERN A+ X WITHIN 1 second RETURN COUNT(*)")
    assert bench.said() == []
    bench.query(2, "PATTERN SEQ(")
    for topic in (TOPICS.queries, TOPICS.query_status):
        for value in (b"[not json", b"7", b'{"service": "windowing", "partition": 0}', None):
            bench.producer.send(topic, 0, value, key=b"odd")
    assert bench.said() == []


def test_a_query_whose_topic_cannot_be_written_fails_with_the_reason(bench: Bench) -> None:
    bench.refused["alerts"] = "there is no right"
    bench.query(1, f"{MATCH} PUBLISH 'alerts'")
    assert bench.said() == []
    words = [orjson.loads(word or b"") for word in bench.words()]
    assert [(one["state"], one["reason"]) for one in words] == [("failed", "there is no right")] * 2
    bench.said()
    assert len(bench.words()) == 2, "it is said once"
    bench.refused.clear()
    bench.query(2, f"{MATCH} PUBLISH 'alerts'")
    assert bench.said() == [(0, 2, None), (1, 2, None)]


def test_a_topic_is_made_ready_beside_the_queries_that_write(bench: Bench) -> None:
    bench.refused["closed"] = "there is no right"
    for name, topic in (("a", "open"), ("b", "closed"), ("c", "open")):
        bench.query(1, f"{MATCH} PUBLISH '{topic}'", name=name)
    bench.said()
    bench.query(2, f"{MATCH} PUBLISH 'open'", name="b")
    bench.said()
    assert bench.beside == {"a": set(), "b": {"a", "c"}, "c": {"a"}}
    bench.query(1, None, name="a")
    bench.query(1, f"{MATCH} PUBLISH 'open'", name="d")
    bench.said()
    assert bench.beside["d"] == {"b", "c"}
