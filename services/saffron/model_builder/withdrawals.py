"""The withdrawal of models of removed queries: a tombstone for each of their records in `models`.

Removed queries are those with a tombstone in `queries`, which stays for a day at least. So a query that is only not
known yet keeps its models.
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
    """A follower of `queries` and `models`, which withdraws models.

    `removed`: names of queries that were removed and not added again; empty until `queries` has been read to its end.
    It can be read from any thread.
    """

    def __init__(self, log: Log, topics: Topics) -> None:
        self.removed: frozenset[str] = frozenset()
        self._writer = Writer(log, topics.models, client_id="model-builder-withdrawals", seconds=_FLUSH_SECONDS)
        self._queries = follow_queries(log, topics, _skip)
        self._models = Follower(log, topics.models)
        self._partitions: dict[bytes, int] = {}

    def step(self) -> Sequence[bytes]:
        """Write the tombstones that are due, wait for them, and return keys of records seen to be withdrawn.

        After a LogError a later step writes those that may be missing.
        """
        gone = self._follow()
        due = sorted(key for key in self._partitions if _query_of(key) in self.removed)
        if due:
            self._writer.write((self._partitions[key], key, None) for key in due)
            for key in due:
                del self._partitions[key]
        return gone

    def close(self) -> None:
        for one in (self._queries, self._models, self._writer):
            one.close()

    def _follow(self) -> list[bytes]:
        """Read new records of both topics, and return keys of tombstones among models."""
        gone = []
        for record in self._models.step():
            key = record.key or b""
            if record.value is None:
                self._partitions.pop(key, None)
                gone.append(key)
            else:
                self._partitions[key] = record.partition
        self._queries.step()
        if self._queries.caught_up:
            self.removed = frozenset(self._queries.table.removed)
        return gone


def _skip(found: Unreadable) -> None:
    """Ignore an unreadable record of a query: windowing reports it, and the query still exists."""


def _query_of(key: bytes) -> str | None:
    """The query of a model's key; None for a model of a stream."""
    query, _, kind = key.decode(errors="replace").partition("/")
    return None if kind == LATENCY else query
