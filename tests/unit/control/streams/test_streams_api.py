"""Streams over HTTP: added, changed and removed as by the command, and refused with the same words."""

from __future__ import annotations

import pytest

from saffron import language
from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange, check_values
from saffron.language import parse
from saffron.records.stream import StreamRecord, is_new_name
from saffron.runtime.log import TopicSpec
from tests.unit.control.world import TOPICS, Ask, World


def test_a_stream_is_added_changed_and_removed() -> None:
    world = World(partitions=2)

    async def talk(ask: Ask) -> None:
        status, row = await ask("POST", "/api/streams", {"name": "trades", "key": "symbol", "partitions": 2, "idle": 5})
        assert (status, row["topic"], row["partitions"], row["idle"]) == (201, "p.trades", 2, 5)
        assert world.log.partitions("p.trades.windows") == 2
        status, again = await ask("POST", "/api/streams", {"name": "trades", "partitions": 2})
        assert (status, again) == (200, row), "nothing is said, nothing changes"
        status, row = await ask("PATCH", "/api/streams/trades", {"idle": 0, "disorder": 7})
        assert (status, row["idle"], row["disorder"], row["key"]) == (200, None, 7, "symbol")
        status, made = await ask("POST", "/api/streams", {"name": "by_x", "from": "trades", "key": "x"})
        assert (status, made["from"], made["disorder"]) == (201, "trades", 7)
        status, found = await ask("DELETE", "/api/streams/trades")
        assert (status, found["error"]["kind"]) == (409, "source")
        for name in ("by_x", "trades"):
            status, found = await ask("DELETE", f"/api/streams/{name}")
            assert (status, found["removed"], found["topics"][0]) == (200, True, f"p.{name}.windows")
        _, found = await ask("GET", "/api/streams")
        assert [one["name"] for one in found["streams"]] == ["events"]

    world.run(talk)
    written = [(key, value is None) for topic, key, value in world.sent if topic == TOPICS.streams]
    added = [(b"trades", False), (b"trades", False), (b"by_x", False)]
    removed = [(name, True) for name in (b"by_x", b"by_x/schema", b"trades", b"trades/schema")]
    assert written == added + removed


def test_the_default_stream_begins_anew_when_it_is_removed() -> None:
    world = World(partitions=2)

    async def talk(ask: Ask) -> None:
        await ask("PATCH", "/api/streams/events", {"key": "symbol"})
        for stem in ("events.2", "events.3"):
            status, found = await ask("DELETE", "/api/streams/events")
            assert (status, found["removed"]) == (200, False)
            assert [world.log.partitions(f"p.{stem}.{one}") for one in ("windows", "admitted")] == [2, 2]
        assert found["topics"] == ["p.events.2.windows", "p.events.2.admitted"], (
            "`saffron up` creates those of the first"
        )
        _, found = await ask("GET", "/api/streams")
        assert [(one["name"], one["key"]) for one in found["streams"]] == [("events", "symbol")]

    world.run(talk)


def test_what_cannot_be_is_refused() -> None:
    world = World()
    world.log.create_topics([TopicSpec("trades", 1, {})])

    async def talk(ask: Ask) -> None:
        for method, path, body, status, kind in (
            ("POST", "/api/streams", {"name": "s"}, 409, "topic"),
            ("POST", "/api/streams", {"name": "s", "topic": "p.trends"}, 409, "topic"),
            *(
                ("POST", "/api/streams", {"name": name, "topic": "trades"}, 400, "name")
                for name in ("a.b", "2nd", "-", "--json", "a--b", "a" * 201)
            ),
            ("POST", "/api/streams", {"name": "s", "topic": 5}, 400, "body"),
            ("POST", "/api/streams", {"name": "s", "partitions": 0}, 400, "body"),
            ("POST", "/api/streams", {"topic": "trades"}, 400, "body"),
            ("POST", "/api/streams", {"name": "s", "patience": 5}, 400, "body"),
            ("PATCH", "/api/streams/s", {"idle": 5}, 404, "unknown"),
            ("PATCH", "/api/streams/events", {"idle": -1}, 400, "body"),
            *(("PATCH", "/api/streams/events", {one: 2**53 + 1}, 400, one) for one in ("disorder", "idle", "silence")),
            ("POST", "/api/streams", {"name": "s", "partitions": 10_001}, 400, "partitions"),
            ("POST", "/api/streams", {"name": "s", "topic": "trades", "key": ""}, 400, "key"),
            ("PATCH", "/api/streams/events", {"key": " "}, 400, "key"),
            ("PATCH", "/api/streams/events", {"topic": "trades"}, 400, "body"),
            ("PATCH", "/api/streams/events", {"schema": {"type": "array"}}, 400, "schema"),
            ("DELETE", "/api/streams/s", None, 404, "unknown"),
        ):
            found, answer = await ask(method, path, body)
            assert (found, answer["error"]["kind"]) == (status, kind), (method, path, body, answer)

    world.run(talk)
    assert world.sent == []


@pytest.mark.parametrize(
    ("registry", "why"),
    [
        ("registry:8081", "is not http://HOST:PORT"),
        ("http://[x", "is not http://HOST:PORT"),
        ("http://me:secret@registry:8081", "is for all to read"),
    ],
)
def test_a_registry_is_an_address_without_a_password(registry: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        check_values(StreamChange("s", format="avro", registry=registry))


def test_a_stream_with_a_name_of_before_that_no_query_can_say_can_be_changed_and_removed() -> None:
    world = World()
    record = StreamRecord("2nd", "trades")

    async def talk(ask: Ask) -> None:
        status, row = await ask("PATCH", "/api/streams/2nd", {"disorder": 7})
        assert (status, row["disorder"]) == (200, 7)
        status, found = await ask("DELETE", "/api/streams/2nd")
        assert (status, found["removed"]) == (200, True)

    world.log.create_topics([TopicSpec("trades", 1, {})])
    world.tables.apply(TOPICS.streams, b"2nd", record.encode(), 0)
    world.run(talk)


@pytest.mark.parametrize(
    "name", ["a", "_", "a-b", "a-", "A1_-2", "2nd", "-", "--json", "a--b", "", "a b", "é", "a" * 200]
)
@pytest.mark.parametrize("more", ["", "a", "-", "-" * 2])
def test_a_new_stream_has_a_name_that_a_query_can_say(name: str, more: str) -> None:
    assert is_new_name(name + more) == language.is_name(name + more)
    if is_new_name(name + more):
        assert parse(f"FROM {name}{more} PATTERN SEQ(A a, A b) WITHIN 1 hour").stream == name + more


def test_an_empty_key_of_before_can_be_corrected() -> None:
    world = World()
    world.tables.apply(TOPICS.streams, b"events", StreamRecord("events", "p.events", key="").encode(), 0)

    async def talk(ask: Ask) -> None:
        status, row = await ask("PATCH", "/api/streams/events", {"key": "symbol"})
        assert (status, row["key"]) == (200, "symbol")
        status, _ = await ask("PATCH", "/api/streams/events", {"key": "user"})
        assert status == 409

    world.run(talk)
