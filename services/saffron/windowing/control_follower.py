"""The control records that all chains of a `windowing` process share: queries, their statuses, streams, schemas."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.table import Applied
from saffron.records.version import is_version_key
from saffron.runtime.log import Log
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import Report, UnreadableReports, follow_queries, follow_statuses
from saffron.runtime.streams.known_streams import KnownStreams
from saffron.runtime.streams.statuses import FailedStatuses, ReadyStatuses

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryEntry:
    """The newest record of a query on `queries`. `record` None is its tombstone. `offset`: the record's offset."""

    name: str
    offset: int
    record: QueryRecord | None


class ControlFollower:
    """Follower of `queries`, `query-status` and `streams`. No chain may be taken over until it has caught up.

    `queries`: newest entry by name. `ready`, `failures`: reports of the engines. `streams`: records by name, the
    default stream included. `sources`: name of the stream by its events' topic. `schemas`: inferred schemas by stem.
    `version`: grows with every change.
    """

    def __init__(self, log: Log, topics: Topics, report: Report) -> None:
        self._reports = UnreadableReports(report)
        self._queries = follow_queries(log, topics, report)
        self._statuses = follow_statuses(log, topics, report)
        self._streams = Follower(log, topics.streams)
        self._known = KnownStreams(topics)
        self.queries: dict[str, QueryEntry] = {}
        self.ready = ReadyStatuses()
        self.failures = FailedStatuses()
        self.streams: dict[str, StreamRecord] = {}
        self.sources: dict[str, str] = {}
        self._ever_known: dict[str, StreamRecord] = {}
        self.schemas = self._known.versions
        self.version = 0
        self._update_streams()

    def step(self) -> bool:
        """Reads new records; True if there were any."""
        queries, statuses, streams = self._queries.step(), self._statuses.step(), self._read_streams()
        for one in queries:
            self.queries[one.key] = QueryEntry(one.key, one.offset, one.row)
        for status in statuses:
            self.ready.read(status)
            self.failures.read(status)
        if any(not is_version_key(key) for key in streams):
            self._update_streams()
        moved = bool(queries or statuses or streams)
        self.version += moved
        return moved

    def contradiction(self, record: StreamRecord) -> str:
        """See `KnownStreams.contradiction`."""
        return self._known.contradiction(record)

    @property
    def caught_up(self) -> bool:
        """True if all topics were read to their ends."""
        return all(one.caught_up for one in (self._queries, self._statuses, self._streams))

    @property
    def positions(self) -> dict[str, int]:
        """Next offsets of the topics that chains depend on, by base name."""
        return {"queries": self._queries.table.next_offset, "streams": self._known.next_offset}

    @property
    def statuses(self) -> dict[str, QueryStatus]:
        """The newest statuses by key."""
        return self._statuses.table.rows

    def stream_at(self, topic: str) -> StreamRecord:
        """The stream whose events are, or were, in `topic`. KeyError: there never was one.

        Partitions of a removed stream are revoked a little later, so its record is kept.
        """
        name = self.sources.get(topic)
        return self._ever_known[topic] if name is None else self.streams[name]

    def topic_of(self, stream: str) -> str | None:
        """The topic of a stream's events, or None if there is no such stream."""
        return next((topic for topic, name in self.sources.items() if name == stream), None)

    def close(self) -> None:
        for one in (self._queries, self._statuses, self._streams):
            one.close()

    def _read_streams(self) -> list[str]:
        """Keys of what has changed on `streams`. An unreadable record is reported, and the one before it stays."""
        changed = []
        for record in self._streams.step():
            found = self._known.apply(record.key, record.value, record.offset)
            if isinstance(found, Applied):
                changed.append(found.key)
        self._reports.step(self._streams.caught_up, self._known.unreadable)
        return changed

    def _update_streams(self) -> None:
        """Rebuilds the stream tables. Of two streams that name the same topic, the older one keeps it."""
        offsets, before = self._known.records.offsets, self.sources
        self.streams = self._known.all()
        self.sources = {}
        order = sorted(self.streams, key=lambda name: offsets.get(name, -1))
        for name in sorted(order, key=lambda name: before.get(self.streams[name].topic) != name):
            taken = self.sources.setdefault(self.streams[name].topic, name)
            if taken != name:
                topic = self.streams[name].topic
                _LOG.error("stream %s: topic %s is stream %s's already; give it another", name, topic, taken)
        self._ever_known |= {topic: self.streams[name] for topic, name in self.sources.items()}
