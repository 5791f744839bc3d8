"""Records as the mapping reads them, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from saffron.engine.events.raw import RawBatch
from saffron.mapping.message import Message
from saffron.runtime.log import Record


def message_of(record: Record, value: bytes | None) -> Message:
    """A record as a message. `value`: the record's own, or its translation to JSON."""
    time = record.timestamp if record.timestamp >= 0 else None
    return Message(value, record.key, time, dict(record.headers), record.topic, record.partition, record.offset)


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
