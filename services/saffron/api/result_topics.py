"""The topics in which the results of a running system stand."""

from __future__ import annotations

import time

from saffron.errors import InputError, LogError
from saffron.language.syntax.delivery import has_rows, topics_of
from saffron.records.table import query_table
from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics

_COMMON = ("complex-events", "trends")
_WAIT = 0.05


class ResultTopics:
    """The topics of all results, and those of PUBLISH. `queries`: names of the queries that count; None: all.

    `names`: by full name the name that a user knows. A topic stays among them when its query is removed.
    `own`: full names of those that Saffron alone writes.

    LogError: the topics of all results are not there.
    """

    def __init__(self, log: Log, prefix: str, queries: frozenset[str] | None) -> None:
        topics = Topics(prefix)
        self.names = {topics.named(short): short for short in _COMMON}
        if missing := [topic for topic in self.names if log.partitions(topic) is None]:
            raise LogError(f"there is no topic {missing[0]!r}: `saffron up` creates the topics; is the prefix right?")
        self.own = frozenset(self.names)
        self._queries = queries
        self._table = query_table(topics.queries)
        self._follower = Follower(log, topics.queries)

    def look(self) -> None:
        """Reads the queries that were registered since the last look."""
        records = self._follower.step()
        while records or not self._follower.caught_up:
            for record in records:
                self._table.apply(record.key, record.value, record.offset)
            if not records:
                time.sleep(_WAIT)
            records = self._follower.step()
        texts = [text for text in self._texts().values() if not has_rows(text)]
        self.names |= {topic: topic for topic in topics_of(texts)}

    def add(self, names: set[str]) -> None:
        """Takes topics by the names that a user knows, as those of queries that were removed."""
        self.names |= {name: name for name in names - set(self.names.values())}

    def require_results(self) -> None:
        """InputError: a query that was named publishes rows, which are no results as Saffron's readers know them."""
        for name, text in self._texts().items():
            if self._queries is not None and has_rows(text):
                topic = ", ".join(topics_of([text]))
                raise InputError(f"query {name} publishes rows (AS) to {topic!r}: read that topic with a Kafka client")

    def _texts(self) -> dict[str, str]:
        """The texts of the standing queries that count."""
        rows = self._table.rows.items()
        return {name: record.text for name, record in rows if self._queries is None or name in self._queries}
