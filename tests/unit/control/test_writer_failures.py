"""A writer whose write or look fails, a client that sends again, and tables that are fed meanwhile."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from saffron.cli.client import Client
from saffron.cli.streams.present import written as changed
from saffron.control.record_writer import RecordWriter
from saffron.control.streams.change import StreamChange
from saffron.control.streams.stream_changes import plan_change, plan_update
from saffron.control.tables import Tables
from saffron.errors import UnavailableError
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.records.table import query_table, stream_table
from saffron.runtime.log import Record, TopicSpec
from saffron.runtime.log.follower import content
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.control.test_replicas import LONGER, Replica, between
from tests.unit.control.world import TEXT, TOPICS, Ask, written

THEIRS = QueryRecord("rally", 2, "add", LONGER).encode()


@pytest.fixture
def replica() -> Replica:
    found = Replica()
    for name in ("rally", "other"):
        found.ask("POST", "/api/queries", {"text": TEXT.replace("rally", name)})
    return found


@pytest.fixture
def log() -> MemoryLog:
    found = MemoryLog(MemoryBroker(lambda: 0))
    found.create_topics([*topic_specs("p.", 1), TopicSpec("t", 1, {})])
    written(found, TOPICS.streams, b"x", StreamRecord("x", "t", version=1).encode())
    return found


def records(log: MemoryLog, topic: str, key: bytes) -> list[Record]:
    return [record for batch in content(log, topic) for record in batch if record.key == key]


def in_force(log: MemoryLog, topic: str, key: bytes) -> Any:
    """The record that readers have, which compaction leaves, too."""
    found = records(log, topic, key)
    make: Callable[[str], Any] = stream_table if topic == TOPICS.streams else query_table
    live, fresh = make(topic), make(topic)
    for one in found:
        live.apply(one.key, one.value, one.offset)
    fresh.apply(found[-1].key, found[-1].value, found[-1].offset)
    assert live.rows == fresh.rows
    return live.rows.get(key.decode())


def second_look_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look behind the next write does."""
    read, calls = RecordWriter._read, itertools.count()

    def fails(self: RecordWriter, since: Any) -> Any:
        if next(calls) == 1:
            raise UnavailableError("no broker answers")
        return read(self, since)

    monkeypatch.setattr(RecordWriter, "_read", fails)


def asked(replica: Replica, *requests: tuple[str, str], meanwhile: Callable[[], None] = lambda: None) -> list[int]:
    """The statuses of requests to one process. `meanwhile`: what happens behind the first."""
    found: list[int] = []

    async def talk(ask: Ask) -> None:
        for method, path in requests:
            found.append((await ask(method, path, None))[0])
            if len(found) == 1:
                meanwhile()

    replica.run(talk)
    return found


PAUSE, ANOTHER = ("POST", "/api/queries/rally/pause"), ("POST", "/api/queries/other/pause")


def test_a_query_that_was_removed_does_not_come_back(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    between(replica, TOPICS.queries, "rally", THEIRS)
    second_look_fails(monkeypatch)
    assert asked(replica, ("DELETE", "/api/queries/rally"), ANOTHER) == [503, 200]
    assert in_force(replica.log, TOPICS.queries, b"rally") is None


def test_a_write_that_failed_and_arrived_is_looked_at(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    between(replica, TOPICS.queries, "rally", THEIRS)
    send, calls = replica.send, itertools.count()

    async def lost(topic: str, key: bytes, value: bytes | None) -> None:
        await send(topic, key, value)
        if next(calls) == 0:
            raise UnavailableError("no broker answers")

    monkeypatch.setattr(replica, "send", lost)
    assert asked(replica, PAUSE, ANOTHER) == [503, 200]
    assert in_force(replica.log, TOPICS.queries, b"rally").text == LONGER


@pytest.mark.parametrize("theirs", [None, THEIRS])
def test_a_late_look_leaves_what_came_later(
    replica: Replica, theirs: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = QueryRecord("rally", 3, "resume", LONGER)
    between(replica, TOPICS.queries, "rally", theirs)
    second_look_fails(monkeypatch)
    later = replica.write
    assert asked(replica, PAUSE, ANOTHER, meanwhile=lambda: later(TOPICS.queries, "rally", newest.encode())) == [
        503,
        200,
    ]
    assert in_force(replica.log, TOPICS.queries, b"rally") == newest
    assert len(records(replica.log, TOPICS.queries, b"rally")) == 4


def test_a_record_that_is_sent_again_behind_a_later_one_hides_it_from_nobody(replica: Replica) -> None:
    ours, later = QueryRecord("rally", 2, "pause", TEXT), QueryRecord("rally", 3, "add", LONGER)
    between(replica, TOPICS.queries, "rally", ours.encode(), later.encode())
    assert asked(replica, PAUSE) == [200]
    assert in_force(replica.log, TOPICS.queries, b"rally") == replace(later, version=4)


def test_what_was_made_of_another_ones_record_is_not_made_again(log: MemoryLog) -> None:
    """The tables are fed between the look and the plan."""
    tables, fed = Tables(TOPICS, 100), itertools.count()

    async def send(topic: str, key: bytes, value: bytes | None) -> None:
        written(log, topic, key, value)

    async def make() -> StreamRecord:
        if next(fed) == 0:
            value = StreamRecord("x", "t", idle=7, version=2).encode()
            written(log, TOPICS.streams, b"x", value)
            tables.apply(TOPICS.streams, b"x", value, 1, 1)
        now = tables.streams.records.rows["x"]
        return replace(now.of_next_generation(), version=now.version + 1)

    writer = RecordWriter(tables, TOPICS, log, send, "records", asyncio.to_thread)
    asyncio.run(writer.change(TOPICS.streams, make, lambda one: one))
    assert in_force(log, TOPICS.streams, b"x") == StreamRecord("x", "t", idle=7, generation=2)
    assert len(records(log, TOPICS.streams, b"x")) == 3


@pytest.mark.parametrize("failure", [UnavailableError("no broker answers"), KeyboardInterrupt()])
def test_a_command_that_ends_behind_its_write_leaves_what_came_before_it(
    log: MemoryLog, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(Settings(prefix="p.", bootstrap="memory"), log)
    put = client.put

    def fails(topic: str, key: str, value: bytes | None) -> None:
        monkeypatch.undo()
        put(topic, key, StreamRecord("x", "t", idle=7, version=2).encode())
        put(topic, key, value)
        raise failure

    monkeypatch.setattr(client, "put", fails)
    with pytest.raises(type(failure)):
        changed(client, lambda now: plan_update(StreamChange("x", disorder=9), now))
    assert in_force(log, TOPICS.streams, b"x") == StreamRecord("x", "t", idle=7)


def test_a_new_streams_version_is_above_those_of_its_name_before(log: MemoryLog) -> None:
    """Who missed the end of the one before, takes it."""
    client = Client(Settings(prefix="p.", bootstrap="memory"), log)
    for change in (StreamChange("x", idle=1_000), StreamChange("x", idle=2_000)):
        changed(client, partial(plan_update, change))
    late = stream_table(TOPICS.streams)
    for one in records(log, TOPICS.streams, b"x"):
        late.apply(one.key, one.value, one.offset)
    written(log, TOPICS.streams, b"x", None)
    changed(client, lambda now: plan_change(StreamChange("x", topic="t", disorder=5), now))
    newest = records(log, TOPICS.streams, b"x")[-1]
    late.apply(newest.key, newest.value, newest.offset)
    assert late.rows["x"].disorder == 5
