"""Conversions between librdkafka's messages, positions and partitions and those of `runtime.log`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

import confluent_kafka as ck
import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.runtime.log import Committed, Record, TopicPartition
from saffron.runtime.log.traces import traces_of

_NO_TIME = 0
_HEADERS, _TIMESTAMP, _VALUE = ck.Message.headers, ck.Message.timestamp, ck.Message.value
_SECOND = itemgetter(1)


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


def batch_of(messages: Sequence[ck.Message]) -> RawBatch:
    """The batch of messages of one partition, at least one."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # no gaps
        offsets = np.arange(first, last + 1, dtype=np.int64)
    else:
        offsets = np.array([message.offset() for message in messages], dtype=np.int64)
    times = np.fromiter(map(_SECOND, map(_TIMESTAMP, messages)), np.int64, len(messages))
    batch = batch_of_values(list(map(_VALUE, messages)), offsets, times)
    if any(map(_HEADERS, messages)):
        return replace(batch, traces=traces_of([message.headers() for message in messages]))
    return batch
