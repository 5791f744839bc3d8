"""Writing of control records, which several processes write: replicas of control, and commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from saffron.errors import OvertakenError
from saffron.records.codec import RecordError
from saffron.records.query import renewed, taken_last, version_of
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.log.ends import each_that_is_there
from saffron.runtime.log.topics import Topics

Send = Callable[[str, bytes, bytes | None], Awaitable[None]]
"""A function that writes one message (topic, key, value), and returns once the broker has it."""
_BATCH = 500
_TRIES = 8

R = TypeVar("R")


class Keyed(Protocol):
    """A record under the key of its name."""

    @property
    def name(self) -> str: ...

    def encode(self) -> bytes: ...


class Known(Protocol):
    """What a process knows of the control topics: it is fed their messages, and passes over those that it had."""

    def next_offset(self, topic: str) -> int:
        """The offset after the last message of a topic that was applied."""

    def apply(self, topic: str, key: bytes | None, value: bytes | None, at: int, offset: int) -> object:
        """Applies one message; `at`: its time in ms."""

    def next_version(self, topic: str, name: str) -> int:
        """A version above all known ones of a query, or of a stream's definition."""


@dataclass(frozen=True)
class _Written:
    """A record of ours. `since`: the offset up to which it was made of what is there."""

    key: str
    value: bytes | None
    since: int


class RecordWriter:
    """The writer of a process. A change is made of the newest records, and made again if another one was faster.

    A lock in one process keeps no other process from writing a record of the same key. The process whose record comes
    second sees it, and writes the first one's again before its own: readers pass over a version that they know.
    """

    def __init__(self, known: Known, topics: Topics, log: Log, send: Send, group: str) -> None:
        self._known = known
        self._names = topics
        self._topics = (topics.streams, topics.queries, topics.query_status)
        self._log = log
        self._send = send
        self._group = group
        self._unchecked: dict[str, _Written] = {}

    async def change(self, topic: str, make: Callable[[], Awaitable[R]], record_of: Callable[[R], Keyed | None]) -> R:
        """Makes a change and writes its record (None: there is nothing to write). Returns the change.

        `make`: makes it of what is known. OvertakenError: others change the same record all the time.
        """
        for _ in range(_TRIES):
            await self.catch_up(topic)
            since = self._known.next_offset(topic)
            made = await make()
            record = record_of(made)
            if record is None or (other := await self._put(topic, record.name, record.encode(), since)) is None:
                return made
            await self._restore(other)
        raise OvertakenError("others are changing the same at this moment: look at it, and ask again")

    async def remove(self, topic: str, key: str) -> None:
        """Writes a tombstone, whatever others have written."""
        await self._put(topic, key, None, self._known.next_offset(topic))

    async def catch_up(self, topic: str) -> None:
        """Applies what the control topics have now, before a record of `topic` is written.

        What a failure has left unchecked of this topic is checked first. LogError: they cannot be read.
        """
        if (other := await self._check(topic)) is not None:
            await self._restore(other)
        since = {one: self._known.next_offset(one) for one in self._topics}
        self._apply(await asyncio.to_thread(self._read, since))

    async def _put(self, topic: str, key: str, value: bytes | None, since: int) -> Record | None:
        """Writes a record, and applies all up to it.

        Returns the record of this key from offset `since` on that another process wrote before it, and readers took.
        """
        await self._send(topic, key.encode(), value)
        self._unchecked[topic] = _Written(key, value, since)
        return await self._check(topic)

    async def _check(self, topic: str) -> Record | None:
        """Looks for what others wrote before our last record of a topic, if that has not been done; see `_put`."""
        if (written := self._unchecked.get(topic)) is None:
            return None
        key, value = written.key, written.value
        found = await asyncio.to_thread(self._read, {topic: written.since})
        del self._unchecked[topic]
        # Ours may lie there twice: the client sends again what was not acknowledged.
        ours = [place for place, one in enumerate(found) if one.key == key.encode() and one.value == value]
        found = found[: ours[-1] + 1] if ours else found
        self._apply(found)
        others = [one for one in found if one.key == key.encode() and one.value != value]
        if topic != self._names.queries:
            return others[-1] if others else None
        taken = taken_last(key, [one.value for one in others], version_of(key, value) - 1)
        return None if taken is None else others[taken]

    async def _restore(self, other: Record) -> None:
        """Writes the record of another process again, as a newer version, since ours came after it."""
        left: Record | None = other
        for _ in range(_TRIES):
            if left is None:
                return
            name = (left.key or b"").decode()
            left = await self._put(left.topic, name, self._newer(name, left), self._known.next_offset(left.topic))

    def _newer(self, name: str, record: Record) -> bytes | None:
        """The value of a record with a version above all known ones. One that cannot be read stays as it is."""
        version = self._known.next_version(record.topic, name)
        if record.topic == self._names.queries:
            return renewed(name, record.value, version)
        if record.value is None:
            return None
        try:
            stream = StreamRecord.read(name, record.value)
        except RecordError:
            return record.value
        if stream.definition is None:
            return record.value
        version = max(version, stream.definition.version + 1)
        return replace(stream, definition=replace(stream.definition, version=version)).encode()

    def _apply(self, records: list[Record]) -> None:
        for one in records:
            self._known.apply(one.topic, one.key, one.value, one.timestamp, one.offset)

    def _read(self, since: Mapping[str, int]) -> list[Record]:
        """The records of each topic from an offset on. LogError: they cannot be read."""
        consumer = self._log.consumer(self._group, committed_only=False, client_id="records")
        try:
            places = {TopicPartition(topic, 0): low for topic, low in since.items()}
            marks = {place: (low, consumer.watermarks(place)[1]) for place, low in places.items()}
            return list(each_that_is_there(consumer, marks, batch=_BATCH))
        finally:
            consumer.close()
