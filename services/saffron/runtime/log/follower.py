"""Follower of a whole small topic, without a group: for control topics and reports (`queries`, `models`, `load`)."""

from __future__ import annotations

from saffron.errors import LogError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition

_BATCH = 500


class Follower:
    """Reads every partition of `topic` from the first record. `from_end`: only new records."""

    def __init__(self, log: Log, topic: str, *, from_end: bool = False) -> None:
        count = log.partitions(topic)
        if count is None:
            raise LogError(f"topic {topic!r} is missing: create the topics first (`saffron up` does)")
        self._consumer: Consumer = log.consumer(
            f"{topic}.follower", committed_only=True, client_id="follower", patient=True
        )
        positions: dict[TopicPartition, int] = {}
        for partition in range(count):
            where = TopicPartition(topic, partition)
            low, high = self._consumer.watermarks(where)
            positions[where] = high if from_end else low
        self._consumer.assign(positions)
        self._behind = set(positions)

    def step(self) -> list[Record]:
        """The records since the last call. Never waits."""
        records = self._consumer.poll(_BATCH, 0.0)
        if self._behind and not records:
            self._behind = {where for where in self._behind if not self._consumer.at_end(where)}
        return records

    @property
    def caught_up(self) -> bool:
        """Whether all records that existed at the start have been read. Once true, it stays true."""
        return not self._behind

    def close(self) -> None:
        self._consumer.close()
