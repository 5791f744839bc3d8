"""How far a chain of the last hop has come, told by what it has written itself.

The position that a group has committed is gone when the group is deleted or was empty for too long, and is another
when it is set by Kafka's own tools; these leave no metadata. What a chain writes stands all the same: the last record
of each transaction names in a header the place reached. The two are of one transaction, so that they agree.

    place   TOPIC-ID/PARTITION/OFFSET/INDEX, where OFFSET and INDEX are those of `chain_plan.Place`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.log.ends import newest_first

HEADER = "place"


@dataclass(frozen=True)
class Written:
    """The place that a record names. `topic`: the id of the input topic."""

    topic: str
    partition: int
    offset: int
    index: int

    def header(self) -> tuple[str, bytes]:
        """As the record carries it."""
        return HEADER, f"{self.topic}/{self.partition}/{self.offset}/{self.index}".encode()


def written_in(record: Record) -> Written | None:
    """The place that a record names, if it does."""
    for name, value in record.headers:
        if name == HEADER:
            topic, *numbers = value.decode("ascii", "replace").rsplit("/", 3)  # ids may have slashes
            try:
                partition, offset, index = map(int, numbers)
            except ValueError:
                return None  # a header of somebody else's
            return Written(topic, partition, offset, index)
    return None


def last_written(log: Log, group: str, output: str, ours: Callable[[Record], bool]) -> Record | None:
    """The newest record of the topic `output` that a chain has written; of version 0.1.0 none names a place.

    `ours`: whether a record is the chain's. All partitions are looked at, for the one that a chain writes to is another
    where `output` has got more of them.
    """
    found = []
    for index in range(log.partitions(output) or 0):
        newest = next(filter(ours, newest_first(log, group, TopicPartition(output, index))), None)
        found += [newest] if newest is not None else []
    return max(found, key=_reached, default=None)


def _reached(record: Record) -> tuple[int, int]:
    written = written_in(record)
    return (-1, 0) if written is None else (written.offset, written.index)
