"""Followers of the control topics `streams`, `queries` and `query-status`, each with its table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from saffron.errors import LogError, SaffronError
from saffron.records.codec import RecordError
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
    version_table,
)
from saffron.records.version import VersionRecord
from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics
from saffron.runtime.telemetry.metric_names import UNREADABLE_RECORDS

# What brings NumPy or Prometheus' client along is imported where it is needed: commands do without.
if TYPE_CHECKING:
    from saffron.runtime.telemetry.metrics import Metrics

_LOG = logging.getLogger(__name__)

R = TypeVar("R")
Report = Callable[[Unreadable], None]
"""A function called once with each unreadable message."""


class UnreadableReports:
    """The reports of one topic's unreadable messages, each made once.

    What is read at the start is reported only if it is the newest of its key. Otherwise each start would report again
    what has long been replaced, but is not yet compacted away.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._reported: frozenset[int] = frozenset()

    def step(self, caught_up: bool, unreadable: Iterable[Unreadable]) -> None:
        """Reports what is new. `caught_up`: see `Follower`. `unreadable`: newest messages of keys, as in a table."""
        if caught_up:
            present = {one.offset: one for one in unreadable}
            for offset in sorted(present.keys() - self._reported):
                self._report(present[offset])
            self._reported = frozenset(present)


class ControlTopic(Generic[R]):
    """One control topic and its table. Unreadable messages are skipped, and reported by `UnreadableReports`."""

    def __init__(self, log: Log, topic: str, table: KeyedRecords[R], report: Report) -> None:
        self.table = table
        self._follower = Follower(log, topic)
        self._reports = UnreadableReports(report)

    def step(self) -> list[Applied[R]]:
        """The changes since the last call, in order. Never waits."""
        changes = []
        for record in self._follower.step():
            found = self.table.apply(record.key, record.value, record.offset)
            if isinstance(found, Applied):
                changes.append(found)
        self._reports.step(self.caught_up, self.table.unreadable.values())
        return changes

    @property
    def caught_up(self) -> bool:
        """See `Follower.caught_up`."""
        return self._follower.caught_up

    def close(self) -> None:
        self._follower.close()


def follow_streams(log: Log, topics: Topics, report: Report) -> ControlTopic[StreamRecord]:
    """The follower of stream records on `streams`."""
    return ControlTopic(log, topics.streams, stream_records(topics.streams), report)


def follow_queries(log: Log, topics: Topics, report: Report) -> ControlTopic[QueryRecord]:
    """The follower of `queries`."""
    return ControlTopic(log, topics.queries, query_table(topics.queries), report)


def follow_statuses(log: Log, topics: Topics, report: Report) -> ControlTopic[QueryStatus]:
    """The follower of `query-status`."""
    return ControlTopic(log, topics.query_status, status_records(topics.query_status), report)


def reporter(metrics: Metrics, *topics: str) -> Report:
    """A report function that logs and counts unreadable messages of these topics."""
    for topic in topics:
        metrics.add(UNREADABLE_RECORDS, 0, topic)  # a counter that begins at 1 shows no increase

    def report(found: Unreadable) -> None:
        _LOG.error("%s. The one before it stays in force; `saffron doctor` names what is wrong now", found)
        metrics.add(UNREADABLE_RECORDS, 1, found.topic)

    return report


def streams_of(table: KeyedRecords[StreamRecord], events: str) -> dict[str, StreamRecord]:
    """All streams by name, the default one first, which exists without a record. `events`: its topic."""
    return {DEFAULT_STREAM: StreamRecord(DEFAULT_STREAM, events), **table.rows}


def stream_records(topic: str) -> KeyedRecords[StreamRecord]:
    """The streams on `streams`. One whose schema or definition cannot be read, as of a later version, is unreadable."""
    return stream_table(topic, _stream)


def version_records(topic: str) -> KeyedRecords[VersionRecord]:
    """The versions of inferred schemas on `streams`. One whose schema cannot be read is unreadable."""
    return version_table(topic, _version)


def status_records(topic: str) -> KeyedRecords[QueryStatus]:
    """The statuses on `query-status`. One that announces a schema which cannot be read is unreadable."""
    return status_table(topic, _status)


def _stream(key: str, value: bytes) -> StreamRecord:
    """The stream record in a message. RecordError: it, its schema or its definition cannot be read."""
    record = StreamRecord.read(key, value)
    try:
        if record.schema is not None:
            from saffron.engine.events.json_schema import from_json_schema

            from_json_schema(record.schema)
        if record.definition is not None:
            from saffron.mapping.definition_reader import definition_of

            try:
                definition_of(record.definition)
            except KeyError as error:
                raise RecordError(f'"numbers" of the definition has no source {error}') from error
    except SaffronError as error:
        raise RecordError(str(error).splitlines()[0]) from error
    return record


def _version(key: str, value: bytes) -> VersionRecord:
    record = VersionRecord.read(key, value)
    _require_schema(record.schema)
    return record


def _status(key: str, value: bytes) -> QueryStatus:
    status = QueryStatus.read(key, value)
    if status.schema is not None:
        _require_schema(status.schema)
    return status


def _require_schema(record: Mapping[str, Any]) -> None:
    """Raise RecordError where the record of an inferred schema cannot be read."""
    from saffron.engine.events.schema_record import schema_from_record

    try:
        schema_from_record(record)
    except LogError as error:
        raise RecordError(str(error)) from error
