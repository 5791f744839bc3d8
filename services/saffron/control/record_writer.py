"""Writing of control records, which several processes write: replicas of control, and commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
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
Run = Callable[[Callable[[Mapping[str, int]], list[Record]], Mapping[str, int]], Awaitable[list[Record]]]
"""A function that calls another one, which waits for the broker."""
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
    """A record of ours; `value` None: a tombstone. `before`: the record that was in force at offset `since`."""

    name: str
    version: int
    value: bytes | None
    before: Numbered | None
    since: int


@dataclass(frozen=True)
class _Seen:
    """What others wrote beside a record of ours. `overtaken`: ours was made of an older record than the one before it.

    `left`: the change to write again, since the last message of the key says something else; None: there is none.
    """

    overtaken: bool = False
    left: Applied[Any] | None = None


class RecordWriter:
    """The writer of a process. A change is made of the newest records, and made again if another one was faster.

    A lock in one process keeps no other process from writing a record of the same key. Of records of one version
    readers take the first (`KeyedRecords`). The process whose record comes second sees that. It writes the first one
    again, as a newer version, since compaction leaves the last record of a key; then it makes its own change anew.
    """

    def __init__(self, known: Known, topics: Topics, log: Log, send: Send, group: str, run: Run) -> None:
        self._known = known
        self._names = topics
        self._topics = (topics.streams, topics.queries, topics.query_status)
        self._log = log
        self._send = send
        self._group = group
        self._run = run
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
            written = _Written(record.name, record.version, record.encode(), before.get(record.name), since)
            seen = await self._put(topic, written)
            await self._restore(topic, seen.left)
            if not seen.overtaken:
                return made
        raise OvertakenError("others are changing the same at this moment: look at it, and ask again")

    async def remove(self, topic: str, name: str) -> None:
        """Writes a tombstone, whatever others have written."""
        await self._send(topic, name.encode(), None)
        await self._take(topic)

    async def catch_up(self, topic: str) -> None:
        """Applies what the control topics have now, before a record of `topic` is written.

        What a failure has left unchecked of this topic is checked first. LogError: they cannot be read.
        """
        await self._restore(topic, (await self._check(topic)).left)
        await self._take(*self._topics)

    async def _take(self, *topics: str) -> None:
        """Applies what some topics have now."""
        self._apply(await self._run(self._read, {one: self._known.next_offset(one) for one in topics}))

    async def _put(self, topic: str, written: _Written) -> _Seen:
        """Writes a record, and applies all that is there then."""
        self._unchecked[topic] = written
        await self._send(topic, written.name.encode(), written.value)
        return await self._check(topic)

    async def _check(self, topic: str) -> _Seen:
        """What others wrote beside our last record of a topic. It is looked for once, unless the look fails."""
        if (written := self._unchecked.get(topic)) is None:
            return _Seen()
        found = await self._run(self._read, {topic: written.since})
        del self._unchecked[topic]
        self._apply(found)
        table: KeyedRecords[Any] = (query_table if topic == self._names.queries else stream_records)(topic)
        if written.before is not None:
            table.rows[written.name] = written.before
        return _seen(written, found, table)

    async def _restore(self, topic: str, left: Applied[Any] | None) -> None:
        """Writes the record of another process again, as a newer version, where there is one."""
        for _ in range(_TRIES):
            if left is None:
                return
            name, version = left.key, self._known.next_version(topic, left.key)
            value = None if left.row is None else replace(left.row, version=version).encode()
            since, before = self._known.next_offset(topic), self._known.records(topic).get(name)
            left = (await self._put(topic, _Written(name, version, value, before, since))).left

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


def _seen(written: _Written, found: Sequence[Record], table: KeyedRecords[Any]) -> _Seen:
    """What the messages of a topic say of our record. `table`: as readers have it before them."""
    found = [one for one in found if one.key == written.name.encode()]
    first = next((place for place, one in enumerate(found) if one.value == written.value), None)
    if first is None:  # it did not arrive, or is compacted away, since a later one came
        return _Seen()
    changes = [table.apply(one.key, one.value, one.offset) for one in found]
    before = next((one for one in reversed(changes[:first]) if isinstance(one, Applied)), None)
    in_force = next((one for one in reversed(changes) if isinstance(one, Applied)), None)
    is_made_of_it = before is None or (before.row is not None and 0 < before.row.version == written.version - 1)
    overtaken = not isinstance(changes[first], Applied) or not is_made_of_it
    if in_force is changes[first]:  # of records without a version the last one is taken
        return _Seen(overtaken, before if overtaken else None)
    is_last = found[-1].value == written.value  # the client sends again what was not acknowledged
    return _Seen(overtaken, in_force if is_last else None)
