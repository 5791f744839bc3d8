"""What brokers say of a partition: its ends, its offsets by time, and the position that a group has committed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
from confluent_kafka import KafkaException

from saffron.runtime.log import Committed, TopicPartition
from saffron.runtime.log.kafka.errors import is_denied, is_topic_unsettled, translate
from saffron.runtime.log.kafka.messages import partition_name

_TIMEOUT = 10.0
_AGAIN = 0.05


def committed(consumer: ck.Consumer, group: str, partition: TopicPartition) -> Committed | None:
    """The position of the consumer's group."""
    where = [ck.TopicPartition(partition.topic, partition.partition)]
    try:
        found = consumer.committed(where, timeout=_TIMEOUT)[0]
    except KafkaException as error:
        raise translate(error, f"asking for the position of {partition_name(partition)} in group {group}") from error
    if found.error is not None:
        raise translate(found.error, f"asking for the position of {partition_name(partition)} in group {group}")
    return None if found.offset < 0 else Committed(found.offset, found.metadata or "")


def watermarks(consumer: ck.Consumer, partition: TopicPartition) -> tuple[int, int]:
    """The first offset, and the end."""
    where = ck.TopicPartition(partition.topic, partition.partition)
    low, high = _settled(
        consumer, partition, lambda: consumer.get_watermark_offsets(where, timeout=_TIMEOUT, cached=False)
    )
    return int(low), int(high)


def offset_at(consumer: ck.Consumer, partition: TopicPartition, time: int) -> int:
    """The first offset whose message has this time (ms) or a later one; else the end."""
    where = ck.TopicPartition(partition.topic, partition.partition, time)
    found = _settled(consumer, partition, lambda: consumer.offsets_for_times([where], timeout=_TIMEOUT)[0])
    if found.error is not None:
        raise translate(found.error, f"asking for an offset of {partition_name(partition)}")
    return int(found.offset) if found.offset >= 0 else watermarks(consumer, partition)[1]


def _settled(consumer: ck.Consumer, partition: TopicPartition, ask: Callable[[], Any]) -> Any:
    """The answer about a partition, asked for again while its topic or leader is not known to all brokers yet."""
    until = time.monotonic() + _TIMEOUT
    while True:
        try:
            return ask()
        except KafkaException as error:
            if not is_topic_unsettled(error) or time.monotonic() > until:
                doing = f"asking for the ends of {partition_name(partition)}"
                raise translate(error, doing, read=partition.topic) from error
        _require_seen(consumer, partition)
        time.sleep(_AGAIN)


def _require_seen(consumer: ck.Consumer, partition: TopicPartition) -> None:
    """DeniedError: the topic is unknown because the user has no right to see it."""
    try:
        found = consumer.list_topics(partition.topic, timeout=_TIMEOUT).topics
    except KafkaException as error:
        raise translate(error, f"asking for topic {partition.topic}") from error
    wrong = found[partition.topic].error if partition.topic in found else None
    if wrong is not None and is_denied(wrong):
        raise translate(wrong, f"asking for the ends of {partition_name(partition)}", read=partition.topic)
