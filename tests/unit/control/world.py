"""An API over tables in memory, whose every answer is held against its description."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import orjson
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from saffron.control.api import Api
from saffron.control.dead_letters_api import DeadLettersApi
from saffron.control.guard import guards
from saffron.control.record_writer import RecordWriter
from saffron.control.streams.change import StreamContext
from saffron.control.streams.definitions import plan_definition
from saffron.control.streams.definitions_api import DefinitionsApi
from saffron.control.streams.streams_api import StreamsApi
from saffron.control.streams.trials import Trials
from saffron.control.tables import Tables
from saffron.control.tail import Tail
from saffron.control.why import why
from saffron.errors import UnavailableError
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.health import Health
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.control import described

TOPICS = Topics("p.")
TEXT = "QUERY rally PATTERN SEQ(Stock+ a[], Stock b) WHERE [symbol] AND b.price < a[last].price WITHIN 1 hour"
Ask = Callable[..., Awaitable[tuple[int, Any]]]


class World:
    """An API with a memory log; `sent` is what it wrote. `broker`: that of another replica.

    `before_send`: what others do just before each write.
    """

    def __init__(self, partitions: int = 1, token: str = "", broker: MemoryBroker | None = None) -> None:
        self.log = MemoryLog(broker or MemoryBroker(lambda: 0))
        self.log.create_topics(topic_specs("p.", partitions))
        self.tables = Tables(TOPICS, 100)
        self.health = Health("control")
        self.sent: list[tuple[str, bytes, Any]] = []
        self.token = token
        self.down = False
        self.before_send: Callable[[], None] = lambda: None
        self.settings = Settings(prefix="p.")

    async def send(self, topic: str, key: bytes, value: bytes | None) -> None:
        if self.down:
            raise UnavailableError("no broker answers")
        await asyncio.sleep(0)
        self.before_send()
        self.sent.append((topic, key, None if value is None else orjson.loads(value)))
        written(self.log, topic, key, value)

    def routes(self) -> list[web.AbstractRouteDef]:
        """All that the service serves."""
        told = partial(why, self.log, TOPICS, "why")
        writer = RecordWriter(self.tables, TOPICS, self.log, self.send, "records", asyncio.to_thread)
        api = Api(self.tables, TOPICS, writer, Tail(self.log, "tail"), told, self.log.partitions, self.health)
        desk = DeadLettersApi(self.tables, DeadLetters(self.log, TOPICS, "desk"), "desk", 86_400_000)
        streams = StreamsApi(self.tables, writer, self.log, self.settings)
        definitions = DefinitionsApi(self.log, self.settings, streams.present, Trials(longest=600))
        return [route for one in (api, streams, definitions, desk) for route in one.routes()]

    def application(self) -> web.Application:
        """The service, behind its guards."""
        application = web.Application(middlewares=guards("127.0.0.1", self.token))
        application.add_routes(self.routes())
        return application

    def apply(self, definition: str) -> None:
        """Puts the merged stream of a definition in force."""
        now = StreamContext("p.", self.tables.streams.all(), self.log.partitions, lambda topic: False)
        found = plan_definition(definition, now)
        self.log.create_topics(found.topics)
        self.tables.apply(TOPICS.streams, found.record.name.encode(), found.record.encode(), 5)

    def write(self, topic: str, key: str, value: bytes | None) -> None:
        """Writes a message as another process does."""
        written(self.log, topic, key.encode(), value)

    def run(self, talk: Callable[[Ask], Awaitable[None]]) -> None:
        asyncio.run(self._run(talk))

    async def _run(self, talk: Callable[[Ask], Awaitable[None]]) -> None:
        async with TestClient(TestServer(self.application())) as client:

            async def ask(method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
                async with client.request(method, path, json=body, **more) as answer:
                    content = await answer.read()
                    is_json = answer.content_type == "application/json"
                    found = orjson.loads(content) if is_json else content.decode()
                    described.check(method, path, body, answer.status, answer.content_type, found)
                    return answer.status, found

            await talk(ask)


def written(log: MemoryLog, topic: str, key: bytes, value: bytes | None) -> None:
    """Writes a message."""
    producer = log.producer()
    producer.send(topic, 0, value, key=key)
    producer.flush(1.0)


def add(tables: Tables, name: str, **more: Any) -> None:
    row = {"name": name, "version": 1, "op": "add", "text": TEXT, "from": "now", **more}
    tables.apply(TOPICS.queries, name.encode(), orjson.dumps(row), 5)
