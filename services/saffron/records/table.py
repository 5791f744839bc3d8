"""The fold of a control topic: the newest record of each key.

Applying a message again changes nothing, so a topic may be read twice, or from the beginning after a restart.
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
    """A message that has changed a table; `row` None: a tombstone."""

    key: str
    offset: int
    row: R | None


@dataclass(frozen=True)
class Unreadable:
    """A message that holds no record of its topic; the record before it stays in force."""

    topic: str
    key: str
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}, offset {self.offset}, key {self.key!r}: the record cannot be read: {self.reason}"


class Table(Generic[R]):
    """The newest readable record of each key, fed message by message in the order of the topic's one partition.

    `rows`: by key. `removed`: keys whose newest message is a tombstone. `offsets`: of the newest record or tombstone of
    each key. `unreadable`: keys whose newest message could not be read. `next_offset`: behind the last message.
    """

    def __init__(self, topic: str, read: Callable[[str, bytes], R], ours: Callable[[str], bool] | None = None) -> None:
        """`topic`: its name, for messages. `read`: a record of key and value. `ours`: whether a key is of this sort."""
        self.rows: dict[str, R] = {}
        self.removed: set[str] = set()
        self.offsets: dict[str, int] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self.next_offset = 0
        self._topic = topic
        self._read = read
        self._ours = ours

    def apply(self, key: bytes | None, value: bytes | None, offset: int) -> Applied[R] | Unreadable | None:
        """Take one message; None: its key is of another sort of record."""
        self.next_offset = offset + 1
        name = (key or b"").decode("utf-8", "replace")
        if self._ours is not None and not self._ours(name):
            return None
        row = None
        if value is not None:
            try:
                row = self._read(name, value)
            except RecordError as error:
                self.removed.discard(name)
                self.unreadable[name] = Unreadable(self._topic, name, offset, str(error))
                return self.unreadable[name]
        self.unreadable.pop(name, None)
        self.offsets[name] = offset
        if row is None:
            self.rows.pop(name, None)
            self.removed.add(name)
        else:
            self.rows[name] = row
            self.removed.discard(name)
        return Applied(name, offset, row)


def stream_table(topic: str) -> Table[StreamRecord]:
    """Of `streams`. A key with a slash is of something that belongs to a stream, and not of a stream."""
    return Table(topic, StreamRecord.read, lambda key: "/" not in key)


def version_table(topic: str) -> Table[VersionRecord]:
    """Of `streams`: versions of inferred schemas."""
    return Table(topic, VersionRecord.read, is_version_key)


def query_table(topic: str) -> Table[QueryRecord]:
    """Of `queries`."""
    return Table(topic, QueryRecord.read)


def status_table(topic: str) -> Table[QueryStatus]:
    """Of `query-status`."""
    return Table(topic, QueryStatus.read)
