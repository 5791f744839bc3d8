"""Dead letters over HTTP: list, show, and send again."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from aiohttp import web

from saffron.control.checks import Refused
from saffron.control.guard import answer
from saffron.control.requests import count_of, flag_of, json_body
from saffron.control.tables import Tables
from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.correction import Correction
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.dead_letters.reading import DeadLetters
from saffron.runtime.dead_letters.showing import row_of, whole
from saffron.runtime.process.clock_watch import wall_ms
from saffron.runtime.streams.unknown_names import no_stream

_MOST_SEARCHED = 2_000
"""Messages of each partition searched for a list. The page requests one every few seconds."""
P = ParamSpec("P")
T = TypeVar("T")
_MOST_LOOKED_AT = 100_000
"""Messages searched for one letter: about a second. The thread goes on where the client no longer waits."""
_FIELDS = {"set", "unset", "value", "encoding", "again", "dry_run"}


class DeadLettersApi:
    """The request handlers. Calls to the broker run in threads; letters are read and sent one after another."""

    def __init__(
        self, tables: Tables, letters: DeadLetters, group: str, max_future_ms: int, credentials: str = ""
    ) -> None:
        """`group`: consumer group for reading.

        `max_future_ms`: how far an event's time may be ahead of its message's. `credentials`: for schema registries.
        """
        self._credentials = credentials
        self._tables = tables
        self._letters = letters
        self._group = group
        self._max_future_ms = max_future_ms
        self._sending = asyncio.Lock()
        self._reading = asyncio.Lock()

    def routes(self) -> list[web.AbstractRouteDef]:
        """All routes of dead letters."""
        one = "/api/dead-letters/{topic}/{partition}/{offset}"
        return [
            web.get("/api/dead-letters", self.list_letters),
            web.get(one, self.show),
            web.post(one + "/send-again", self.send_again),
        ]

    async def list_letters(self, request: web.Request) -> web.Response:
        """The newest letters first: ?reason=late, &stream=NAME, &count=20."""
        count = count_of(request.query.get("count", "20"))
        wanted = self._letters.of_stream(self._record(request.query.get("stream")), request.query.get("reason"))
        found = await self._read(self._letters.newest, wanted, count, _MOST_SEARCHED)
        return answer(
            {
                "letters": [row_of(one, self._stream(one)) for one in found.letters],
                "reasons": dict(found.reasons),
                "looked_at": found.looked_at,
                "whole": found.whole,
            }
        )

    async def show(self, request: web.Request) -> web.Response:
        letter = await self._find(request)
        original = await self._read(self._letters.original, letter)
        return answer(whole(letter, self._stream(letter), original))

    async def send_again(self, request: web.Request) -> web.Response:
        """Sends a letter again, as the body corrects it; with `dry_run` only says what would be sent.

        Refused: 404 for an unknown letter; 409 where a letter should not be sent again; else 400.
        """
        body = await json_body(request, _FIELDS)
        correction, again, dry_run = _correction(body), flag_of(body, "again"), flag_of(body, "dry_run")
        async with self._sending:
            letter = await self._find(request)
            try:
                sent = await asyncio.to_thread(self._send, letter, correction, again, dry_run)
            except InputError as error:
                kind = getattr(error, "kind", None)
                raise Refused(400 if kind is None else 409, kind or "mend", str(error)) from error
        return answer({**sent, "sent": not dry_run})

    def _send(self, letter: Letter, correction: Correction, again: bool, dry_run: bool) -> dict[str, Any]:
        """Prepare, and unless `dry_run` send, a letter; the description of the message."""
        # Imported here: the dry run loads the decoder's kernels, which nothing else in the service needs.
        from saffron.runtime.dead_letters.sending import Sender, Sources, described

        sender = Sender(self._letters, self._group, self._max_future_ms, self._credentials)
        sending = sender.prepare(
            letter, Sources(self._tables.streams.all().values()), correction, wall_ms(), again=again
        )
        if not dry_run:
            sender.send(sending)
        return described(sending)

    async def _read(self, look: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a look into the log, in a thread. One at a time: those that wait hold no thread."""
        async with self._reading:
            return await asyncio.to_thread(look, *args, **kwargs)

    async def _find(self, request: web.Request) -> Letter:
        """The letter in the path; Refused if there is none."""
        name = "/".join(request.match_info[part] for part in ("topic", "partition", "offset"))
        try:
            return await self._read(self._letters.find, name, _MOST_LOOKED_AT)
        except InputError as error:
            raise Refused(404, "unknown", str(error)) from error

    def _record(self, stream: str | None) -> StreamRecord | None:
        """The stream of that name, None for all; Refused for an unknown stream."""
        if stream is None:
            return None
        record = self._tables.streams.get(stream)
        if record is None:
            raise Refused(400, "stream", no_stream(stream, self._tables.streams.all()))
        return record

    def _stream(self, letter: Letter) -> str | None:
        """The name of a letter's stream, None if it has none."""
        return self._letters.stream_of(letter, {one.topic: one.name for one in self._tables.streams.all().values()})


def _correction(body: Mapping[str, Any]) -> Correction:
    """The correction in a body; Refused if it is invalid."""
    put, out, value = body.get("set", {}), body.get("unset", []), body.get("value")
    if not isinstance(put, dict):
        raise Refused(400, "body", '"set" must be an object: attributes and their values')
    if not isinstance(out, list) or not all(isinstance(name, str) for name in out):
        raise Refused(400, "body", '"unset" must be a list of attributes')
    if value is None:
        return Correction(None, put, tuple(out))
    if not isinstance(value, str):
        raise Refused(400, "body", '"value" must be a text: the whole message')
    return Correction(_decoded(value, body.get("encoding", "utf-8")), put, tuple(out))


def _decoded(value: str, encoding: object) -> bytes:
    """The bytes of the field "value"; Refused if they cannot be decoded."""
    if encoding == "utf-8":
        return value.encode()
    if encoding != "base64":
        raise Refused(400, "body", '"encoding" must be "utf-8" or "base64"')
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise Refused(400, "body", f'"value" is not base64: {error}') from error
