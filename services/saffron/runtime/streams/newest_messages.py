"""The newest records of topics, for an occasional look at what is in them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from saffron.errors import LogError, UnavailableError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.streams.unknown_names import no_topic

MOST_BYTES = 64 * 2**20
"""Bytes of keys and values of one look, over all its partitions."""
LOOK_SECONDS = 20.0
"""Longest duration of one look."""
_WIDER, _WIDENINGS = 4, 4
_BATCH, _POLL_SECONDS = 500, 0.05

Newest = Mapping[TopicPartition, "NewestRecords"]


@dataclass(frozen=True)
class NewestRecords:
    """The newest records of one partition, in order. `whole`: the partition has no others."""

    records: Sequence[Record]
    whole: bool


def newest_records(
    log: Log, group: str, topics: Sequence[str], count: int, clock: Callable[[], float] = time.monotonic
) -> Newest:
    """The newest committed records of topics: about `count` of each, as many of each of its partitions.

    A look takes `MOST_BYTES` at most, at the cost of older records. LogError: there is no such topic.
    UnavailableError: the topics cannot be read within `LOOK_SECONDS`.
    """
    places = {topic: [TopicPartition(topic, one) for one in range(_partitions(log, topic))] for topic in topics}
    most_bytes = MOST_BYTES // max(1, sum(map(len, places.values())))
    deadline = clock() + LOOK_SECONDS
    consumer = log.consumer(group, committed_only=True, client_id="newest")
    try:
        return {
            place: _Reading(consumer, place, -(-count // len(each)), most_bytes, lambda: clock() > deadline).read()
            for each in places.values()
            for place in each
        }
    finally:
        consumer.close()


def in_order_of_time(newest: Newest, topic: str) -> list[Record]:
    """The records of all partitions of a topic, by their own times."""
    found = [record for place, one in newest.items() if place.topic == topic for record in one.records]
    return sorted(found, key=lambda one: (one.timestamp, one.partition, one.offset))


def from_one_moment(newest: Newest) -> tuple[Newest, int | None]:
    """The records from the time on (ms) from which all partitions are known; None: all are known whole.

    A partition of which only the newest records are known says nothing of what came before them. Of that very
    millisecond some may be missing.
    """
    starts = [one.records[0].timestamp for one in newest.values() if not one.whole and one.records]
    if not starts:
        return newest, None
    since = max(starts)
    return {place: _since(one, since) for place, one in newest.items()}, since


# ------------------------------------------------------------ inside


class _Reading:
    """The reading of one partition. `expired`: whether the look has taken too long."""

    def __init__(
        self, consumer: Consumer, place: TopicPartition, count: int, most_bytes: int, expired: Callable[[], bool]
    ) -> None:
        self._consumer = consumer
        self._place = place
        self._count = count
        self._most_bytes = most_bytes
        self._expired = expired

    def read(self) -> NewestRecords:
        """The newest records. Transaction markers and compaction leave gaps, so the search goes back further."""
        low, stop = self._consumer.watermarks(self._place)
        span = self._count
        for widening in range(_WIDENINGS + 1):
            start = max(low, stop - span)
            records, dropped = self._from(start, stop) if stop > start else ([], False)
            if start == low or dropped or len(records) >= self._count or widening == _WIDENINGS:
                break
            span *= _WIDER
        return NewestRecords(records, whole=start == low and not dropped)

    def _from(self, start: int, stop: int) -> tuple[list[Record], bool]:
        """The last records of start..stop-1, and whether there are earlier ones among these offsets."""
        kept: deque[Record] = deque()
        size, dropped = 0, False
        self._consumer.assign({self._place: start})
        while True:
            records = self._consumer.poll(_BATCH, _POLL_SECONDS)
            for record in records:
                if record.offset < stop:
                    kept.append(record)
                    size += record.size
                while len(kept) > self._count or (size > self._most_bytes and len(kept) > 1):
                    size -= kept.popleft().size
                    dropped = True
            if records and records[-1].offset >= stop - 1:
                return list(kept), dropped
            if not records and self._consumer.at_end(self._place):
                return list(kept), dropped
            if self._expired():
                where = f"{self._place.topic}/{self._place.partition}"
                raise UnavailableError(f"{where} could not be read within {LOOK_SECONDS:g} s: ask for fewer messages")


def _partitions(log: Log, topic: str) -> int:
    count = log.partitions(topic)
    if count is None:
        raise LogError(no_topic(topic, log.topics()))
    return count


def _since(one: NewestRecords, since: int) -> NewestRecords:
    """The records from the first on that is not older than `since`."""
    first = next((row for row, record in enumerate(one.records) if record.timestamp >= since), len(one.records))
    return replace(one, records=one.records[first:])
