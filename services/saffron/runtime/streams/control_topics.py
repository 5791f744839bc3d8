"""Followers of the control topics `streams`, `queries` and `query-status`, each with its table."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.table import (
    Applied,
    KeyedRecords,
    Unreadable,
    query_table,
    status_table,
    stream_table,
)
from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics
from saffron.runtime.telemetry.metric_names import UNREADABLE_RECORDS

if TYPE_CHECKING:  # it brings NumPy and Prometheus' client along, which commands do without
    from saffron.runtime.telemetry.metrics import Metrics

_LOG = logging.getLogger(__name__)

R = TypeVar("R")
Report = Callable[[Unreadable], None]
"""A function called once with each unreadable message."""


class ControlTopic(Generic[R]):
    """One control topic and its table. Unreadable messages are reported and skipped."""

    def __init__(self, log: Log, topic: str, table: KeyedRecords[R], report: Report) -> None:
        self.table = table
        self._follower = Follower(log, topic)
        self._report = report

    def step(self) -> list[Applied[R]]:
        """The changes since the last call, in order. Never waits."""
        changes = []
        for record in self._follower.step():
            found = self.table.apply(record.key, record.value, record.offset)
            if isinstance(found, Unreadable):
                self._report(found)
            elif found is not None:
                changes.append(found)
        return changes

    @property
    def caught_up(self) -> bool:
        """See `Follower.caught_up`."""
        return self._follower.caught_up

    def close(self) -> None:
        self._follower.close()


def follow_streams(log: Log, topics: Topics, report: Report) -> ControlTopic[StreamRecord]:
    """The follower of stream records on `streams`."""
    return ControlTopic(log, topics.streams, stream_table(topics.streams), report)


def follow_queries(log: Log, topics: Topics, report: Report) -> ControlTopic[QueryRecord]:
    """The follower of `queries`."""
    return ControlTopic(log, topics.queries, query_table(topics.queries), report)


def follow_statuses(log: Log, topics: Topics, report: Report) -> ControlTopic[QueryStatus]:
    """The follower of `query-status`."""
    return ControlTopic(log, topics.query_status, status_table(topics.query_status), report)


def reporter(metrics: Metrics) -> Report:
    """A report function that logs and counts unreadable messages."""

    def report(found: Unreadable) -> None:
        _LOG.error("%s. The one before it stays in force; `saffron doctor` names what is wrong now", found)
        metrics.add(UNREADABLE_RECORDS, 1, found.topic)

    return report
