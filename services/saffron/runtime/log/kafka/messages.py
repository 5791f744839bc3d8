"""Conversions between librdkafka's messages, positions and partitions and those of `runtime.log`."""

from __future__ import annotations

from collections.abc import Mapping

import confluent_kafka as ck

from saffron.runtime.log import Committed, Record, TopicPartition

_NO_TIME = 0


def partition_name(partition: TopicPartition) -> str:
    """The partition as text, TOPIC/PARTITION."""
    return f"{partition.topic}/{partition.partition}"


def offsets_of(positions: Mapping[TopicPartition, Committed]) -> list[ck.TopicPartition]:
    """The positions in the client's form."""
    return [ck.TopicPartition(w.topic, w.partition, c.offset, c.metadata) for w, c in positions.items()]


def record_of(message: ck.Message) -> Record:
    """The record of a message without an error."""
    kind, time = message.timestamp()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp=time if kind != _NO_TIME else -1,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )
