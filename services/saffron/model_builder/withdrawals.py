"""Models of queries that were removed are withdrawn: by a tombstone for each record that stands in `models`.

Told by the tombstones of `queries` themselves, which stay there for a day at least: a query that is only not known yet
keeps its models.
"""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.models.transitions.model import LATENCY
from saffron.model_builder.writer import Writer
from saffron.records.table import Unreadable
from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import follow_queries

_FLUSH_SECONDS = 5.0


class Withdrawals:
    """Follows both topics. `removed`: names of queries that were removed and not added again, none before `queries` has
    been read to its end; safe to read at any time from any thread."""

    def __init__(self, log: Log, topics: Topics) -> None:
        self.removed: frozenset[str] = frozenset()
        self._writer = Writer(log, topics.models, client_id="model-builder-withdrawals", seconds=_FLUSH_SECONDS)
        self._queries = follow_queries(log, topics, _skip)
        self._models = Follower(log, topics.models)
        self._standing: dict[bytes, int] = {}

    def step(self) -> Sequence[bytes]:
        """Keys of the records that have come to be withdrawn; writes the tombstones that are due, and waits for them.
        LogError: some may not have been written, and will be in a later step."""
        gone = self._follow()
        due = sorted(key for key in self._standing if _query_of(key) in self.removed)
        if due:
            self._writer.write((self._standing[key], key, None) for key in due)
            for key in due:
                del self._standing[key]
        return gone

    def close(self) -> None:
        for one in (self._queries, self._models, self._writer):
            one.close()

    def _follow(self) -> list[bytes]:
        """What has come of both topics; keys of tombstones among models."""
        gone = []
        for record in self._models.step():
            key = record.key or b""
            if record.value is None:
                self._standing.pop(key, None)
                gone.append(key)
            else:
                self._standing[key] = record.partition
        self._queries.step()
        if self._queries.caught_up:
            self.removed = frozenset(self._queries.table.removed)
        return gone


def _skip(found: Unreadable) -> None:
    """Windowing says that it cannot be read; the query is there all the same."""


def _query_of(key: bytes) -> str | None:
    """The query whose model it is; None for what is of a stream."""
    query, _, kind = key.decode(errors="replace").partition("/")
    return None if kind == LATENCY else query
