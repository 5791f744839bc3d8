"""Writing of control records, which several processes write: replicas of control, and commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from saffron.errors import OvertakenError
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.records.table import Applied, KeyedRecords, query_table
from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.log.ends import each_that_is_there
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import stream_records

Send = Callable[[str, bytes, bytes | None], Awaitable[None]]
"""A function that writes one message (topic, key, value), and returns once the broker has it."""
Numbered = QueryRecord | StreamRecord
"""A record with a version, under the key of its name."""
_BATCH = 500
_TRIES = 8

R = TypeVar("R")


class Known(Protocol):
    """What a process knows of the control topics: it is fed their messages, and passes over those that it had."""

    def next_offset(self, topic: str) -> int:
        """The offset after the last message of a topic that was applied."""

    def apply(self, topic: str, key: bytes | None, value: bytes | None, at: int, offset: int) -> object:
        """Applies one message; `at`: its time in ms."""

    def records(self, topic: str) -> Mapping[str, Numbered]:
        """The records of queries or streams, by name, as they are now."""

    def next_version(self, topic: str, name: str) -> int:
        """A version above all known ones of a query or stream."""


@dataclass(frozen=True)
class _Written:
    """A record of ours; `value` None: a tombstone. `before`: the record at offset `since`, of which ours was made."""

    name: str
    value: bytes | None
    before: Numbered | None
    since: int


class RecordWriter:
    """The writer of a process. A change is made of the newest records, and made again if another one was faster.

    A lock in one process keeps no other process from writing a record of the same key. Of records of one version
    readers take the first (`KeyedRecords`). The process whose record comes second sees that. It writes the first one
    again, as a newer version, since compaction leaves the last record of a key; then it makes its own change anew.
    """

    def __init__(self, known: Known, topics: Topics, log: Log, send: Send, group: str) -> None:
        self._known = known
        self._names = topics
        self._topics = (topics.streams, topics.queries, topics.query_status)
        self._log = log
        self._send = send
        self._group = group
        self._unchecked: dict[str, _Written] = {}

    async def change(
        self, topic: str, make: Callable[[], Awaitable[R]], record_of: Callable[[R], Numbered | None]
    ) -> R:
        """Makes a change and writes its record (None: there is nothing to write). Returns the change.

        `make`: makes it of what is known. OvertakenError: others change the same record all the time.
        """
        for _ in range(_TRIES):
            await self.catch_up(topic)
            since, before = self._known.next_offset(topic), self._known.records(topic)
            made = await make()
            if (record := record_of(made)) is None:
                return made
            written = _Written(record.name, record.encode(), before.get(record.name), since)
            if (other := await self._put(topic, written)) is None:
                return made
            await self._restore(topic, other)
        raise OvertakenError("others are changing the same at this moment: look at it, and ask again")

    async def remove(self, topic: str, name: str) -> None:
        """Writes a tombstone, whatever others have written."""
        await self._put(topic, _Written(name, None, None, self._known.next_offset(topic)))

    async def catch_up(self, topic: str) -> None:
        """Applies what the control topics have now, before a record of `topic` is written.

        What a failure has left unchecked of this topic is checked first. LogError: they cannot be read.
        """
        if (other := await self._check(topic)) is not None:
            await self._restore(topic, other)
        since = {one: self._known.next_offset(one) for one in self._topics}
        self._apply(await asyncio.to_thread(self._read, since))

    async def _put(self, topic: str, written: _Written) -> Applied[Any] | None:
        """Writes a record, and applies all up to it; see `_check`."""
        await self._send(topic, written.name.encode(), written.value)
        self._unchecked[topic] = written
        return await self._check(topic)

    async def _check(self, topic: str) -> Applied[Any] | None:
        """The change by another process that our last record of a topic overtook, and that readers took. None: none.

        Looked for once, unless the look fails.
        """
        if (written := self._unchecked.get(topic)) is None:
            return None
        key, value = written.name.encode(), written.value
        found = await asyncio.to_thread(self._read, {topic: written.since})
        del self._unchecked[topic]
        ours = [place for place, one in enumerate(found) if (one.key, one.value) == (key, value)]
        found = found[: ours[-1] + 1] if ours else found
        self._apply(found)
        table: KeyedRecords[Any] = (query_table if topic == self._names.queries else stream_records)(topic)
        if written.before is not None:
            table.rows[written.name] = written.before
        last = None
        for one in found:
            change = table.apply(one.key, one.value, one.offset) if one.key == key else None
            if isinstance(change, Applied):
                if one.value == value:
                    break
                last = change
        return last

    async def _restore(self, topic: str, other: Applied[Any]) -> None:
        """Writes the record of another process again, as a newer version, since ours came after it."""
        left: Applied[Any] | None = other
        for _ in range(_TRIES):
            if left is None:
                return
            name, version = left.key, self._known.next_version(topic, left.key)
            value = None if left.row is None else replace(left.row, version=version).encode()
            since, before = self._known.next_offset(topic), self._known.records(topic).get(name)
            left = await self._put(topic, _Written(name, value, before, since))

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
