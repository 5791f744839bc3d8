"""The table of a control topic: the newest record of each key.

Applying a message twice changes nothing. So a topic may be read again, also from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from saffron.records.codec import RecordError
from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.version import VersionRecord, is_version_key

R = TypeVar("R")


@dataclass(frozen=True)
class Applied(Generic[R]):
    """A message that changed a table. `row` None: a tombstone."""

    key: str
    offset: int
    row: R | None


@dataclass(frozen=True)
class Unreadable:
    """A message that is no valid record. The record before it stays in force."""

    topic: str
    key: str
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}, offset {self.offset}, key {self.key!r}: the record cannot be read: {self.reason}"


class KeyedRecords(Generic[R]):
    """The newest readable record of each key, fed message by message in the order of the topic's one partition.

    `rows`: by key. `removed`: keys whose newest message is a tombstone. `offsets`: of each key's newest record or
    tombstone. `unreadable`: keys whose newest message cannot be read. `next_offset`: after the last message.

    Where records have versions, of those of one version the first is taken: its writer came first, and who came second
    makes its change again.
    """

    def __init__(
        self,
        topic: str,
        read: Callable[[str, bytes], R],
        accepts: Callable[[str], bool] | None = None,
        version: Callable[[R], int] | None = None,
    ) -> None:
        """`topic`: its name, for messages.

        `read`: from key and value to a record. `accepts`: whether a key is of this kind. `version`: of a record; 0:
        it has none, and is taken whatever was before it.
        """
        self.rows: dict[str, R] = {}
        self.removed: set[str] = set()
        self.offsets: dict[str, int] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self.next_offset = 0
        self._topic = topic
        self._read = read
        self._accepts = accepts
        self._version = version

    def apply(self, key: bytes | None, value: bytes | None, offset: int) -> Applied[R] | Unreadable | None:
        """The change by one message; None: its key is of another kind of record, or its version was there."""
        self.next_offset = offset + 1
        name = (key or b"").decode("utf-8", "replace")
        if self._accepts is not None and not self._accepts(name):
            return None
        row = None
        if value is not None:
            try:
                row = self._read(name, value)
            except RecordError as error:
                self.removed.discard(name)
                self.unreadable[name] = Unreadable(self._topic, name, offset, str(error))
                return self.unreadable[name]
        if row is not None and self._is_known(name, row):
            return None
        self.unreadable.pop(name, None)
        self.offsets[name] = offset
        if row is None:
            self.rows.pop(name, None)
            self.removed.add(name)
        else:
            self.rows[name] = row
            self.removed.discard(name)
        return Applied(name, offset, row)

    def _is_known(self, name: str, row: R) -> bool:
        """True if a record of this version, or of a later one, was taken."""
        known = self.rows.get(name)
        return self._version is not None and known is not None and 0 < self._version(row) <= self._version(known)


def stream_table(
    topic: str, read: Callable[[str, bytes], StreamRecord] = StreamRecord.read
) -> KeyedRecords[StreamRecord]:
    """The streams on `streams`. Keys with a slash are not streams."""
    return KeyedRecords(topic, read, lambda key: "/" not in key, lambda record: record.version)


def version_table(
    topic: str, read: Callable[[str, bytes], VersionRecord] = VersionRecord.read
) -> KeyedRecords[VersionRecord]:
    """The versions of inferred schemas on `streams`."""
    return KeyedRecords(topic, read, is_version_key)


def query_table(topic: str) -> KeyedRecords[QueryRecord]:
    """The queries on `queries`."""
    return KeyedRecords(topic, QueryRecord.read, version=lambda record: record.version)


def status_table(topic: str, read: Callable[[str, bytes], QueryStatus] = QueryStatus.read) -> KeyedRecords[QueryStatus]:
    """The statuses on `query-status`."""
    return KeyedRecords(topic, read)
