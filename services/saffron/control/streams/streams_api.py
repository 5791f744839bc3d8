"""Streams over HTTP: list, show, add, apply, change, remove. The checks are those of the commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web

from saffron.control.checks import Refused
from saffron.control.guard import answer
from saffron.control.record_writer import RecordWriter
from saffron.control.requests import definition_text, flag_of, json_body, text_of
from saffron.control.streams.bodies import applied_body, stream_body, topics_of
from saffron.control.streams.change import StreamChange, StreamContext, StreamPlan
from saffron.control.streams.definitions import plan_definition
from saffron.control.streams.stream_changes import (
    begins_anew,
    check_removal,
    left_topics,
    plan_anew,
    plan_change,
    plan_update,
)
from saffron.control.streams.used_topics import UsedTopics
from saffron.control.tables import Tables
from saffron.records.stream import StreamRecord
from saffron.records.version import version_key
from saffron.runtime.log import Log
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.clock_watch import wall_ms
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.unknown_names import no_stream

_SET = {"key": str, "schema": dict, "registry": str, "disorder": int, "idle": int, "silence": int}
_ADD = {**_SET, "name": str, "topic": str, "from": str, "format": str, "partitions": int}


class StreamsApi:
    """The request handlers. Calls to the broker run in threads; changes run one after another."""

    def __init__(self, tables: Tables, writer: RecordWriter, log: Log, settings: Settings) -> None:
        self._tables = tables
        self._writer = writer
        self._log = log
        self._settings = settings
        self._topic = Topics(settings.prefix).streams
        self._writing = asyncio.Lock()

    def routes(self) -> list[web.AbstractRouteDef]:
        """All routes of streams."""
        one = "/api/streams/{name}"
        return [
            web.get("/api/streams", self.list_streams),
            web.post("/api/streams", self.add),
            web.get(one, self.show),
            web.patch(one, self.change),
            web.delete(one, self.remove),
            web.post("/api/definitions", self.apply),
        ]

    async def list_streams(self, request: web.Request) -> web.Response:
        streams = self._tables.streams.all().values()
        return answer({"streams": [{**record.body(), "topics": topics_of(record)} for record in streams]})

    async def show(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        record = self._tables.streams.get(name)
        if record is None:
            raise Refused(404, "unknown", no_stream(name, self._tables.streams.all()))
        body = await asyncio.to_thread(lambda: stream_body(record, self.present()))
        return answer({**body, "windowing": self._tables.live.windowing_of(name, wall_ms())})

    async def add(self, request: web.Request) -> web.Response:
        body = await json_body(request, set(_ADD))
        fields = {_NAMES.get(name, name): value for name, value in _fields(body, _ADD).items()}
        text_of(body, "name")
        return await self._put(plan_change, StreamChange(**fields))

    async def change(self, request: web.Request) -> web.Response:
        body = await json_body(request, set(_SET))
        return await self._put(plan_update, StreamChange(request.match_info["name"], **_fields(body, _SET)))

    async def apply(self, request: web.Request) -> web.Response:
        """Add or change the merged stream of a definition; with `dry_run` only report the changes."""
        body = await json_body(request, {"definition", "dry_run"})
        text, dry_run = definition_text(body), flag_of(body, "dry_run")
        found = await self._written(lambda: plan_definition(text, self.present()), dry_run=dry_run)
        status = 201 if found.before is None and not dry_run else 200
        return answer({**applied_body(found), "dry_run": dry_run}, status)

    async def remove(self, request: web.Request) -> web.Response:
        """Removes a stream and its inferred schema. The default stream begins anew instead (`removed`: false).

        Refused: the stream is unknown, or another is made from it.
        """
        name = request.match_info["name"]
        async with self._writing:
            await self._writer.catch_up(self._topic)
            record = await asyncio.to_thread(lambda: check_removal(name, self.present()))
            if begins_anew(name):
                await self._write(lambda: plan_anew(name, self.present()), dry_run=False)
            else:
                await self._writer.remove(self._topic, name)
            await self._writer.remove(self._topic, version_key(record.stem))
            present = await asyncio.to_thread(self.present)
        left = left_topics(record, Topics(self._settings.prefix))
        topics = [one for one in left if present.partitions(one) is not None]
        return answer({"name": name, "removed": not begins_anew(name), "topics": topics})

    async def _put(
        self, plan: Callable[[StreamChange, StreamContext], StreamPlan], change: StreamChange
    ) -> web.Response:
        """Check and write a change; the response has the stream as it is then."""
        found = await self._written(lambda: plan(change, self.present()))
        return answer({**found.record.body(), "partitions": found.partitions}, 200 if found.before else 201)

    async def _written(self, plan: Callable[[], StreamPlan], *, dry_run: bool = False) -> StreamPlan:
        """Makes a plan, its topics, and writes its record. Returns the plan."""
        async with self._writing:
            return await self._write(plan, dry_run=dry_run)

    async def _write(self, plan: Callable[[], StreamPlan], *, dry_run: bool) -> StreamPlan:
        """Does the work of `_written`; the caller holds the lock."""

        async def make() -> StreamPlan:
            found = await asyncio.to_thread(plan)
            if not dry_run:
                await asyncio.to_thread(self._log.create_topics, found.topics)
            return found

        def record_of(found: StreamPlan) -> StreamRecord | None:
            return found.record if found.is_change and not dry_run else None

        return await self._writer.change(self._topic, make, record_of)

    def present(self) -> StreamContext:
        """The present state of the system, to check a change against."""
        settings = self._settings
        return StreamContext(
            prefix=settings.prefix,
            streams=self._tables.streams.all(),
            partitions=self._log.partitions,
            used=UsedTopics(self._log, settings.group("control-streams")),
            disorder=settings.disorder_ms,
            idle=settings.idle_ms or None,
            unreadable=frozenset(self._tables.streams.records.unreadable),
            schema=self._tables.streams.schema,
            queries=self._tables.queries.texts(),
            topics=self._log.topics,
            next_offset=self._tables.streams.next_offset,
        )


_NAMES = {"from": "source"}
_KINDS = {str: "a text", dict: "a JSON object", int: "a whole number, 0 or more"}


def _fields(body: Any, known: dict[str, type]) -> dict[str, Any]:
    """The fields of the body, with checked types. Fields that are null are left out."""
    found = {name: value for name, value in body.items() if value is not None}
    for name, value in found.items():
        kind = known[name]
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
            raise Refused(400, "body", f'"{name}" must be {_KINDS[kind]}, not {value!r}')
    if found.get("partitions") == 0:
        raise Refused(400, "body", '"partitions" must be 1 or more')
    return found
