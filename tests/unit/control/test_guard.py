from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp.test_utils import TestServer

from saffron.control.log_limits import RepeatLimit
from tests.unit.control.world import World, add


def test_a_library_repeats_itself_only_once_in_a_while() -> None:
    now = [0.0]
    once = RepeatLimit(10.0, lambda: now[0])

    def passes(text: str) -> bool:
        return once.filter(logging.LogRecord("aiokafka", logging.ERROR, "", 0, text, None, None))

    assert passes("away")
    assert not passes("away")
    assert passes("other")
    now[0] = 11.0
    assert passes("away")
    assert not passes("away")


def test_memory_of_what_was_said_is_bounded() -> None:
    once = RepeatLimit(10.0, lambda: 0.0)
    for number in range(5000):
        once.filter(logging.LogRecord("aiokafka", logging.ERROR, "", 0, str(number), None, None))
    assert len(once._seen) <= 1000


OPEN = {
    "/",
    "/style.css",
    "/page.js",
    "/topics",
    "/common.js",
    "/topics.js",
    "/api-docs",
    "/api.js",
    "/openapi.json",
    "/healthz",
    "/readyz",
}
TRICKS = (
    "//api/queries/rally",
    "/./api/queries/rally",
    "/x/../api/queries/rally",
    "/healthz/../api/queries/rally",
    "/%61pi/queries/rally",
    "/api%2fqueries%2frally",
    "/api/%71ueries/rally",
    "/api/queries/rally?x=/healthz",
    "/api/queries/rally#/healthz",
    "/API/queries/rally",
    "/api/queries/rally/",
    "/api;x=1/queries/rally",
    "http://127.0.0.1/api/queries/rally",
)
OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
Answer = tuple[int, bytes]
Asked = Callable[..., Awaitable[Answer]]


def raw(talk: Callable[[World, Asked], Awaitable[None]]) -> None:
    """Requests exactly as they are given, line by line, to a service with a token."""
    world = World(token="secret")
    add(world.tables, "rally")

    async def run() -> None:
        async with TestServer(world.application()) as server:

            async def ask(method: str, target: str, **headers: str) -> Answer:
                reader, writer = await asyncio.open_connection(server.host, server.port)
                given = {"Host": f"127.0.0.1:{server.port}", "Connection": "close"}
                given |= {name.replace("_", "-"): value for name, value in headers.items()}
                lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
                writer.write("\r\n".join(lines).encode("latin-1"))
                told = await reader.read()
                writer.close()
                return int(told.split(b" ", 2)[1]), told.partition(b"\r\n\r\n")[2]

            await talk(world, ask)

    asyncio.run(run())


def test_every_route_asks_for_the_token_but_those_that_tell_nothing() -> None:
    async def talk(world: World, ask: Asked) -> None:
        routes = [one for one in world.application().router.routes() if one.resource is not None]
        assert {one.method for one in routes} == {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
        for one in routes:
            assert one.resource is not None
            path = one.resource.canonical.format(name="rally", topic="t", partition="0", offset="0")
            status, _ = await ask(one.method, path)
            is_open = path in OPEN
            assert (status != 401) == is_open, f"{one.method} {path} answers {status}"
        assert world.sent == []

    raw(talk)


def test_no_spelling_of_a_path_gets_by() -> None:
    async def talk(world: World, ask: Asked) -> None:
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "delete"):
            for target in TRICKS:
                status, body = await ask(method, target)
                assert status in (400, 401), f"{method} {target} answers {status}"
                assert b"PATTERN" not in body
        assert world.sent == []

    raw(talk)


def test_what_is_open_is_open_to_reading_alone() -> None:
    async def talk(world: World, ask: Asked) -> None:
        for path in OPEN:
            assert (await ask("GET", path))[0] in (200, 503)
            assert (await ask("POST", path))[0] == 401
        for name in OVERRIDES:
            assert (await ask("GET", "/healthz", **{name.replace("-", "_"): "DELETE"}))[0] == 200
            assert (await ask("GET", "/api/queries/rally", **{name.replace("-", "_"): "DELETE"}))[0] == 401
            given = {name.replace("-", "_"): "DELETE", "Authorization": "Bearer secret"}
            assert (await ask("GET", "/api/queries/rally", **given))[0] == 200
        assert world.sent == []

    raw(talk)


def test_a_token_is_given_in_one_way() -> None:
    async def talk(world: World, ask: Asked) -> None:
        for given in ("Bearer secret", "bearer secret", "BEARER  secret"):
            assert (await ask("GET", "/api/queries", Authorization=given))[0] == 200
        for given in ("secret", "Bearer", "Bearer ", "Basic secret", "Bearer secret2", "Bearer secre", "Bearer \xff"):
            assert (await ask("GET", "/api/queries", Authorization=given))[0] == 401
        assert (await ask("GET", "/api/queries?token=secret"))[0] == 401

    raw(talk)


def test_addresses_that_are_none_are_refused() -> None:
    async def talk(world: World, ask: Asked) -> None:
        for given in ({"Host": "[::1"}, {"Origin": "http://[bad"}):
            status, body = await ask("POST", "/api/queries", Authorization="Bearer secret", **given)
            assert status == 403
            assert b"is no address" in body
        assert world.sent == []

    raw(talk)
