"""Which streams there are, for services that read an internal topic of each."""

from __future__ import annotations

from collections.abc import Callable

from saffron.records.stream import StreamRecord
from saffron.records.table import Table
from saffron.runtime.log import Log
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics
from saffron.runtime.streams.control_topics import Report, follow_streams
from saffron.runtime.telemetry.digest import Every

_LOOK_MS = 500


def streams_of(table: Table[StreamRecord], events: str) -> dict[str, StreamRecord]:
    """All streams by name, the default one first, which is there without a record. `events`: the topic that it has."""
    return {DEFAULT_STREAM: StreamRecord(DEFAULT_STREAM, events), **table.rows}


class Streams:
    """Follows `streams`. `topic`: the internal topic of a stream, by its stem; a stream without it is left out for now.

    What a removed stream's topic belonged to is still known, since its partitions are given up a little later.
    """

    def __init__(self, log: Log, topics: Topics, topic: Callable[[str], str], report: Report) -> None:
        self._log = log
        self._topics = topics
        self._topic = topic
        self._followed = follow_streams(log, topics, report)
        self._present: dict[str, StreamRecord] = {}
        self._ever: dict[str, StreamRecord] = {}
        self._missing: set[str] = set()
        self._look = Every(_LOOK_MS)
        self._take_up()

    def step(self, now_ms: int) -> None:
        """Read what is new, now and then."""
        if self.ready and not self._look.due(now_ms):
            return
        if self._followed.step():
            self._take_up()
        for topic in [one for one in self._missing if self._log.partitions(one) is not None]:
            self._missing.discard(topic)

    @property
    def ready(self) -> bool:
        return self._followed.caught_up

    @property
    def topics(self) -> tuple[str, ...]:
        """The internal topics of all streams, where they are there."""
        return tuple(sorted(self._present.keys() - self._missing))

    def of(self, topic: str) -> str:
        """The name of the stream whose internal topic this is, or was."""
        return self.record_of(topic).name

    def record_of(self, topic: str) -> StreamRecord:
        """The same stream's record, as it was last."""
        return self._ever[topic]

    def topic_of(self, stream: str) -> str | None:
        """The internal topic of a stream; None: there is no such stream."""
        return next((topic for topic, record in self._present.items() if record.name == stream), None)

    def has_schema(self, stream: str) -> bool:
        """Whether the stream was given a schema, so that one comes even before its first event."""
        record = self._followed.table.rows.get(stream)
        return record is not None and record.schema is not None

    def close(self) -> None:
        self._followed.close()

    def _take_up(self) -> None:
        before = self._present
        records = streams_of(self._followed.table, self._topics.events)
        self._present = {self._topic(record.stem): record for record in records.values()}
        self._ever |= self._present
        fresh = self._present.keys() - before.keys() - {self._topic(DEFAULT_STREAM)}
        self._missing = (self._missing & self._present.keys()) | fresh
