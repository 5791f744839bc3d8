"""The queries of the control topics, fed message by message. It loads no arrays, for commands that start at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.control.queries.registered_queries import RegisteredQueries
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.records.table import Applied, Unreadable, query_table
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import status_records

Found = Applied[Any] | Unreadable | None
"""What a message of a control topic changed."""


class QueryTables:
    """Tables over `queries` and `query-status`. A message that was applied before is passed over. Not thread-safe."""

    def __init__(self, topics: Topics) -> None:
        self.queries = RegisteredQueries()
        self._topics = topics
        self._queries = query_table(topics.queries)
        self._statuses = status_records(topics.query_status)
        self._next_offsets: dict[str, int] = {}

    def record(self, name: str) -> QueryRecord | None:
        """The newest record of a registered query, or None."""
        return self._queries.rows.get(name)

    def next_offset(self, topic: str) -> int:
        """The offset after the last message of a topic that was applied."""
        return self._next_offsets.get(topic, 0)

    def records(self, topic: str) -> Mapping[str, QueryRecord | StreamRecord]:
        """The newest records of queries, by name, as they are now."""
        return dict(self._queries.rows)

    def next_version(self, topic: str, name: str) -> int:
        """A version above all known ones of a query, removed ones included."""
        return self.queries.next_version(name)

    def apply(self, topic: str, key: bytes | None, value: bytes | None, at: int, offset: int | None = None) -> None:
        """Applies one message; `at`: its time in ms. `offset`: None, where it is not known, and the message is new."""
        if offset is not None:
            if offset < self.next_offset(topic):
                return
            self._next_offsets[topic] = offset + 1
        self._take(topic, key, value, at, offset or 0)

    def _take(self, topic: str, key: bytes | None, value: bytes | None, at: int, offset: int) -> Found:
        """Applies a message that is new. None: nothing of it is kept here."""
        if topic == self._topics.queries:
            query = self._queries.apply(key, value, offset)
            if isinstance(query, Applied):
                self.queries.apply_query(query, at)
            return query
        if topic == self._topics.query_status:
            status = self._statuses.apply(key, value, offset)
            if isinstance(status, Applied):
                self.queries.apply_status(status)
            return status
        return None
