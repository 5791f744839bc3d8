"""Streams come, change and go under faults: removal ends nobody but its queries, and what is made anew begins anew."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.control.tables import Tables
from saffron.engine.match.match_operator import MatchOperator
from saffron.records.query import ADD, QueryRecord
from saffron.records.status import ACTIVE, FAILED, READY, REJECTED, WAITING
from saffron.records.stream import StreamRecord
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics
from saffron.runtime.streams.generations import compiler_of
from tests.e2e.simulated.system import TOPICS, close, expected, make_system, undated
from tests.memory.memory_log import MemoryLog

PARTITIONS = 2
SEEDS = range(4)
PAIR = "PATTERN SEQ(T a, T b) WHERE [k] AND b.x > a.x WITHIN 1 second"
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**62, 2**63 - 1, 2**63, 1.5, 1e300, "", "x", "a/b", "t.trades", "odd", "\0", [], [1]),
    *({}, {"a": 1}, {"type": "object"}, {"properties": 5}, {"properties": {"type": {"enum": [1]}}}),
)
"""Values of fields of records."""
STATES = (ACTIVE, FAILED, READY, REJECTED, WAITING, "later")
BOTH = {"pair": "active", "own": "active"}
ENDED = {"pair": "ended", "own": "active"}
DEFAULT = StreamRecord("events", TOPICS.events)
TRADES = StreamRecord("trades", "t.trades", "k", disorder=0)


class Life:
    """A system with the stream `trades` beside the default one, and what is done to it."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.world = make_system(seed, directory, partitions=PARTITIONS)
        self.world.broker.create(TopicSpec("t.trades", PARTITIONS, {}))
        self.producer = MemoryLog(self.world.broker).producer()
        self.draw = random.Random(seed)
        self.ts = 1_000_000
        for generation in (1, 2):
            stem = replace(TRADES, generation=generation).stem
            self.world.topics(*stream_topics("t.", stem, PARTITIONS))

    def stream(self, record: StreamRecord | None, key: str = "trades") -> None:
        self.producer.send(TOPICS.streams, 0, None if record is None else record.encode(), key=key.encode())
        self.producer.flush(1)

    def query(self, name: str, text: str) -> None:
        record = QueryRecord(name, 1, ADD, text)
        self.producer.send(TOPICS.queries, 0, record.encode(), key=name.encode())
        self.producer.flush(1)

    def events(self, count: int) -> None:
        for _ in range(count):
            self.ts += self.draw.randrange(1, 60)
            for topic in ("t.trades", TOPICS.events):
                event = {"type": "T", "ts": self.ts, "k": self.draw.choice("ab"), "x": self.draw.randrange(9)}
                where = "ab".index(str(event["k"]))
                self.producer.send(topic, where, orjson.dumps(event), timestamp=self.world.now)
        self.producer.flush(1)

    def odd_record(self) -> None:
        """A record about a stream or query `odd` in which some values, at any depth, are others, or are gone."""
        schema = {"kinds": {"x": "int"}, "types": {"T": ["x"]}, "required": {"T": []}, "closed": False, "given": False}
        definition = {"text": "stream: odd\nsources: [{topic: t.orders}]", "numbers": {"t.orders": 0}, "version": 1}
        stream = {"name": "odd", "topic": "t.odd", "key": "k", "schema": {}, "disorder": 5, "idle": 5, "silence": 9}
        more = {"from": "trades", "format": "json", "registry": "http://r", "generation": 1, "definition": definition}
        query = {"name": "odd", "version": 1, "op": "add", "text": f"{PAIR} FROM trades", "from": "now", "shed": "auto"}
        status = {"name": "odd", "version": 1, "service": "matcher", "stream": "trades", "partition": 0}
        said = {"state": self.draw.choice(STATES), "reason": "x", "position": 3, "schema": schema, "schema_id": "x"}
        topic, key, body = self.draw.choice(
            (
                (TOPICS.streams, "odd", {**stream, **dict(self.draw.sample(sorted(more.items()), 2))}),
                (TOPICS.streams, "odd/schema", {"stream": "odd", "version": 1, "schema": schema}),
                (TOPICS.queries, "odd", query),
                (TOPICS.query_status, f"odd/{self.draw.choice(('matcher', 'windowing'))}/trades/0", {**status, **said}),
            )
        )
        changed = orjson.loads(orjson.dumps({"record": 1, **body}))
        for _ in range(self.draw.choice((1, 1, 2))):
            self.change(changed)
        self.producer.send(topic, 0, json.dumps(changed).encode(), key=key.encode())
        self.producer.flush(1)

    def change(self, body: dict[str, Any]) -> None:
        """One value of a record, at any depth."""
        name = self.draw.choice(sorted(body))
        if isinstance(body[name], dict) and body[name] and self.draw.random() < 0.7:
            self.change(body[name])
        elif self.draw.random() < 0.2 and len(body) > 1:
            del body[name]
        else:
            body[name] = deepcopy(self.draw.choice(ODD))

    def live(self, turns: int) -> None:
        """Events under faults."""
        turn = iter(range(turns))
        self.world.run(turns, lambda: self.events(1 if next(turn) % 3 == 0 else 0))

    def states(self) -> dict[str, str]:
        tables = Tables(TOPICS, 1_000)
        tables.queries.partitions = {"events": PARTITIONS, "trades": PARTITIONS}
        for topic in (TOPICS.queries, TOPICS.query_status):
            for record in self.world.read(topic, 0, committed_only=True):
                tables.apply(topic, record.key, record.value, record.timestamp)
        return {name: tables.queries.view(name)["state"] for name in tables.queries.names()}

    def rest(self, states: Mapping[str, str], record: StreamRecord | None = None) -> None:
        """No more faults, until nothing moves, the queries are in these states, and this stream has been read."""
        self.world.settle(lambda: self.states() == states and (record is None or self.is_read(record)))

    def is_read(self, record: StreamRecord) -> bool:
        """Whether every event of the stream's topic stands in this generation's topics, and is applied."""
        for partition in range(PARTITIONS):
            where = TopicPartition(TOPICS.admitted_of(record.stem), partition)
            for group in ("t.matcher", "t.greta"):
                committed = self.world.broker.offsets.get((group, where))
                if committed is None or committed.offset < self.world.broker.partition(where).high:
                    return False
            sent = len(self.world.read(record.topic, partition, committed_only=False))
            if sum(len(block.columns) + block.end for block in self.world.blocks(where.topic, partition)) < sent:
                return False
        return True

    def results(self, record: StreamRecord, partition: int) -> list[bytes]:
        """What an undisturbed matcher says to what stands in one generation's topic."""
        operator = MatchOperator(partition=partition, stream=record.name, compiler=compiler_of(record))
        return expected(operator, self.world.blocks(TOPICS.admitted_of(record.stem), partition))


