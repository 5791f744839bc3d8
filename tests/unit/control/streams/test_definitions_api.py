"""Definitions over HTTP: topics, their messages, a definition inferred, checked and applied."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import fastavro
import orjson
import pytest

from saffron.control.streams import definitions_api
from saffron.engine.events.formats.framed import frame_head
from saffron.mapping.definition_reader import read_definition
from saffron.runtime.log import TopicSpec
from saffron.runtime.streams import newest_messages, stream_formats
from tests.unit.control.streams.shop import DEFINITION, NOON, PAID, with_applied_shop, with_shop
from tests.unit.control.world import TOPICS, Ask, World
from tests.unit.windowing.fake_registry import running


def test_topics_are_those_that_are_not_saffrons_own() -> None:
    world = World()
    with_applied_shop(world)
    world.log.create_topics([TopicSpec("__consumer_offsets", 3, {})])

    async def talk(ask: Ask) -> None:
        _, found = await ask("GET", "/api/topics")
        assert found["topics"] == [{"topic": "orders", "partitions": 2}, {"topic": "payments", "partitions": 1}]

    world.run(talk)


def test_messages_are_the_newest_with_key_headers_and_bytes() -> None:
    world = World()
    with_shop(world)
    world.log.create_topics([TopicSpec("raw", 1, {})])
    producer = world.log.producer()
    for number, value in enumerate((b"\xff\xfe", None, b"x" * 20_000)):
        producer.send("raw", 0, value, timestamp=NOON + number)
    producer.flush(1)

    async def talk(ask: Ask) -> None:
        _, found = await ask("GET", "/api/topics/orders/messages?count=3")
        newest = found["messages"][0]
        assert (newest["partition"], newest["offset"], newest["value"]) == (0, 3, "{")
        assert [one["time"] for one in found["messages"]] == [NOON + 5, NOON + 4, NOON + 3]
        second = found["messages"][1]
        assert (second["key"], second["headers"]) == ("O-4", {"trace": "t\\xff"})
        _, found = await ask("GET", "/api/topics/raw/messages")
        shown = [(one["encoding"], one["value"] and len(one["value"]), one["bytes"]) for one in found["messages"]]
        assert shown == [("utf-8", 16_384, 20_000), ("utf-8", None, 0), ("base64", 4, 2)]

    world.run(talk)


def test_what_is_inferred_is_checked_and_applied() -> None:
    world = World()
    with_shop(world, count=30)

    async def talk(ask: Ask) -> None:
        status, found = await ask("POST", "/api/definitions/infer", {"topics": ["orders", "payments"], "name": "shop"})
        assert (status, found["messages"]) == (200, {"orders": 31, "payments": 30})
        assert read_definition(found["definition"]).key == "order_id"
        assert "# " in found["definition"], "with reasons"
        definition = {"definition": found["definition"]}
        status, checked = await ask("POST", "/api/definitions/check", definition)
        orders, payments = checked["sources"]
        assert (status, orders["events"], payments["events"]) == (200, 30, 30)
        assert orders["refused"]["not-json"]["first"] == "orders/0/15"
        newest = orders["newest"]
        assert (len(newest), newest[0]["read"][0]["reason"]) == (20, "not-json")
        assert newest[1]["read"][0]["event"]["order_id"] == "O-29"
        assert world.sent == [], "nothing is changed"
        status, tried = await ask("POST", "/api/definitions", {**definition, "dry_run": True})
        assert (status, tried["changed"], world.sent, world.log.partitions("p.shop")) == (200, True, [], None)
        status, applied = await ask("POST", "/api/definitions", definition)
        assert (status, applied["changes"], applied["partitions"]) == (201, tried["changes"], 2)
        assert applied["changes"][0].startswith("stream shop merges orders, payments into topic p.shop, 2 partitions")
        assert world.log.partitions("p.shop.windows") == 2

    world.run(talk)
    assert [(topic, key) for topic, key, _ in world.sent] == [(TOPICS.streams, b"shop")]


def test_the_same_definition_twice_changes_nothing_and_another_says_what_it_changes() -> None:
    world = World()
    with_shop(world)

    async def talk(ask: Ask) -> None:
        await ask("POST", "/api/definitions", {"definition": DEFINITION})
        status, again = await ask("POST", "/api/definitions", {"definition": DEFINITION})
        assert (status, again["changed"]) == (200, False)
        assert again["changes"] == ["stream shop is so already: nothing is changed"]
        wider = DEFINITION.replace("idle: 10s", "idle: 20s")
        status, changed = await ask("POST", "/api/definitions", {"definition": wider})
        assert (status, changed["changed"], changed["definition"]["version"]) == (200, True, 2)
        assert changed["changes"] == [
            "stream shop: version 2 of its definition is in force", "idle: 10000 -> 20000",
        ]  # fmt: skip
        status, bounded = await ask("PATCH", "/api/streams/shop", {"disorder": 7_000})
        assert (status, bounded["definition"]["version"]) == (200, 3)
        status, found = await ask("PATCH", "/api/streams/shop", {"key": "x"})
        assert (status, found["error"]["kind"]) == (409, "definition")
        status, removed = await ask("DELETE", "/api/streams/shop")
        assert removed["topics"] == ["p.shop.windows", "p.shop.admitted", "p.shop"]

    world.run(talk)


def test_a_stream_shows_its_sources_and_what_windowing_reports() -> None:
    world = World()
    with_applied_shop(world)
    digest = {
        "service": "windowing", "stream": "shop", "partition": 0, "at": 10**15, "interval_ms": 1000, "events": 5,
        "results": 0, "latency_ms": None, "partial_matches": 0, "watermark": NOON, "lag": 2, "mistyped": {"total": 3},
    }  # fmt: skip
    world.tables.live.apply(digest, 10**15)

    async def talk(ask: Ask) -> None:
        _, found = await ask("GET", "/api/streams/shop")
        assert found["sources"] == [
            {"topic": "orders", "number": 0, "partitions": 2, "read": True},
            {"topic": "payments", "number": 1, "partitions": 1, "read": True},
        ]
        (part,) = found["windowing"]
        assert (part["watermark"], part["lag"], part["mistyped"]) == (NOON, 2, {"total": 3})
        world.log.broker.delete("payments")
        _, found = await ask("GET", "/api/streams/shop")
        assert found["sources"][1]["partitions"] is None

    world.run(talk)


def test_a_wrong_definition_is_shown_with_carets() -> None:
    world = World()
    with_shop(world)
    wrong = DEFINITION.replace("epoch_s}", "epoch_x}")

    async def talk(ask: Ask) -> None:
        for path in ("", "/check", "/try"):
            status, found = await ask(
                "POST", f"/api/definitions{path}", {"definition": wrong, **({"query": PAID} if path == "/try" else {})}
            )
            assert (status, found["error"]["kind"]) == (400, "definition")
            assert "^" in found["error"]["text"]
        status, found = await ask("POST", "/api/definitions/check", {"definition": "x" * 70_000})
        assert (status, found["error"]["kind"]) == (413, "size")

    world.run(talk)


def test_what_is_too_far_in_the_future_is_refused_as_the_stream_would() -> None:
    world = World()
    world.log.create_topics([TopicSpec("orders", 1, {})])
    producer = world.log.producer()
    for ts in (NOON, NOON + 86_400_001):
        producer.send("orders", 0, b'{"at": %d}' % ts, timestamp=NOON)
    producer.flush(1)
    definition = {"definition": "stream: s\nsources: [{topic: orders, ts: {field: at, format: epoch_ms}}]"}

    async def talk(ask: Ask) -> None:
        _, checked = await ask("POST", "/api/definitions/check", definition)
        (orders,) = checked["sources"]
        assert (orders["events"], orders["refused"]["future-ts"]["first"]) == (1, "orders/0/1")
        assert orders["newest"][0]["read"][0]["reason"] == "future-ts"

    world.run(talk)


def test_a_source_in_avro_is_read_by_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
    monkeypatch.setattr(stream_formats, "over_http", lambda *_: lambda path: {"schema": orjson.dumps(schema).decode()})
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), {"id": "O-1"})
    world = World()
    world.log.create_topics([TopicSpec("orders", 1, {})])
    producer = world.log.producer()
    for value in (frame_head(7) + stream.getvalue(), frame_head(7) + b"\xff"):
        producer.send("orders", 0, value, timestamp=NOON)
    producer.flush(1)
    definition = {"definition": "stream: s\nsources: [{topic: orders, format: avro, registry: 'http://r:1'}]"}
    infer = {"topics": ["orders"], "name": "s"}

    async def talk(ask: Ask) -> None:
        _, found = await ask("POST", "/api/definitions/infer", {**infer, "registry": "http://r:1"})
        (source,) = read_definition(found["definition"]).sources
        assert (source.format, source.registry, found["messages"]) == ("avro", "http://r:1", {"orders": 2})
        (told,) = found["told"]
        assert told.startswith("orders: 1 not read (bad-payload); the first is orders/0/1: ")
        _, found = await ask("POST", "/api/definitions/infer", infer)
        assert found["told"][0].startswith("orders: its messages have the frame of a schema registry")
        status, found = await ask("POST", "/api/definitions/infer", {**infer, "registry": "http://me:secret@r:1"})
        assert (status, found["error"]["kind"]) == (400, "registry")
        _, checked = await ask("POST", "/api/definitions/check", definition)
        (orders,) = checked["sources"]
        assert (orders["messages"], orders["events"], orders["types"]) == (2, 1, {"orders": 1})
        ((reason, each),) = orders["refused"].items()
        assert (reason, each["first"]) == ("bad-payload", "orders/0/1")
        newest, oldest = orders["newest"]
        assert newest["read"][0]["reason"] == "bad-payload"
        assert orjson.loads(oldest["value"])["id"] == oldest["read"][0]["event"]["id"] == "O-1"
        query = "QUERY q FROM s PATTERN orders o WITHIN 1 hour"
        _, tried = await ask("POST", "/api/definitions/try", {**definition, "query": query})
        assert (tried["count"], tried["refused"]) == (1, {"bad-payload": 1})

    world.run(talk)


def test_credentials_go_to_no_registry_that_only_a_request_names() -> None:
    world = World()
    world.settings = replace(world.settings, registry_auth="me:secret")
    world.log.create_topics([TopicSpec("orders", 1, {})])
    producer = world.log.producer()
    producer.send("orders", 0, frame_head(7) + b"x", timestamp=NOON)
    producer.flush(1)
    with running() as registry:
        registry.add(7, '"string"')
        definition = f"stream: s\nsources: [{{topic: orders, format: avro, registry: '{registry.url}'}}]"

        async def sent(ask: Ask) -> list[str | None]:
            found = []
            for path, body in (
                ("infer", {"topics": ["orders"], "name": "s", "registry": registry.url}),
                ("check", {"definition": definition}),
                ("try", {"definition": definition, "query": "QUERY q FROM s PATTERN orders o WITHIN 1 hour"}),
            ):
                registry.asked.clear()
                await ask("POST", f"/api/definitions/{path}", body)
                assert registry.asked
                found.append(registry.authorization)
            return found

        async def talk(ask: Ask) -> None:
            assert await sent(ask) == [None] * 3
            world.apply(definition)
            assert await sent(ask) == ["Basic bWU6c2VjcmV0"] * 3

        world.run(talk)


@pytest.mark.parametrize(
    "body",
    [
        {"topics": [], "name": "s"},
        {"topics": "orders", "name": "s"},
        {"topics": ["orders"] + [f"t{n}" for n in range(64)], "name": "s"},
        {"topics": ["orders"], "name": ""},
        {"topics": ["orders"], "name": "s", "messages": True},
        {"topics": ["orders"], "name": "s", "messages": 10_001},
        {"topics": ["orders"], "name": "s", "registry": ""},
    ],
)
def test_a_wrong_request_is_refused(body: dict[str, Any]) -> None:
    world = World()
    with_shop(world)

    async def talk(ask: Ask) -> None:
        status, found = await ask("POST", "/api/definitions/infer", body)
        assert (status, found["error"]["kind"]) == (400, "body")

    world.run(talk)


def test_a_look_takes_no_more_bytes_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_messages, "MOST_BYTES", 600)
    world = World()
    with_shop(world, count=100)
    found = newest_messages.newest_records(world.log, "look", ["payments"], definitions_api.MOST_MESSAGES)
    ((place, newest),) = found.items()
    assert (place.topic, newest.whole) == ("payments", False)
    assert sum(len(one.value or b"") for one in newest.records) <= 600
    assert newest.records[-1].offset == 99
