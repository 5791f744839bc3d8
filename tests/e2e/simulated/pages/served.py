"""The control service over a simulated system, and expressions for its pages in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import orjson
from aiohttp import web
from aiohttp.test_utils import TestServer

from saffron.control import api
from saffron.control.dead_letters_api import DeadLettersApi
from saffron.control.guard import guards
from saffron.control.record_writer import RecordWriter
from saffron.control.streams.definitions_api import DefinitionsApi
from saffron.control.streams.streams_api import StreamsApi
from saffron.control.streams.trials import Trials
from saffron.control.tables import Tables
from saffron.control.tail import Tail
from saffron.control.why import why
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from tests.e2e.simulated.system import TOPICS
from tests.memory.memory_log import MemoryLog
from tests.unit.control.world import written
from tests.unit.runtime.world import World

ESTIMATED = {
    "rally": {"due": 500.0, "lost": 17.0, "found": 488.0, "false": 6.1},
    "falls": {"due": 40.0, "lost": 0.0, "found": 40.0, "false": 0.0},
}
SHED = {"why": "shed", "share": 0.125, "keep": 1200, "estimated": ESTIMATED}


@asynccontextmanager
async def serving(world: World, token: str = "") -> AsyncIterator[str]:
    """The service's API over the system's log; its address. What services measured is `overload` alone."""
    log, tables, health = MemoryLog(world.broker), Tables(TOPICS, 1000), Health("control")
    for topic in set(tables.topics) - {TOPICS.health}:
        for record in world.read(topic, 0, committed_only=False):
            tables.apply(topic, record.key, record.value, record.timestamp, record.offset)
    for second in reversed(range(30)):
        overload(tables, world.now - 1000 * second, second)
    letters = DeadLettersApi(tables, DeadLetters(log, TOPICS, "desk"), "desk", 86_400_000)
    told = partial(why, log, TOPICS, "why")

    async def send(topic: str, key: bytes, value: bytes | None) -> None:
        written(log, topic, key, value)

    writer = RecordWriter(tables, TOPICS, log, send, "records", asyncio.to_thread)
    made = api.Api(tables, TOPICS, writer, Tail(log, "tail"), told, log.partitions, health)
    settings = Settings(prefix="t.")
    streams = StreamsApi(tables, writer, log, settings)
    definitions = DefinitionsApi(log, settings, streams.present, Trials(longest=600))
    application = web.Application(middlewares=guards("127.0.0.1", token))
    application.add_routes([route for one in (made, letters, streams, definitions) for route in one.routes()])
    async with TestServer(application, host="127.0.0.1") as server:
        yield str(server.make_url("/"))


def overload(tables: Tables, at: int, second: int) -> None:
    """Digests of a second in which more came than could be done."""
    common = {
        "stream": "events",
        "partition": 7,
        "at": at,
        "interval_ms": 1000,
        "partial_matches": 90,
        "watermark": 1,
        "lag": 4,
    }
    latency = {"p50": 600.0 + second, "p99": 950.0 + 5 * second}
    for service, more in (("windowing", {}), ("matcher", {"latency_ms": latency}), ("shedder", {"shed": SHED})):
        digest = {"service": service, **common, "events": 5000 + second, "results": 30, "latency_ms": None, **more}
        tables.live.apply(digest, at)


def text(selector: str) -> str:
    return f"document.querySelector('{selector}')?.textContent"


def count(selector: str) -> str:
    return f"document.querySelectorAll('{selector}').length"


def click(selector: str) -> str:
    return f"document.querySelector('{selector}').click()"


def fill(selector: str, value: str) -> str:
    return f"document.querySelector('{selector}').value = {orjson.dumps(value).decode()}"
