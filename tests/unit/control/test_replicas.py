"""Two replicas of control over one log: neither loses what the other one wrote, though their tables lag behind."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from saffron.control.record_writer import RecordWriter
from saffron.control.streams.change import StreamContext
from saffron.control.streams.definitions import plan_definition
from saffron.errors import UnavailableError
from saffron.records.query import QueryRecord
from saffron.runtime.log.follower import content
from tests.unit.control.streams.shop import DEFINITION, with_shop
from tests.unit.control.world import TEXT, TOPICS, Ask, World

LONGER = TEXT.replace("1 hour", "2 hours")


class Replica(World):
    """A replica whose tables are not fed."""

    def __init__(self, first: Replica | None = None) -> None:
        super().__init__(broker=None if first is None else first.log.broker)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request."""
        found: list[tuple[int, Any]] = []

        async def talk(ask: Ask) -> None:
            found.append(await ask(method, path, body))

        self.run(talk)
        return found[0]

    def topic(self, topic: str) -> list[dict[str, Any] | None]:
        """All records of a control topic."""
        records = [record for batch in content(self.log, topic) for record in batch]
        return [None if record.value is None else orjson.loads(record.value) for record in records]


def between(replica: Replica, topic: str, name: str, *values: bytes | None) -> None:
    """Other processes write records just before the replica's next one."""
    left = list(reversed(values))

    def write() -> None:
        while left:
            replica.write(topic, name, left.pop())

    replica.before_send = write


@pytest.fixture
def pair() -> tuple[Replica, Replica]:
    first = Replica()
    return first, Replica(first)


def test_a_change_is_made_of_what_the_other_replica_wrote(pair: tuple[Replica, Replica]) -> None:
    a, b = pair
    assert a.ask("POST", "/api/queries", {"text": TEXT})[0] == 201
    assert b.ask("PUT", "/api/queries/rally", {"text": LONGER})[1]["version"] == 2
    status, paused = a.ask("POST", "/api/queries/rally/pause")
    assert (status, paused["version"], paused["text"]) == (200, 3, LONGER)
    assert b.ask("DELETE", "/api/queries/rally")[0] == 200
    assert a.ask("POST", "/api/queries/rally/resume")[0] == 404
    assert a.ask("POST", "/api/queries", {"text": TEXT})[1]["version"] == 4


def test_a_record_that_comes_between_is_not_lost(pair: tuple[Replica, Replica]) -> None:
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    between(b, TOPICS.queries, "rally", QueryRecord("rally", 2, "add", LONGER).encode())
    status, paused = b.ask("POST", "/api/queries/rally/pause")
    assert (status, paused["op"], paused["text"]) == (200, "pause", LONGER)
    rows = [(one["version"], one["op"], one["text"]) for one in b.topic(TOPICS.queries) if one]
    assert rows == [
        (1, "add", TEXT),
        (2, "add", LONGER),
        (2, "pause", TEXT),  # it came second, so it is taken back
        (3, "add", LONGER),
        (4, "pause", LONGER),
    ]


def test_of_several_records_between_the_one_that_readers_took_stays(pair: tuple[Replica, Replica]) -> None:
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    first, second = QueryRecord("rally", 2, "add", LONGER), QueryRecord("rally", 2, "resume", TEXT)
    between(b, TOPICS.queries, "rally", first.encode(), second.encode())
    assert b.ask("POST", "/api/queries/rally/pause")[1]["text"] == LONGER


@pytest.mark.parametrize("others", [(), (QueryRecord("rally", 2, "add", LONGER).encode(),)])
def test_a_record_of_ours_that_is_sent_twice_is_no_other_ones(
    others: tuple[bytes, ...], pair: tuple[Replica, Replica]
) -> None:
    """As a producer does whose first request was not answered."""
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    ours = QueryRecord("rally", 2, "pause", TEXT).encode()
    between(b, TOPICS.queries, "rally", *others, ours)
    status, paused = b.ask("POST", "/api/queries/rally/pause")
    assert (status, paused["op"], paused["text"]) == (200, "pause", LONGER if others else TEXT)
    assert len(b.topic(TOPICS.queries)) == (6 if others else 3)


def test_what_a_failure_left_unchecked_is_checked_before_the_next_change(
    pair: tuple[Replica, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    between(b, TOPICS.queries, "rally", QueryRecord("rally", 2, "add", LONGER).encode())
    read, calls = RecordWriter._read, itertools.count()

    def fails(self: RecordWriter, spans: Any) -> Any:
        if next(calls) == 1:  # behind the write
            raise UnavailableError("no broker answers")
        return read(self, spans)

    monkeypatch.setattr(RecordWriter, "_read", fails)
    found = []

    async def talk(ask: Ask) -> None:
        found.extend([await ask("POST", f"/api/queries/rally/{op}", None) for op in ("pause", "resume")])

    b.run(talk)
    (failed, _), (status, resumed) = found
    assert (failed, status, resumed["text"], resumed["version"]) == (503, 200, LONGER, 4)


def test_of_two_queries_of_one_name_the_first_stays(pair: tuple[Replica, Replica]) -> None:
    _, b = pair
    between(b, TOPICS.queries, "rally", QueryRecord("rally", 1, "add", LONGER).encode())
    status, refused = b.ask("POST", "/api/queries", {"text": TEXT})
    assert (status, refused["error"]["kind"]) == (409, "exists")
    newest = b.topic(TOPICS.queries)[-1]
    assert newest is not None
    assert (newest["version"], newest["text"]) == (2, LONGER)


def test_a_removal_that_comes_between_stays(pair: tuple[Replica, Replica]) -> None:
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    between(b, TOPICS.queries, "rally", None)
    assert b.ask("POST", "/api/queries/rally/pause")[0] == 404
    assert b.topic(TOPICS.queries)[-1] is None


def test_who_never_comes_first_is_told_so(pair: tuple[Replica, Replica]) -> None:
    a, b = pair
    a.ask("POST", "/api/queries", {"text": TEXT})
    versions = itertools.count(2)

    def write() -> None:
        b.write(TOPICS.queries, "rally", QueryRecord("rally", next(versions), "add", LONGER).encode())

    b.before_send = write
    status, refused = b.ask("POST", "/api/queries/rally/pause")
    assert (status, refused["error"]["kind"]) == (409, "overtaken")


@pytest.mark.parametrize("fed", [True, False])
def test_a_stream_is_changed_from_what_the_other_replica_wrote(pair: tuple[Replica, Replica], fed: bool) -> None:
    a, b = pair
    with_shop(a)
    assert a.ask("POST", "/api/definitions", {"definition": DEFINITION})[0] == 201
    body = {"definition": DEFINITION.replace("idle: 10s", "idle: 20s")}
    if fed:
        assert a.ask("POST", "/api/definitions", body)[0] == 200
    else:
        now = StreamContext("p.", a.tables.streams.all(), a.log.partitions, lambda topic: False)
        record = plan_definition(body["definition"], now).record
        between(b, TOPICS.streams, "shop", record.encode())
    status, changed = b.ask("PATCH", "/api/streams/shop", {"disorder": 7_000})
    assert (status, changed["disorder"], changed["idle"]) == (200, 7_000, 20_000)
    newest = b.topic(TOPICS.streams)[-1]
    assert newest is not None
    versions = [(one["version"], one["definition"]["version"]) for one in b.topic(TOPICS.streams) if one]
    assert newest["idle"] == 20_000
    assert versions == [(1, 1), (2, 2), *([] if fed else [(2, 2), (3, 2)]), (3 if fed else 4, 3)]
