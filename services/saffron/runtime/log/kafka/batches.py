"""Batches of raw records from librdkafka's messages. NumPy makes them, which only services and files wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

import confluent_kafka as ck
import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.runtime.log.traces import traces_of

_HEADERS, _TIMESTAMP, _VALUE = ck.Message.headers, ck.Message.timestamp, ck.Message.value
_SECOND = itemgetter(1)


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
