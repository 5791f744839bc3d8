"""Messages as the mapping reads them: of records, each made when it is asked for, and of the lines of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.mapping.message import Message, MessageError, Number, parse, written
from saffron.runtime.log import Record, TopicPartition

_OF_RECORD = frozenset({"key", "value", "time", "headers"})
"""Fields of a line that is a whole record and not a value alone."""
_NO_TIME = -1


def message_of(record: Record, value: bytes | None) -> Message:
    """A record as a message. `value`: the record's own, or its translation to JSON."""
    time = record.timestamp if record.timestamp >= 0 else None
    return Message(
        value,
        record.key,
        time,
        {name: header for name, header in record.headers if header is not None},
        record.topic,
        record.partition,
        record.offset,
    )


class Messages(Sequence[Message]):
    """The messages of a batch. `batch`: the values of `records` as JSON, by row."""

    def __init__(self, records: Sequence[Record], batch: RawBatch) -> None:
        self._records = records
        self._batch = batch

    @overload
    def __getitem__(self, row: int) -> Message: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Message]: ...
    def __getitem__(self, row: int | slice) -> Message | Sequence[Message]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        record = self._records[row]
        return message_of(record, None if record.value is None else self._batch.value(row))

    def __len__(self) -> int:
        return len(self._records)


def batch_of(records: Sequence[Record]) -> RawBatch:
    """The values of records as a batch."""
    offsets = np.array([record.offset for record in records], dtype=np.int64)
    times = np.array([record.timestamp for record in records], dtype=np.int64)
    return batch_of_values([record.value for record in records], offsets, times)


def records_of(lines: RawBatch, where: TopicPartition) -> tuple[list[Record], RawBatch]:
    """The records that the lines of a file stand for, as those of a partition, and their values.

    A row of a table that is no message keeps its reason.
    """
    offsets = lines.offsets.tolist()
    records = [record_in(lines.value(row), where, offset) for row, offset in enumerate(offsets)]
    return records, replace(batch_of(records), refused=lines.refused)


def record_in(line: bytes, where: TopicPartition, offset: int) -> Record:
    """The record that a line stands for: its value alone, or {"key": ..., "time": ..., "headers": ..., "value": ...}"""
    found = _fields(line) if b'"value"' in line else None
    if found is None:
        return Record(where.topic, where.partition, offset, _NO_TIME, None, line)
    key, value, time, headers = found.get("key"), found["value"], found.get("time"), found.get("headers")
    return Record(
        where.topic,
        where.partition,
        offset,
        int(time) if isinstance(time, Number) and time.isdigit() else _NO_TIME,
        None if key is None else str(key).encode() if isinstance(key, str) else written(key),
        None if value is None else value.encode() if isinstance(value, str) else written(value),
        tuple((name, str(text).encode()) for name, text in headers.items()) if isinstance(headers, dict) else (),
    )


def _fields(line: bytes) -> dict[str, Any] | None:
    """The fields of a line that is a record; None: it is a value."""
    try:
        found = parse(line)
    except MessageError:
        return None
    return found if isinstance(found, dict) and "value" in found and _OF_RECORD.issuperset(found) else None
