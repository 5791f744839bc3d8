"""The commands' connection to the running system: control topics read as tables, single messages written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from saffron.cli import console
from saffron.control.streams.stream_partitions import count_partitions
from saffron.errors import LogError, UnavailableError
from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.table import KeyedRecords, Unreadable, query_table, stream_table
from saffron.runtime.local.state import running
from saffron.runtime.log import Log, Record
from saffron.runtime.log.follower import content
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.control_topics import ControlTopic, status_records, streams_of

if TYPE_CHECKING:
    from saffron.runtime.streams.known_streams import KnownStreams

_LOOK = 0.01
_FLUSH_SECONDS = 30.0
_RESTART_SECONDS = 60.0
"""The longest wait for an embedded broker that has ended to come back."""

R = TypeVar("R")


class Client:
    """One command's connection."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.topics = Topics(settings.prefix)

    def records(self, topic: str) -> Iterator[Record]:
        """The present content of a topic, older values of a key included until they are compacted."""
        return chain.from_iterable(content(self.log, topic))

    def streams(self) -> dict[str, StreamRecord]:
        """All streams by name, the default one first."""
        return self.known_streams().all()

    def known_streams(self) -> KnownStreams:
        """The content of `streams`."""
        from saffron.runtime.streams.known_streams import KnownStreams

        known = KnownStreams(self.topics)
        for record in self.records(self.topics.streams):
            known.apply(record.key, record.value, record.offset)
        return known

    def partition_counts(self) -> dict[str, int]:
        """How many partitions each stream has, by name. Schemas, which need arrays, are not looked at.

        None, where the broker does not say: the reports of services are what there is then, as in the control service.
        """
        table = self._read(stream_table(self.topics.streams), self.topics.streams)
        with suppress(LogError):
            return count_partitions(self.log, streams_of(table, self.topics.events))
        return {}

    def queries(self) -> dict[str, QueryRecord]:
        """All standing queries by name."""
        return self._read(query_table(self.topics.queries), self.topics.queries).rows

    def statuses(self) -> list[QueryStatus]:
        """The reports of services on queries, removed ones included."""
        return list(self._read(status_records(self.topics.query_status), self.topics.query_status).rows.values())

    def unreadable(self) -> list[Unreadable]:
        """The control records that cannot be read."""
        names = self.topics
        tables: list[tuple[KeyedRecords[Any], str]] = [
            (query_table(names.queries), names.queries),
            (status_records(names.query_status), names.query_status),
        ]
        others = [one for table, topic in tables for one in self._read(table, topic).unreadable.values()]
        return [*self.known_streams().unreadable, *others]

    def wait_for_statuses(self, until: Callable[[list[QueryStatus]], bool], seconds: float) -> bool:
        """Follows the reports on queries until `until` holds of them; False after `seconds`."""
        deadline = time.monotonic() + seconds
        topic = self.topics.query_status
        followed = ControlTopic(self.log, topic, status_records(topic), lambda unreadable: None)
        try:
            while True:
                moved = followed.step()
                if followed.caught_up and until(list(followed.table.rows.values())):
                    return True
                if time.monotonic() > deadline:
                    return False
                if not moved:
                    time.sleep(_LOOK)
        finally:
            followed.close()

    def put(self, topic: str, key: str, value: bytes | None) -> None:
        """Writes one message (None: a tombstone) and waits until the broker has acknowledged it."""
        producer = self.log.producer(client_id="cli")
        try:
            producer.send(topic, 0, value, key=key.encode())
            producer.flush(_FLUSH_SECONDS)
        finally:
            producer.close()

    def _read(self, table: KeyedRecords[R], topic: str) -> KeyedRecords[R]:
        for record in self.records(topic):
            table.apply(record.key, record.value, record.offset)
        return table

    def partitions(self, topic: str) -> int:
        """The number of partitions of a topic; LogError if there is no such topic."""
        count = self.log.partitions(topic)
        if count is None:
            from saffron.runtime.streams.unknown_names import no_topic  # here, for only this needs the language

            raise LogError(no_topic(topic, self.log.topics(), at=self.settings.bootstrap))
        return count


@contextmanager
def connection(settings: Settings) -> Iterator[Client]:
    """A connected client. UnavailableError: no broker answers, after a wait for one that is being restarted."""
    hush()
    log = kafka_log.connect(settings)
    try:
        client = Client(settings, log)
        _require(client)
        yield client
    finally:
        console.done()
        log.close()


def hush() -> None:
    """Silences Kafka's client: errors reach the user as exceptions."""
    logging.getLogger("saffron.kafka").setLevel(logging.CRITICAL)


def _require(client: Client) -> None:
    """Waits for a broker that is being restarted. LogError: the topics do not exist."""
    until = time.monotonic() + _RESTART_SECONDS
    while True:
        try:
            found = client.log.partitions(client.topics.queries)
            break
        except UnavailableError:
            if not _coming_back(client.settings) or time.monotonic() > until:
                raise
            console.step("the broker does not answer; it is being started again")
    if found is None:
        raise LogError(
            f"the broker at {client.settings.bootstrap} has no topic {client.topics.queries!r}: `saffron up` creates"
            " the topics; --prefix names another system on the same broker"
        )


def _coming_back(settings: Settings) -> bool:
    """True if the broker is an embedded one, which its supervisor restarts."""
    state = running(settings)
    return state is not None and state.embedded
