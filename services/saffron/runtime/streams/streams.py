"""The streams and their internal topics, for services that read one internal topic per stream."""

from __future__ import annotations

from collections.abc import Callable, Collection

from saffron.errors import DeniedError
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics
from saffron.runtime.streams.control_topics import Report, follow_streams, streams_of
from saffron.runtime.telemetry.digest import Every

_POLL_MS = 500


class Streams:
    """Follower of `streams`. `topic`: internal topic by stem. A stream whose topic is missing is skipped for now.

    Records of removed streams are kept, since their partitions are revoked a little later.
    """

    def __init__(self, log: Log, topics: Topics, topic: Callable[[str], str], report: Report) -> None:
        self._log = log
        self._topics = topics
        self._topic = topic
        self._control_topic = follow_streams(log, topics, report)
        self._present: dict[str, StreamRecord] = {}
        self._ever_known: dict[str, StreamRecord] = {}
        self._missing: set[str] = set()
        self._poll = Every(_POLL_MS)
        self._update()

    def step(self, now_ms: int) -> None:
        """Reads new records, at intervals."""
        if self.ready and not self._poll.due(now_ms):
            return
        if self._control_topic.step():
            self._update()
        self._missing = {topic for topic in self._missing if not self._exists(topic)}

    @property
    def ready(self) -> bool:
        """True if `streams` was read to its end."""
        return self._control_topic.caught_up

    @property
    def topics(self) -> tuple[str, ...]:
        """The existing internal topics of all streams, sorted."""
        return tuple(sorted(self._present.keys() - self._missing))

    def name_of(self, topic: str) -> str:
        """The name of the stream whose internal topic this is, or was."""
        return self.record_of(topic).name

    def record_of(self, topic: str) -> StreamRecord:
        """The last record of the stream whose internal topic this is, or was."""
        return self._ever_known[topic]

    def topic_of(self, stream: str) -> str | None:
        """The internal topic of a stream, or None if there is no such stream."""
        return next((topic for topic, record in self._present.items() if record.name == stream), None)

    @property
    def records(self) -> Collection[StreamRecord]:
        """All streams."""
        return self._present.values()

    def has_schema(self, stream: str) -> bool:
        """True if the stream was given a schema, so that one is in force before the first event."""
        record = self._control_topic.table.rows.get(stream)
        return record is not None and record.schema is not None

    def close(self) -> None:
        self._control_topic.close()

    def _exists(self, topic: str) -> bool:
        """True if the topic exists; also if it may not be seen, which is told once it is subscribed to."""
        try:
            return self._log.partitions(topic) is not None
        except DeniedError:
            return True

    def _update(self) -> None:
        before = self._present
        records = streams_of(self._control_topic.table, self._topics.events)
        self._present = {self._topic(record.stem): record for record in records.values()}
        self._ever_known |= self._present
        fresh = self._present.keys() - before.keys() - {self._topic(DEFAULT_STREAM)}
        self._missing = (self._missing & self._present.keys()) | fresh
