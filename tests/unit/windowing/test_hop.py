"""One chain of windowing: when blocks leave, when queries take effect, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.decoding.infer import INFER_EVENTS
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.operator import WindowingOperator
from saffron.records.status import QueryStatus
from saffron.records.table import Unreadable
from saffron.records.version import VersionRecord
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.streams.schema_versions import Announcements
from saffron.runtime.streams.statuses import Statuses
from saffron.schema.schema import Kind, Schema
from saffron.windowing.control_follower import ControlFollower
from saffron.windowing.hop import BlockLimits, Sinks, WindowingHop
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")
MATCH = "PATTERN SEQ(A a, A b) WITHIN 1 second"
TREND = "PATTERN A+ X WITHIN 1 second RETURN COUNT(*)"
WRONG = "PATTERN SEQ(A a"


@dataclass
class Bench:
    """A control on an in-memory log, and a chain."""

    said: list[tuple[str, int, str]] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    announced: dict[str, str] = field(default_factory=dict)
    unreadable: list[Unreadable] = field(default_factory=list)
    reasons: dict[str, str | None] = field(default_factory=dict)
    places: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.broker = MemoryBroker(lambda: 0)
        for spec in topic_specs("t.", 1):
            self.broker.create(TopicSpec(spec.name, spec.partitions, {}))
        self.log = MemoryLog(self.broker)
        self.producer = self.log.producer()
        self.control = ControlFollower(self.log, TOPICS, self.unreadable.append)
        self.hop = self.chain()

    def chain(self, disorder: int = 0) -> WindowingHop:
        announcements = Announcements(self.producer, TOPICS)
        sinks = Sinks(
            letters=lambda topic, letters: self.letters.extend(letters),
            report_status=self.say,
            announce_schema=lambda schema, now: announcements.need(
                "events", 0, self.control.schemas.of("events"), schema, now
            ),
            report_error=self.happened.append,
        )
        return WindowingHop(
            WindowingOperator(0, "events", disorder_ms=disorder, asks=True),
            self.control,
            BlockLimits(block_events=5, flush_ms=5, poll_records=40, infer_ms=500, compile_ms=1000),
            sinks,
            "events",
        )

    def say(
        self,
        name: str,
        version: int,
        state: str,
        reason: str | None,
        position: int | None,
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        if not self.said or self.said[-1] != (name, version, state):
            self.said.append((name, version, state))
        self.reasons[name] = reason
        self.places[name] = position
        if schema is not None:
            self.announced[name] = fingerprint(schema)

    def query(self, name: str, version: int, text: str | None, op: str = "add") -> None:
        body = None
        if text is not None:
            body = orjson.dumps({"name": name, "version": version, "op": op, "text": text, "from": "now"})
        self.producer.send(TOPICS.queries, 0, body, key=name.encode())
        self.control.step()

    def ready(self, name: str, version: int, service: str, schema_id: str | None = None) -> None:
        status = QueryStatus(name, version, service, "events", 0, "ready", schema_id=schema_id)
        Statuses(self.producer, TOPICS).report(status)
        self.control.step()

    def leave(self, now: int) -> list[Block]:
        """What leaves now, or once the version of the schema that is announced now has been read back."""
        blocks = list(self.hop.emit(now, flush=False))
        self.control.step()
        return blocks or list(self.hop.emit(now, flush=False))

    def controls(self, now: int) -> list[tuple[str, str]]:
        """(op, name) of the query controls of the blocks that leave now."""
        blocks = [*self.leave(now), *self.hop.emit(now + 5, flush=False)]
        return [(c.body["op"], c.body["name"]) for block in blocks for c in block.controls if c.kind == "query"]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def events(first: int, count: int, *extra: bytes) -> RawBatch:
    values = [orjson.dumps({"type": "A", "ts": 1000 + n, "x": n}) for n in range(first, first + count)] + list(extra)
    offsets = np.arange(first, first + len(values), dtype=np.int64)
    return batch_of_values(values, offsets, np.full(len(values), 2000, dtype=np.int64))


def sizes(blocks: list[Block]) -> list[int]:
    return [len(block.columns) for block in blocks]


def test_a_query_takes_effect_once_the_service_that_runs_it_is_ready(bench: Bench) -> None:
    bench.query("m", 1, MATCH)
    bench.query("t", 1, TREND)
    assert bench.controls(0) == []
    bench.ready("m", 1, "greta")
    assert bench.controls(10) == [], "a match query is the matcher's"
    bench.ready("t", 1, "greta")
    assert bench.controls(20) == [("add", "t")]
    bench.ready("m", 1, "matcher")
    assert bench.controls(30) == [("add", "m")]
    assert bench.said == [("t", 1, "active"), ("m", 1, "active")]


def test_readiness_for_an_older_version_does_not_count(bench: Bench) -> None:
    bench.ready("m", 1, "matcher")
    bench.query("m", 2, MATCH)
    assert bench.controls(0) == []


def test_a_query_that_waits_for_long_says_for_whom(bench: Bench) -> None:
    bench.query("m", 1, MATCH)
    for now in (0, 1000, 1999, 2000):
        bench.hop.emit(now, flush=False)
    assert bench.said == [("m", 1, "waiting")]


def test_the_removal_of_a_query_that_was_never_in_force_is_reported_too(bench: Bench) -> None:
    bench.query("waits", 1, MATCH)
    for now in (0, 2000):
        bench.hop.emit(now, flush=False)
    bench.query("fails", 1, MATCH)
    failed = QueryStatus("fails", 1, "matcher", "events", 0, "failed", "no registry")
    Statuses(bench.producer, TOPICS).report(failed)
    bench.control.step()
    assert bench.controls(2001) == []
    assert {name: state for name, _, state in bench.said} == {"waits": "waiting", "fails": "failed"}
    bench.said.clear()
    for name in ("waits", "fails"):
        bench.query(name, 1, None)
    assert bench.controls(2010) == []
    assert bench.said == [("waits", 1, "removed"), ("fails", 1, "removed")]


def test_a_wrong_query_is_rejected_at_once_and_changes_nothing(bench: Bench) -> None:
    bench.query("w", 1, WRONG)
    assert bench.controls(0) == []
    assert bench.said == [("w", 1, "rejected")]


def test_removal_and_pause_wait_for_nobody(bench: Bench) -> None:
    bench.ready("m", 1, "matcher")
    bench.query("m", 1, MATCH)
    assert bench.controls(0) == [("add", "m")]
    bench.ready("m", 2, "matcher")
    bench.query("m", 2, MATCH, "pause")
    assert bench.controls(10) == [("pause", "m")]
    bench.query("m", 3, None)
    assert bench.controls(20) == [("remove", "m")]


def test_a_stream_without_a_schema_waits_a_while_for_events_to_infer_it_from(bench: Bench) -> None:
    bench.hop.take(events(0, 2), 0)
    assert bench.leave(499) == []
    assert sizes(bench.leave(500)) == [2]


def test_an_event_after_a_pause_leaves_at_once_and_others_together_a_little_later(bench: Bench) -> None:
    bench.hop.take(events(0, 2), 0)
    assert bench.hop.due(0) == 5, "held events are looked at again soon"
    assert sizes(bench.leave(500)) == [2]
    assert bench.hop.due(501) is None
    bench.hop.take(events(2, 1), 600)
    assert bench.hop.due(600) == 0
    assert sizes(bench.leave(600)) == [1]
    bench.hop.take(events(3, 1), 601)
    bench.hop.take(events(4, 2), 602)
    assert (bench.leave(604), bench.hop.due(604)) == ([], 1)
    assert sizes(bench.leave(605)) == [3]
    bench.hop.take(events(6, 1), 606)
    assert bench.hop.due(100) == 0, "the clock was set"
    bench.hop.take(events(7, 4), 607)
    assert sizes(bench.leave(607)) == [5], "a full block waits for nothing"


def test_a_full_batch_is_enough_to_infer_from_once_the_rest_of_a_backlog_has_had_its_chance(bench: Bench) -> None:
    bench.hop.take(events(0, 40), 0)
    assert bench.leave(99) == []
    assert sum(sizes(bench.leave(100))) == 40


def test_as_many_events_as_are_looked_at_do_not_wait_at_all(bench: Bench) -> None:
    bench.hop.take(events(0, INFER_EVENTS), 0)
    assert not bench.hop.accepts_input, "no more are read while these are held back"
    assert sum(sizes(bench.leave(0))) == INFER_EVENTS
    assert bench.hop.accepts_input


def test_a_full_block_leaves_at_once(bench: Bench) -> None:
    bench.hop.take(events(0, 1), 0)
    bench.leave(500)
    bench.hop.take(events(1, 5), 600)
    assert sizes(bench.leave(600)) == [5]


def test_a_bad_record_is_a_dead_letter_before_the_block_that_covers_it_leaves(bench: Bench) -> None:
    bench.hop.take(events(0, 2, b"{broken"), 0)
    (block,) = bench.leave(500)
    assert [(letter.offset, letter.value) for letter in bench.letters] == [(2, b"{broken")]
    assert block.input["next_offset"] == 3


def test_a_successor_says_again_what_is_in_force(bench: Bench) -> None:
    bench.ready("m", 1, "matcher")
    bench.query("m", 1, MATCH)
    (block,) = bench.hop.emit(5, flush=True)
    bench.said.clear()
    heir = bench.chain()
    heir.resume(block)
    heir.emit(10, flush=False)
    assert bench.said == [("m", 1, "active")]


@pytest.mark.parametrize("state", ["paused", "failed"])
def test_a_successor_says_from_where_on(bench: Bench, state: str) -> None:
    """A stop has a position of its own on every partition, and after any restart it is still that one."""
    bench.ready("m", 1, "matcher")
    bench.query("m", 1, MATCH)
    blocks = list(bench.hop.emit(5, flush=True))
    bench.hop.take(events(0, 3), 10)
    blocks += bench.leave(600)
    bench.ready("m", 1, "matcher", bench.announced["m"])
    for now in (610, 620, 630):
        blocks += bench.leave(now)
    assert sum(sizes(blocks)) == 3
    if state == "paused":
        bench.ready("m", 2, "matcher", bench.announced["m"])
        bench.query("m", 2, MATCH, "pause")
    else:
        Statuses(bench.producer, TOPICS).report(QueryStatus("m", 1, "matcher", "events", 1, "failed", "why", 9))
        bench.control.step()
    for now in (640, 650):
        blocks += bench.hop.emit(now, flush=True)
    assert (bench.said[-1][2], bench.places.pop("m")) == (state, 3)
    bench.said.clear()
    heir = bench.chain()
    for block in blocks:
        heir.resume(block)
    heir.emit(660, flush=False)
    assert (bench.said[-1][2], bench.places["m"]) == (state, 3)


def test_a_streams_settings_are_taken_over_and_a_schema_that_does_not_go_with_the_one_in_force_is_told(
    bench: Bench,
) -> None:
    body = {"name": "events", "topic": "t.events", "key": None, "schema": None, "disorder": 700, "idle": None}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps(body), key=b"events")
    bench.control.step()
    bench.hop.take(events(0, 2), 0)
    bench.leave(500)
    assert bench.hop.operator.disorder_ms == 700
    schema = {"type": "object", "properties": {"type": {"const": "B"}, "x": {"type": "string"}}}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps({**body, "schema": schema}), key=b"events")
    bench.control.step()
    bench.leave(600)
    assert "'x' is int in the schema in force, and string in the new one" in bench.happened[0]


def test_a_given_schema_that_contradicts_the_events_of_another_partition_is_in_force_on_none(bench: Bench) -> None:
    other = Schema({"x": Kind.INT}, {"B": ("x",)}, {})
    version = VersionRecord("events", 1, schema_to_record(other))
    bench.producer.send(TOPICS.streams, 0, version.encode(), key=version.key.encode())
    schema = {"type": "object", "properties": {"type": {"const": "B"}, "x": {"type": "string"}}}
    body = {"name": "events", "topic": "t.events", "key": None, "schema": schema, "disorder": 700, "idle": None}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps(body), key=b"events")
    bench.control.step()
    bench.leave(600)
    assert "not in force: attribute 'x' is int" in bench.happened[0]
    assert (bench.hop.operator.schema, bench.hop.operator.disorder_ms) == (None, 700), "the rest of the record is"


def test_a_record_that_is_no_query_at_all_is_rejected_not_fatal(bench: Bench) -> None:
    bench.producer.send(TOPICS.queries, 0, b"[not json", key=b"odd")
    bench.control.step()
    assert bench.controls(0) == []
    assert bench.said == []
    assert [(one.key, one.offset) for one in bench.unreadable] == [("odd", 0)]


def test_the_desk_is_ready_when_it_has_read_everything(bench: Bench) -> None:
    bench.ready("m", 1, "matcher")
    control = ControlFollower(bench.log, TOPICS, bench.unreadable.append)
    assert not control.caught_up
    control.step()
    assert control.caught_up


def test_a_forgotten_word_is_no_readiness(bench: Bench) -> None:
    bench.ready("m", 1, "matcher")
    assert bench.control.ready.is_ready("m", 1, "matcher", "events", 0)
    bench.producer.send(TOPICS.query_status, 0, None, key=b"m/matcher/events/0")
    bench.control.step()
    assert not bench.control.ready.is_ready("m", 1, "matcher", "events", 0)


def test_nonsense_on_the_control_topics_is_passed_over(bench: Bench) -> None:
    for topic in (TOPICS.query_status, TOPICS.streams):
        for value in (None, b"[not json", b"7", b'{"state": "ready"}'):
            bench.producer.send(topic, 0, value, key=b"odd")
    bench.control.step()
    assert not bench.control.ready.is_ready("odd", 1, "matcher", "events", 0)
    assert list(bench.control.streams) == ["events"]
    assert {(one.topic, one.key) for one in bench.unreadable} == {("t.query-status", "odd"), ("t.streams", "odd")}


def test_a_version_that_cannot_be_read_is_reported_and_the_one_before_stays(bench: Bench) -> None:
    Announcements(bench.producer, TOPICS).need("events", 0, None, Schema({"x": Kind.INT}, {"A": ("x",)}, {}), 0)
    odd = {"stream": "events", "version": 2, "schema": {"attributes": {"x": "no kind"}}}
    bench.producer.send(TOPICS.streams, 0, orjson.dumps(odd), key=b"events/schema")
    bench.control.step()
    found = bench.control.schemas.of("events")
    assert found is not None
    assert (found.number, dict(found.schema.kinds)) == (1, {"x": Kind.INT})
    (unreadable,) = bench.unreadable
    assert (unreadable.topic, unreadable.key, unreadable.offset) == ("t.streams", "events/schema", 1)
    assert "cannot be read" in unreadable.reason
    assert bench.control.positions == {"queries": 0, "streams": 2}


@pytest.mark.parametrize("setting", [None, 700])
def test_a_disorder_that_changed_is_in_force_behind_what_is_read_again(bench: Bench, setting: int | None) -> None:
    """Records that the owner before has read are late, or not, as they were then."""

    def configure(disorder: int | None) -> None:
        body = {"name": "events", "topic": "t.events", "key": None, "schema": None, "disorder": disorder, "idle": None}
        bench.producer.send(TOPICS.streams, 0, orjson.dumps(body), key=b"events")
        bench.control.step()

    configure(10_000)
    blocks = bench.leave(1)
    times = (100_000, 95_000, 91_000)
    given = batch_of_values([orjson.dumps({"type": "A", "ts": ts}) for ts in times], np.arange(3, dtype=np.int64))
    bench.hop.take(given, 2)
    blocks += bench.leave(600)
    configure(setting)
    later = bench.chain(disorder=700 if setting is None else 0)  # that of the service, where the stream has none
    for block in blocks:
        later.resume(block)
    later.emit(700, flush=False)
    later.take(given, 700)
    later.emit(1400, flush=False)
    assert bench.letters == []
    later.emit(1401, flush=False)
    assert later.operator.disorder_ms == 700
