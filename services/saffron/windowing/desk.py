"""What all chains of a `windowing` process know: the standing queries, who is ready for them, and the streams."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.runtime.follower import Follower
from saffron.runtime.log import Log, Record
from saffron.runtime.statuses import FailedMarks, ReadyMarks
from saffron.runtime.topics import DEFAULT_STREAM, Topics

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """The newest record of a query on `queries`: `body` None is its tombstone. `offset` orders records."""

    name: str
    offset: int
    body: Mapping[str, Any] | None


class Desk:
    """Follows `queries`, `query-status` and `streams`. Until `ready`, no chain may be taken over."""

    def __init__(self, log: Log, topics: Topics) -> None:
        self._log = log
        self._topics = topics
        self._followed = [
            (Follower(log, topics.queries), self._query),
            (Follower(log, topics.query_status), self._status),
            (Follower(log, topics.streams), self._stream),
        ]
        self.queries: dict[str, Wanted] = {}
        self.marks = ReadyMarks()
        self.failures = FailedMarks()
        self.streams: dict[str, Mapping[str, Any]] = {}
        self.sources: dict[str, str] = {topics.events: DEFAULT_STREAM}
        self.positions: dict[str, int] = {"queries": 0, "streams": 0}
        self.version = 0

    def step(self) -> bool:
        """Read what is new; True if there was anything. `version` grows with every change."""
        moved = False
        for follower, read in self._followed:
            for record in follower.step():
                read(record)
                moved = True
        self.version += moved
        return moved

    @property
    def ready(self) -> bool:
        return all(follower.caught_up for follower, _ in self._followed)

    def settings(self, stream: str) -> Mapping[str, Any]:
        """The stream's record, or nothing."""
        return self.streams.get(stream, {})

    def topic_of(self, stream: str) -> str | None:
        """The topic of a stream's events; None if there is no such stream."""
        return next((topic for topic, name in self.sources.items() if name == stream), None)

    def close(self) -> None:
        for follower, _ in self._followed:
            follower.close()

    # ------------------------------------------------------------ records

    def _query(self, record: Record) -> None:
        name = (record.key or b"").decode(errors="replace")
        self.positions["queries"] = record.offset + 1
        body = None if record.value is None else _json(record)
        self.queries[name] = Wanted(name, record.offset, body)

    def _status(self, record: Record) -> None:
        self.marks.read(record)
        self.failures.read(record)

    def _stream(self, record: Record) -> None:
        name = (record.key or b"").decode(errors="replace")
        self.positions["streams"] = record.offset + 1
        body = None if record.value is None else _json(record)
        if not body or not isinstance(body.get("topic"), str):
            self.streams.pop(name, None)
            self.sources = {topic: stream for topic, stream in self.sources.items() if stream != name}
            return
        self.streams[name] = body
        taken = self.sources.setdefault(body["topic"], name)
        if taken != name:
            _LOG.error("stream %s: topic %s is stream %s's already; give it another", name, body["topic"], taken)


def _json(record: Record) -> Mapping[str, Any]:
    """The object in a record; an empty one if it holds none (whoever reads it then says what is missing)."""
    try:
        body = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}
