"""Test whether a topic has ever been written to."""

from __future__ import annotations

from saffron.runtime.log import Log, TopicPartition


class UsedTopics:
    """A function from a topic's name to whether anything was ever written to it."""

    def __init__(self, log: Log, group: str) -> None:
        self._log = log
        self._group = group

    def __call__(self, topic: str) -> bool:
        count = self._log.partitions(topic)
        if count is None:
            return False
        consumer = self._log.consumer(self._group, committed_only=True, client_id="streams")
        try:
            return any(consumer.watermarks(TopicPartition(topic, one))[1] > 0 for one in range(count))
        finally:
            consumer.close()
