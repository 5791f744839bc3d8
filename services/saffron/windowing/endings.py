"""Queries over streams that are not there: they end with a word, and begin anew where the stream is made again.

Decided from what the topics say now, by every member alike: what is said twice, or after a restart, is the same.
"""

from __future__ import annotations

from saffron.engine.operators.standing import compile_text
from saffron.errors import SaffronError
from saffron.records.query import QueryRecord
from saffron.records.status import ENDED, QueryStatus
from saffron.runtime.streams.statuses import Statuses
from saffron.windowing.follower import Desk

SERVICE = "windowing"
_WHY = (
    "there is no stream {0!r} (any more): `saffron stream add {0}` makes one, on which the query begins anew; "
    "`saffron query remove {1}` removes the query"
)


class Endings:
    """Says ENDED of each query whose stream is not there, and withdraws what was said of it on that stream before."""

    def __init__(self, desk: Desk, statuses: Statuses) -> None:
        self._desk = desk
        self._statuses = statuses
        self._looked = -1
        self._streams: dict[tuple[str, str], str | None] = {}

    def step(self) -> None:
        """Look again, where anything has changed."""
        if self._looked == self._desk.version:
            return
        self._looked = self._desk.version
        wanted = {}
        for query in self._desk.queries.values():
            if query.record is not None and (word := self._word(query.record)) is not None:
                wanted[word.key] = word
        ended = {(word.name, word.stream) for word in wanted.values()}
        for key, status in list(self._desk.statuses.items()):
            over = (status.name, status.stream) in ended
            if key not in wanted and (over or (status.state == ENDED and status.service == SERVICE)):
                self._statuses.withdraw(key)
        for key, word in wanted.items():
            if self._desk.statuses.get(key) != word:
                self._statuses.say(word)

    def _word(self, record: QueryRecord) -> QueryStatus | None:
        stream = self._stream_of(record)
        if stream is None or stream in self._desk.streams:
            return None
        return QueryStatus(record.name, record.version, SERVICE, stream, None, ENDED, _WHY.format(stream, record.name))

    def _stream_of(self, record: QueryRecord) -> str | None:
        """The stream that a query is over; None where its text is wrong, which is told elsewhere."""
        at = (record.name, record.text)
        if at not in self._streams:
            try:
                self._streams[at] = compile_text(record.text, None, record.name).stream
            except SaffronError:
                self._streams[at] = None
        return self._streams[at]