@pytest.fixture(params=SEEDS)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Life:
    made = Life(request.param, tmp_path)
    made.stream(TRADES)
    made.query("pair", f"{PAIR} FROM trades")
    made.query("own", PAIR)
    made.live(150)
    made.rest(BOTH, TRADES)
    return made


def test_a_removed_stream_ends_its_queries_and_nothing_else(life: Life) -> None:
    life.stream(None)
    life.live(150)
    life.rest(ENDED)
    before = [life.world.broker.partition(TopicPartition(TOPICS.windows_of("trades"), one)).high for one in range(2)]
    life.live(60)
    life.rest(ENDED)
    after = [life.world.broker.partition(TopicPartition(TOPICS.windows_of("trades"), one)).high for one in range(2)]
    assert after == before, "nobody reads it any more"
    close(life.world, PARTITIONS)
    life.rest(ENDED, DEFAULT)
    for partition in range(PARTITIONS):
        found = undated(life.world.read(TOPICS.complex_events, partition, committed_only=True))
        right = [*life.results(TRADES, partition), *life.results(DEFAULT, partition)]
        assert set(found) <= set(right)
        own = [one for one in right if b'"query":"own"' in one]
        assert [one for one in found if b'"query":"own"' in one] == own, "the other query has all its results, in order"
        assert own


def test_a_stream_made_anew_begins_anew(life: Life) -> None:
    again = replace(TRADES, generation=2)
    life.stream(None)
    if life.draw.random() < 0.5:
        life.live(60)
    life.stream(again)
    life.live(200)
    life.rest(BOTH, again)
    life.live(60)
    end = orjson.dumps({"type": "$watermark", "ts": 2**52, "end": True})
    for partition in range(PARTITIONS):
        life.producer.send("t.trades", partition, end, timestamp=2**52)
    life.producer.flush(1)
    close(life.world, PARTITIONS)
    life.rest(BOTH, again)
    total = 0
    for partition in range(PARTITIONS):
        records = life.world.read(TOPICS.complex_events, partition, committed_only=True)
        ids = [orjson.loads(record.value or b"")["id"] for record in records]
        assert len(set(ids)) == len(ids), "no id comes again, though sequence numbers do"
        anew = life.results(again, partition)
        assert [one for one in undated(records) if one in set(anew)] == anew
        total += len(anew)
    assert total > 0


def test_a_bound_that_is_changed_leaves_the_answers(life: Life) -> None:
    life.stream(replace(TRADES, idle=50))
    life.live(100)
    life.rest(BOTH, TRADES)
    close(life.world, PARTITIONS)
    life.rest(BOTH, TRADES)
    for partition in range(PARTITIONS):
        found = undated(life.world.read(TOPICS.complex_events, partition, committed_only=True))
        assert sorted(one for one in found if b'"query":"pair"' in one) == sorted(life.results(TRADES, partition))


def test_an_odd_record_ends_nobody(life: Life) -> None:
    """As those of a later version, or of another program, may be."""
    for _ in range(40):
        life.odd_record()
        life.live(4)
    life.query("late", f"{PAIR} FROM trades")
    life.live(60)
    right = {**BOTH, "late": "active"}
    life.world.settle(lambda: life.states() | {"odd": ""} == right | {"odd": ""} and life.is_read(TRADES))
    assert not [one for one in life.world.history if "cannot be read" in one]


def test_a_record_that_cannot_be_read_ends_nobody(life: Life) -> None:
    for topic in (TOPICS.streams, TOPICS.queries, TOPICS.query_status):
        for value in (b"{broken", b"[]", b'{"record": 9}', b'{"topic": 7}', b"\xff"):
            life.producer.send(topic, 0, value, key=b"trades")
    life.live(100)
    life.rest(BOTH)
