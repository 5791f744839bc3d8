"""Positions that chains write into their own output, for recovery where the group's committed position is gone.

Kafka deletes a group's position with the group, or when the group is empty for too long. Kafka's own tools can set
another one, without metadata. So the last record of each transaction names the place reached in a header. Header and
committed position belong to one transaction, so they agree.

    place   TOPIC-ID/PARTITION/OFFSET/INDEX, where OFFSET and INDEX are those of `chain_plan.Place`
    failed  where queries have failed: their entries as they are committed (JSON). INDEX counts results without theirs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.log.ends import newest_first
from saffron.runtime.process.search import Check

HEADER, FAILED = "place", "failed"
_MANY_OLDER = 10_000


@dataclass(frozen=True)
class WrittenPlace:
    """The place that a record names. `topic`: the id of the input topic. `failed`: JSON, empty without any."""

    topic: str
    partition: int
    offset: int
    index: int
    failed: bytes = b""

    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """The headers of the record: their names and values."""
        place = HEADER, f"{self.topic}/{self.partition}/{self.offset}/{self.index}".encode()
        return (place, (FAILED, self.failed)) if self.failed else (place,)


def written_place(record: Record) -> WrittenPlace | None:
    """The place that a record names, or None."""
    for name, value in record.headers:
        if name == HEADER:
            topic, *numbers = value.decode("ascii", "replace").rsplit("/", 3)  # ids may have slashes
            try:
                partition, offset, index = map(int, numbers)
            except ValueError:
                return None  # a header of another program
            failed = next((value for name, value in record.headers if name == FAILED), b"")
            return WrittenPlace(topic, partition, offset, index, failed)
    return None


def last_written(
    log: Log,
    group: str,
    outputs: Iterable[str],
    is_own: Callable[[Record], bool],
    topic: str,
    since: int,
    check: Check,
) -> Record | None:
    """The newest record of the topics `outputs` that this chain has written, or None.

    `is_own`: whether a record is the chain's. `topic`: the id of its input. Records that name the place of an earlier
    topic count only where none names one of this topic. `since`: the time (ms) before which it has written none that
    matters; where only older records come, none is looked for. `check`: called for each record; what it raises ends the
    search.

    All partitions are read: a chain writes to others after partitions were added, and in topics of PUBLISH by key.
    Records of version 0.1.0 name no place, and records of PUBLISH name none unless they are the last of their
    transaction.
    """
    places = [TopicPartition(topic, index) for topic in outputs for index in range(log.partitions(topic) or 0)]
    found = []
    for place in places:
        with closing(newest_first(log, group, place)) as records:
            newest = next(filter(is_own, _recent(records, since, check)), None)
        found += [newest] if newest is not None else []
    return max(found, key=lambda record: _order(record, topic), default=None)


def _recent(records: Iterable[Record], since: int, check: Check) -> Iterator[Record]:
    """Records, newest first, up to many that are all older. A few older ones say little: clocks of services differ."""
    older = 0
    for record in records:
        check()
        older = older + 1 if record.timestamp < since else 0
        if older > _MANY_OLDER:
            return
        yield record


def _order(record: Record, topic: str) -> tuple[bool, int, int]:
    written = written_place(record)
    return (False, -1, 0) if written is None else (written.topic == topic, written.offset, written.index)
