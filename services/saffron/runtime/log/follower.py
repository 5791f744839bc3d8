"""Follower of a whole small topic, without a group: for control topics and reports (`queries`, `models`, `load`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from saffron.errors import LogError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition

_BATCH = 500
_LOOK_SECONDS = 0.01


class Follower:
    """Reads `topic` from the first record.

    `from_end`: only new records. `only`: these of its partitions; None: all. `group`: for which Kafka asks
    for rights, although it gets no members; "": by the topic, which has our prefix.
    """

    def __init__(
        self, log: Log, topic: str, *, from_end: bool = False, only: Iterable[int] | None = None, group: str = ""
    ) -> None:
        count = log.partitions(topic)
        if count is None:
            raise LogError(f"topic {topic!r} is missing: create the topics first (`saffron up` does)")
        self._consumer: Consumer = log.consumer(
            group or f"{topic}.follower", committed_only=True, client_id="follower", patient=True
        )
        positions: dict[TopicPartition, int] = {}
        self._behind: dict[TopicPartition, int] = {}  # partition -> its end at the start
        for partition in range(count) if only is None else only:
            where = TopicPartition(topic, partition)
            low, high = self._consumer.watermarks(where)
            positions[where] = high if from_end else low
            if positions[where] < high:
                self._behind[where] = high
        self._consumer.assign(positions)

    def step(self, wait: float = 0.0) -> list[Record]:
        """The records since the last call. Waits up to `wait` seconds for the first one."""
        records = self._consumer.poll(_BATCH, wait)
        if self._behind:
            self._advance(records)
        return records

    @property
    def caught_up(self) -> bool:
        """True if all records that existed at the start have been read. Once true, it stays true."""
        return not self._behind

    def close(self) -> None:
        self._consumer.close()

    def _advance(self, records: Sequence[Record]) -> None:
        """Forgets the partitions whose last record was read, or has gone: the broker tells their end later."""
        read = {one.where: one.offset + 1 for one in records}
        self._behind = {
            where: end
            for where, end in self._behind.items()
            if read.get(where, 0) < end and (records or not self._consumer.at_end(where))
        }


def content(log: Log, topic: str, group: str = "") -> Iterator[Sequence[Record]]:
    """The present content of a topic in batches, older values of a key included until they are compacted.

    A batch is empty where nothing has come for a moment, so that who waits may give up. `group`: as of a `Follower`.
    """
    follower = Follower(log, topic, group=group)
    try:
        while not follower.caught_up:
            records = follower.step()
            yield records
            if not records:
                time.sleep(_LOOK_SECONDS)
    finally:
        follower.close()
