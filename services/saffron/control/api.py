"""The HTTP API: checks, adds, lists, pauses, replaces and removes queries, and shows the system's state."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from aiohttp import web

from saffron.control.checks import Checked, Partitions, Refused, as_it_stands, check, check_partitions, compiled
from saffron.control.guard import PAGE_HEADERS, answer, open_to_all
from saffron.control.openapi import document
from saffron.control.queries.left_readers import left_readers
from saffron.control.record_writer import RecordWriter
from saffron.control.requests import count_of, json_body, text_of
from saffron.control.tables import Tables
from saffron.control.tail import Tail
from saffron.errors import InputError, SaffronError
from saffron.language.cost.shedders import AUTO, refusal
from saffron.language.syntax.delivery import has_rows, topics_of
from saffron.records.query import ADD, QueryRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.clock_watch import wall_ms
from saffron.runtime.streams.unknown_names import no_query
from saffron.runtime.telemetry.health import Health

_FROM = ("now", "earliest")
_PAGE = {
    "/": ("index.html", "text/html"),
    "/topics": ("topics.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
    "/common.js": ("common.js", "text/javascript"),
    "/page.js": ("page.js", "text/javascript"),
    "/topics.js": ("topics.js", "text/javascript"),
    "/api-docs": ("api.html", "text/html"),
    "/api.js": ("api.js", "text/javascript"),
}

Why = Callable[..., Mapping[str, Any]]
"""A function that explains a result or its absence from the newest events: `why.why` without its first three
parameters.
"""


class Api:
    """The request handlers. Calls to the broker run in threads."""

    def __init__(
        self,
        tables: Tables,
        topics: Topics,
        writer: RecordWriter,
        tail: Tail,
        why: Why,
        partitions: Partitions,
        health: Health,
    ) -> None:
        self._tables = tables
        self._topics = topics
        self._writer = writer
        self._tail = tail
        self._why = why
        self._partitions = partitions
        self._health = health
        self._writing = asyncio.Lock()
        # One look at a time: those that wait hold no thread.
        self._explaining = asyncio.Lock()
        self._tailing = asyncio.Lock()

    def routes(self) -> list[web.AbstractRouteDef]:
        """All routes of the service but those of streams and dead letters."""
        one = "/api/queries/{name}"
        return [
            web.get("/api/queries", self.list_queries),
            web.post("/api/queries", self.add_query),
            web.get(one, self.show_query),
            web.put(one, self.replace_query),
            web.delete(one, self.remove_query),
            *(web.post(f"{one}/{op}", functools.partial(self.change_query, op)) for op in ("pause", "resume")),
            web.get(one + "/versions", self.versions),
            web.get(one + "/why", self.why),
            web.post("/api/check", self.check_query),
            web.get("/api/models", self.models),
            web.get("/api/load", self.load),
            web.get("/api/results", self.results),
            web.get("/api/live", self.live),
            web.get("/healthz", self.healthz),
            web.get("/readyz", self.readyz),
            web.get("/openapi.json", self.openapi),
            *(web.get(path, _asset(*file)) for path, file in _PAGE.items()),
        ]

    # ------------------------------------------------------------ queries

    async def list_queries(self, request: web.Request) -> web.Response:
        return answer({"queries": [self._tables.query(name) for name in self._tables.queries.names()]})

    async def show_query(self, request: web.Request) -> web.Response:
        name = self._known(request)
        view = self._tables.query(name)
        return answer({**view, "plan": self._plan(name, view["shed"])})

    async def versions(self, request: web.Request) -> web.Response:
        return answer({"versions": self._tables.queries.versions(self._known(request))})

    async def why(self, request: web.Request) -> web.Response:
        """The explanation: ?ask=symbol=IBM, or ?ask=ID; &events=N covers the key's N newest events."""
        name = self._known(request)
        text, beside = self._tables.query(name)["text"], self._tables.queries.texts()
        stream = compiled(text, None, name).stream
        target = request.query.get("ask", "")
        if not target:
            raise Refused(
                400,
                "ask",
                "say what to explain: ?ask=ATTR=VALUE for a key, ?ask=* for a query without "
                "one, or ?ask=ID for a result",
            )
        events = count_of(request.query["events"]) if "events" in request.query else None
        record = self._tables.streams.get(stream)
        if record is None:
            raise Refused(404, "why", f"there is no stream {stream!r} (any more), which query {name!r} is over")
        try:
            async with self._explaining:
                trace = await asyncio.to_thread(self._why, name, text, record, target, events, beside)
        except InputError as error:
            raise Refused(404, "why", str(error)) from error
        return answer(trace)

    async def check_query(self, request: web.Request) -> web.Response:
        body = await json_body(request, {"text", "name"})
        checked = await self._check(body, text_of(body, "name") if "name" in body else None)
        return answer({"ok": True, **checked.explanation(AUTO)})

    async def add_query(self, request: web.Request) -> web.Response:
        """Adds a query. Refused: there is one of its name."""
        body = await json_body(request, {"text", "name", "from", "shed"})

        async def make() -> QueryRecord:
            checked = await self._check(body, text_of(body, "name") if "name" in body else None)
            if self._tables.queries.get(checked.name) is not None:
                raise Refused(409, "exists", f"there is a query {checked.name!r} already; PUT replaces it")
            return self._next(checked.name, ADD, text_of(body, "text"), _from(body), _shed(body, AUTO, checked))

        return await self._publish(make, 201)

    async def replace_query(self, request: web.Request) -> web.Response:
        """Replaces a query's text, and its shedder if one is given. Refused: there is no such query."""
        body = await json_body(request, {"text", "from", "shed"})

        async def make() -> QueryRecord:
            name = self._known(request)
            checked = await self._check(body, name)
            if checked.name != name:
                raise Refused(400, "name", f"the text is of a query {checked.name!r}, not of {name!r}")
            shed = _shed(body, self._tables.queries.view(self._known(request))["shed"], checked)
            return self._next(name, ADD, text_of(body, "text"), _from(body), shed)

        return await self._publish(make, 200)

    async def change_query(self, op: str, request: web.Request) -> web.Response:
        async def make() -> QueryRecord:
            record = self._tables.record(self._known(request))
            assert record is not None  # it is known
            return replace(record, version=self._tables.queries.next_version(record.name), op=op)

        return await self._publish(make, 200)

    async def remove_query(self, request: web.Request) -> web.Response:
        async with self._writing:
            await self._writer.catch_up(self._topics.queries)
            name = self._known(request)
            warnings = list(left_readers(name, self._tables.queries.texts(), None))
            await self._writer.remove(self._topics.queries, name)
        return answer({"name": name, "removed": True, "warnings": warnings})

    def _plan(self, name: str, shed: str) -> Mapping[str, Any] | None:
        """The plan of a registered query; None: its text is none that this version reads."""
        try:
            return as_it_stands(name, self._tables.streams, self._tables.queries.texts()).explanation(shed)
        except SaffronError:
            return None

    def _known(self, request: web.Request) -> str:
        """The name of the query in the path; Refused if there is none."""
        name: str = request.match_info["name"]
        if self._tables.queries.get(name) is None:
            raise Refused(404, "unknown", no_query(name, self._tables.queries.names()))
        return name

    async def _check(self, body: Mapping[str, Any], name: str | None) -> Checked:
        """The checked query of a body, for the stream's partitions too."""
        checked = check(text_of(body, "text"), name, self._tables.streams, self._tables.queries.texts())
        record = self._tables.streams.get(checked.plan.stream)
        assert record is not None
        await asyncio.to_thread(check_partitions, checked.plan, record, self._partitions)
        return checked

    async def _publish(self, make: Callable[[], Awaitable[QueryRecord]], status: int) -> web.Response:
        """Writes a new version of a query; the response has the query as it is then."""
        async with self._writing:
            record = await self._writer.change(self._topics.queries, make, lambda one: one)
            return answer(self._tables.query(record.name), status)

    def _next(self, name: str, op: str, text: str, start: str, shed: str) -> QueryRecord:
        """The record of a query's next version."""
        return QueryRecord(name, self._tables.queries.next_version(name), op, text, start, shed)

    # ------------------------------------------------------------ the rest

    async def models(self, request: web.Request) -> web.Response:
        return answer({"models": self._tables.models()})

    async def load(self, request: web.Request) -> web.Response:
        return answer({"load": self._tables.load()})

    async def live(self, request: web.Request) -> web.Response:
        return answer({**self._tables.live.view(wall_ms()), "problems": list(self._tables.problems)})

    async def results(self, request: web.Request) -> web.Response:
        count = count_of(request.query.get("count", "20"))
        published = topics_of(text for text in self._tables.queries.texts().values() if not has_rows(text))
        topics = (self._topics.complex_events, self._topics.trends, *sorted(published))
        async with self._tailing:
            found = await asyncio.to_thread(self._tail.last, topics, count)
        return answer({"results": found.results, "denied": found.denied})

    @open_to_all
    async def openapi(self, request: web.Request) -> web.Response:
        return answer(document())

    @open_to_all
    async def healthz(self, request: web.Request) -> web.Response:
        status = self._health.status()
        return answer(status, 200 if status["alive"] else 503)

    @open_to_all
    async def readyz(self, request: web.Request) -> web.Response:
        status = self._health.status()
        return answer(status, 200 if status["ready"] and status["alive"] else 503)


def _asset(name: str, kind: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    """A handler that serves a file of the page, of content type `kind`, to everybody."""
    text = (resources.files("saffron.control") / "page" / name).read_text("utf-8")

    @open_to_all
    async def serve(request: web.Request) -> web.Response:
        return web.Response(text=text, content_type=kind, headers=PAGE_HEADERS)

    return serve


def _from(body: Mapping[str, Any]) -> str:
    """The field "from" of a body; Refused if it is invalid."""
    start = body.get("from", "now")
    if start not in _FROM:
        raise Refused(400, "body", f'"from" must be "now" or "earliest", not {start!r}')
    return str(start)


def _shed(body: Mapping[str, Any], otherwise: str, checked: Checked) -> str:
    """The field "shed" of a body, `otherwise` without it; Refused if the shedder cannot act on the query."""
    shed = body.get("shed", otherwise)
    if why := refusal(shed):
        raise Refused(400, "shed", f'"shed": {why}')
    checked.require_shedder(str(shed))
    return str(shed)
