"""The API over tables in memory: what it answers, what it writes, and what it refuses."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import orjson
import pytest

from saffron.records.query import QueryRecord
from tests.unit.control.world import TEXT, TOPICS, Ask, World, add

WRONG = "QUERY rally\nPATTERN SEQ(Stock a, Stock b)\nWHERE b.price < c.price\nWITHIN 1 hour"
SECTORS = "PATTERN Stock S+ WHERE [symbol] GROUP BY sector WITHIN 1 minute RETURN sector, COUNT(*)"


@pytest.fixture
def world() -> World:
    return World()


def test_a_query_is_checked_written_and_shown(world: World) -> None:
    async def talk(ask: Ask) -> None:
        status, added = await ask("POST", "/api/queries", {"text": TEXT, "from": "earliest"})
        assert status == 201
        assert (added["name"], added["version"], added["state"]) == ("rally", 1, "pending")
        status, listed = await ask("GET", "/api/queries")
        assert (status, [one["name"] for one in listed["queries"]]) == (200, ["rally"])
        status, shown = await ask("GET", "/api/queries/rally")
        assert status == 200
        assert shown["plan"]["kind"] == "match"
        assert shown["plan"]["svg"].startswith("<svg")
        assert shown["plan"]["explain"]

    world.run(talk)
    row = {"record": 1, **QueryRecord("rally", 1, "add", TEXT, "earliest").body()}
    assert world.sent == [(TOPICS.queries, b"rally", row)]


def test_a_query_whose_stream_is_gone_is_shown_with_its_state(world: World) -> None:
    said = {"name": "rally", "version": 1, "service": "windowing", "stream": "trades", "partition": 0, "position": 0}
    said |= {"state": "ended", "reason": "its stream was removed"}

    async def talk(ask: Ask) -> None:
        await ask("POST", "/api/streams", {"name": "trades", "partitions": 1})
        await ask("POST", "/api/queries", {"text": TEXT.replace("PATTERN", "FROM trades PATTERN")})
        await ask("DELETE", "/api/streams/trades")
        world.tables.apply(TOPICS.query_status, b"rally/windowing/trades/0", orjson.dumps(said), 5)
        for path in ("/api/queries", "/api/queries/rally/versions"):
            status, listed = await ask("GET", path)
            assert (status, next(iter(listed.values()))[0]["state"]) == (200, "ended")
        status, shown = await ask("GET", "/api/queries/rally")
        assert (status, shown["state"], shown["reason"]) == (200, "ended", "its stream was removed")
        assert shown["plan"]["svg"].startswith("<svg")
        assert shown["plan"]["warnings"][0].startswith("it fits its stream no longer: there is no stream 'trades'")
        status, body = await ask("GET", "/api/queries/rally/why?ask=symbol=IBM")
        assert (status, body["error"]["kind"]) == (404, "why")
        assert "there is no stream 'trades' (any more)" in body["error"]["message"]

    world.run(talk)


def test_a_query_that_does_not_fit_the_schema_any_more_or_cannot_be_read_is_shown(world: World) -> None:
    add(world.tables, "rally")
    add(world.tables, "later", text="QUERY later OF A NEWER VERSION")
    schema = {"type": "object", "properties": {"type": {"const": "Stock"}, "symbol": {"type": "string"}}}

    async def talk(ask: Ask) -> None:
        assert (await ask("PATCH", "/api/streams/events", {"schema": schema}))[0] == 200
        status, shown = await ask("GET", "/api/queries/rally")
        (warning,) = shown["plan"]["warnings"]
        assert (status, shown["state"], shown["plan"]["kind"]) == (200, "pending", "match")
        assert warning.startswith("it fits its stream no longer: unknown attribute 'price'")
        status, shown = await ask("GET", "/api/queries/later")
        assert (status, shown["state"], shown["plan"]) == (200, "pending", None)

    world.run(talk)


def test_a_wrong_query_never_reaches_the_topic(world: World) -> None:
    async def talk(ask: Ask) -> None:
        for path in ("/api/check", "/api/queries"):
            status, body = await ask("POST", path, {"text": WRONG})
            error = body["error"]
            assert status == 400
            assert error["kind"] == "query"
            assert error["text"].startswith("query error: ")
            assert "LINE 3: WHERE b.price < c.price" in error["text"]
            assert error["text"].splitlines()[2].strip("^ ") == ""
            assert WRONG[error["start"] : error["end"]].startswith("c")
            assert (error["line"], error["column"]) == (3, 17)
            assert error["message"]
            assert error["stage"]

    world.run(talk)
    assert world.sent == []


def test_a_stream_with_a_schema_checks_names(world: World) -> None:
    schema = {"type": "object", "properties": {"type": {"const": "Stock"}, "price": {"type": "number"}}}
    row = {"name": "trades", "topic": "p.events", "key": None, "schema": schema, "disorder": 0, "idle": None}
    world.tables.apply(TOPICS.streams, b"trades", orjson.dumps(row), 5)
    text = "QUERY q FROM trades PATTERN SEQ(Stock a, Stock b) WHERE b.pricee < a.price WITHIN 1 hour"

    async def talk(ask: Ask) -> None:
        status, body = await ask("POST", "/api/check", {"text": text})
        assert (status, body["error"]["stage"]) == (400, "schema")
        assert "price" in body["error"]["hint"]
        status, body = await ask("POST", "/api/check", {"text": text.replace("pricee", "price")})
        assert (status, body["stream"]) == (200, "trades")

    world.run(talk)


def test_the_life_of_a_query(world: World) -> None:
    add(world.tables, "rally")

    async def talk(ask: Ask) -> None:
        status, body = await ask("POST", "/api/queries", {"text": TEXT})
        assert (status, body["error"]["kind"]) == (409, "exists")
        status, body = await ask("POST", "/api/queries/rally/pause")
        assert (status, body["version"], body["op"]) == (200, 2, "pause")
        status, body = await ask("POST", "/api/queries/rally/resume")
        assert (status, body["version"], body["op"]) == (200, 3, "resume")
        status, body = await ask("PUT", "/api/queries/rally", {"text": TEXT.replace("1 hour", "2 hours")})
        assert (status, body["version"], body["op"]) == (200, 4, "add")
        assert "2 hours" in body["text"]
        status, body = await ask("PUT", "/api/queries/rally", {"text": TEXT.replace("rally", "other")})
        assert (status, body["error"]["kind"]) == (400, "name")
        status, body = await ask("DELETE", "/api/queries/rally")
        assert (status, body) == (200, {"name": "rally", "removed": True, "warnings": []})
        for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/pause")):
            status, body = await ask(method, "/api/queries/rally" + path, {"text": TEXT} if method == "PUT" else None)
            assert (status, body["error"]["kind"]) == (404, "unknown")
        status, body = await ask("POST", "/api/queries", {"text": TEXT})
        assert (status, body["version"]) == (201, 5)

    world.run(talk)
    assert [value and (value["op"], value["version"]) for _, _, value in world.sent] == [
        ("pause", 2),
        ("resume", 3),
        ("add", 4),
        None,
        ("add", 5),
    ]


def test_the_shedder_of_a_query_stays_until_another_is_named(world: World) -> None:
    async def talk(ask: Ask) -> None:
        assert (await ask("POST", "/api/queries", {"text": TEXT, "shed": "none"}))[1]["shed"] == "none"
        assert (await ask("POST", "/api/queries/rally/pause"))[1]["shed"] == "none"
        assert (await ask("PUT", "/api/queries/rally", {"text": TEXT}))[1]["shed"] == "none"
        assert (await ask("PUT", "/api/queries/rally", {"text": TEXT, "shed": "gspice-h"}))[1]["shed"] == "gspice-h"
        status, refused = await ask("PUT", "/api/queries/rally", {"text": TEXT, "shed": "pspise"})
        assert (status, refused["error"]["kind"]) == (400, "shed")
        assert "Did you mean 'pspice'?" in refused["error"]["message"]
        graphs = f"{TEXT} CONFIDENCE >= 0.5"
        status, refused = await ask("PUT", "/api/queries/rally", {"text": graphs, "shed": "pspice"})
        assert (status, refused["error"]["kind"]) == (400, "shed")
        assert "Those that can act on it are auto, gspice-h, " in refused["error"]["message"]
        explained = (await ask("GET", "/api/queries/rally"))[1]["plan"]["explain"]
        assert "partial matches: runs" in explained
        assert "\n  engine   " in explained

    world.run(talk)
    assert [value["shed"] for _, _, value in world.sent] == ["none", "none", "none", "gspice-h"]


def test_two_additions_at_once_do_not_both_win(world: World) -> None:
    async def talk(ask: Ask) -> None:
        answers = await asyncio.gather(*(ask("POST", "/api/queries", {"text": TEXT}) for _ in range(5)))
        assert sorted(status for status, _ in answers) == [201, 409, 409, 409, 409]

    world.run(talk)
    assert len(world.sent) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "body"),
        ({"text": ""}, "body"),
        ({"text": 5}, "body"),
        ({"text": TEXT, "name": ""}, "body"),
        ({"text": TEXT, "from": "yesterday"}, "body"),
        ({"text": TEXT, "form": "now"}, "body"),
        ({"text": TEXT, "shed": "pspise"}, "shed"),
        ({"text": TEXT, "shed": None}, "shed"),
        ([TEXT], "body"),
        ({"text": TEXT.replace("QUERY rally ", "")}, "name"),
        ({"text": TEXT.replace("QUERY rally ", ""), "name": "a/b"}, "name"),
        ({"text": TEXT.replace("PATTERN", "FROM nowhere PATTERN")}, "stream"),
    ],
)
def test_bad_requests_are_explained(world: World, body: Any, kind: str) -> None:
    async def talk(ask: Ask) -> None:
        status, found = await ask("POST", "/api/queries", body)
        assert (status, found["error"]["kind"]) == (400, kind)
        assert found["error"]["text"]

    world.run(talk)
    assert world.sent == []


def test_not_json_and_too_large_are_refused(world: World) -> None:
    async def talk(ask: Ask) -> None:
        headers = {"Content-Type": "application/json"}
        assert (await ask("POST", "/api/queries", data=b"{", headers=headers))[0] == 400
        assert (await ask("POST", "/api/queries", data=b"text=1"))[0] == 415
        assert (await ask("POST", "/api/check", {"text": "x" * 70_000}))[0] == 413
        huge = io.BytesIO(orjson.dumps({"text": "x" * 2_000_000}))
        assert (await ask("POST", "/api/check", data=huge, headers=headers))[0] == 413
        assert (await ask("GET", "/api/nothing"))[0] == 404
        assert (await ask("PATCH", "/api/queries"))[0] == 405
        for count in ("0", "201", "x", "9" * 5000):
            status, body = await ask("GET", f"/api/results?count={count}")
            assert (status, body["error"]["kind"]) == (400, "count")
        sheds: list[Any] = [[], {}, None, 5]
        for shed in sheds:
            status, body = await ask("POST", "/api/queries", {"text": TEXT.replace("rally", "other"), "shed": shed})
            assert (status, body["error"]["kind"]) == (400, "shed")

    world.run(talk)


def test_a_query_that_partitions_would_tear_apart_is_refused() -> None:
    world = World(partitions=3)

    async def talk(ask: Ask) -> None:
        status, body = await ask("POST", "/api/queries", {"text": TEXT})
        assert (status, body["error"]["kind"]) == (400, "partitions")
        assert "3 partitions" in body["error"]["text"]
        assert "`saffron stream add events_by_symbol --from events --key symbol`" in body["error"]["text"]
        row = {"name": "events", "topic": TOPICS.events, "key": "symbol", "schema": None, "disorder": 0, "idle": None}
        world.tables.apply(TOPICS.streams, b"events", orjson.dumps(row), 5)
        assert (await ask("POST", "/api/queries", {"text": TEXT}))[0] == 201
        status, body = await ask("POST", "/api/queries", {"text": TEXT.replace("[symbol] AND ", ""), "name": "rally"})
        assert (status, body["error"]["kind"]) == (400, "partitions")
        assert "`saffron stream add events_in_one --from events --partitions 1`" in body["error"]["text"]
        for text, taken in (
            ("PATTERN Stock a WITHIN 1 hour", True),
            ("PATTERN SEQ(Stock a) WHERE a.price > 1 WITHIN 1 hour SLIDE 1 hour RETURN a.price AS p", True),
            ("PATTERN Stock{1} a WITHIN 9 EVENTS", True),
            ("PATTERN Stock+ a[] WITHIN 1 hour", False),
            ("PATTERN SEQ(Stock a, NOT Bond b) WITHIN 1 hour", False),
            ("PATTERN Stock a WITHIN 9 EVENTS SLIDE 9 EVENTS", False),
            ("PATTERN Stock a WITHIN 1 hour OPEN ON Bond b", False),
            ("PATTERN Stock a WITHIN 1 hour OUTPUT NON-OVERLAP", False),
            ("PATTERN Stock a OR Bond b WITHIN 1 hour", False),
        ):
            status, body = await ask("POST", "/api/queries", {"text": text, "name": f"alone{len(text)}"})
            assert (status == 201, body.get("error", {}).get("kind")) == (taken, None if taken else "partitions"), text
        # A count of a sector is over all of its symbols, which lie in several partitions.
        status, body = await ask("POST", "/api/queries", {"text": SECTORS, "name": "sectors"})
        assert (status, body["error"]["kind"]) == (400, "partitions")
        assert "--from events --key sector`" in body["error"]["text"]
        assert (await ask("POST", "/api/queries", {"text": SECTORS.replace("BY", "BY symbol,"), "name": "both"}))[
            0
        ] == 201

    world.run(talk)


def test_a_broker_that_is_away_is_said_so(world: World) -> None:
    world.down = True

    async def talk(ask: Ask) -> None:
        status, body = await ask("POST", "/api/queries", {"text": TEXT})
        assert (status, body["error"]["kind"]) == (503, "log")
        assert (await ask("GET", "/api/queries"))[1] == {"queries": []}

    world.run(talk)


def test_views(world: World) -> None:
    producer = world.log.producer()
    producer.send(TOPICS.trends, 0, b'{"query": "q", "detected_at": 5}')
    producer.flush(1.0)
    load = {"service": "matcher", "stream": "events", "partition": 0, "position": 5, "partial_matches": {"q": 3}}
    world.tables.apply(TOPICS.load, b"matcher/events/0", orjson.dumps(load), 5)

    async def talk(ask: Ask) -> None:
        assert (await ask("GET", "/api/streams"))[1]["streams"][0]["name"] == "events"
        assert (await ask("GET", "/api/models"))[1] == {"models": []}
        assert (await ask("GET", "/api/load"))[1] == {"load": [load]}
        live = (await ask("GET", "/api/live"))[1]
        assert (live["bound_ms"], live["problems"]) == (100, [])
        found = (await ask("GET", "/api/results"))[1]
        assert found == {"results": [{"query": "q", "detected_at": 5, "topic": TOPICS.trends}], "denied": []}

    world.run(talk)


def test_readiness(world: World) -> None:
    async def talk(ask: Ask) -> None:
        assert (await ask("GET", "/healthz"))[0] == 200
        assert (await ask("GET", "/readyz"))[0] == 503
        world.health.done("start")
        assert (await ask("GET", "/readyz"))[0] == 200

    world.run(talk)


def test_the_page_carries_everything_itself(world: World) -> None:
    async def talk(ask: Ask) -> None:
        status, page = await ask("GET", "/")
        assert status == 200
        for path in ("/style.css", "/page.js"):
            assert path in page
            assert (await ask("GET", path))[0] == 200
        everything = page + "".join([(await ask("GET", path))[1] for path in ("/style.css", "/page.js")])
        outside = [part for part in everything.split("http")[1:] if not part.startswith("://www.w3.org/2000/svg")]
        assert outside == []

    world.run(talk)


def test_other_sites_are_kept_out(world: World) -> None:
    async def talk(ask: Ask) -> None:
        status, body = await ask("GET", "/api/queries", headers={"Host": "evil.example"})
        assert (status, body["error"]["kind"]) == (403, "host")
        status, body = await ask("POST", "/api/queries", {"text": TEXT}, headers={"Origin": "http://evil.example"})
        assert (status, body["error"]["kind"]) == (403, "origin")

    world.run(talk)
    assert world.sent == []


def test_the_token_guards_the_api_but_not_health() -> None:
    world = World(token="secret")

    async def talk(ask: Ask) -> None:
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer ü"}):
            status, body = await ask("GET", "/api/queries", headers=given)
            assert (status, body["error"]["kind"]) == (401, "token")
        assert (await ask("GET", "/api/queries", headers={"Authorization": "Bearer secret"}))[0] == 200
        assert (await ask("GET", "/healthz"))[0] == 200
        assert (await ask("GET", "/"))[0] == 200

    world.run(talk)


def test_why_says_what_is_missing(world: World) -> None:
    add(world.tables, "rally")

    async def talk(ask: Ask) -> None:
        status, said = await ask("GET", "/api/queries/rally/why")
        assert (status, said["error"]["kind"]) == (400, "ask")
        assert "?ask=ATTR=VALUE" in said["error"]["message"]
        status, said = await ask("GET", "/api/queries/rally/why?ask=symbol=IBM")
        assert (status, said["error"]["message"]) == (404, "no events have come on stream 'events' yet")
        assert (await ask("GET", "/api/queries/other/why?ask=*"))[0] == 404

    world.run(talk)


def test_what_may_cost_too_much_is_said_with_the_check(world: World) -> None:
    async def talk(ask: Ask) -> None:
        text = "QUERY many PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match { [k] } WITHIN 1 hour"
        status, said = await ask("POST", "/api/check", {"text": text})
        assert status == 200
        assert any("exponential" in warning for warning in said["warnings"])
        status, said = await ask("POST", "/api/check", {"text": TEXT})
        assert (status, said["warnings"]) == (200, [])

    world.run(talk)
