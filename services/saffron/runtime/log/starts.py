"""The offset at which the reading of a source begins, by the `start` of its definition."""

from __future__ import annotations

from saffron.mapping.definition import Start
from saffron.runtime.log import Consumer, TopicPartition


def start_offset(consumer: Consumer, partition: TopicPartition, start: Start | int) -> int:
    """The offset of the first record to be read of a partition that was never read. `start`: as in a definition.

    A record is at a time by its own timestamp, as the topic's message.timestamp.type says. LogError: as `watermarks`.
    """
    if start is Start.EARLIEST:
        return consumer.watermarks(partition)[0]
    if start is Start.LATEST:
        return consumer.watermarks(partition)[1]
    return consumer.offset_at(partition, start)
