"""Where the events of one source partition go: the new key of each, its partition, and how far event time has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.streams.event_keys import keys_of
from saffron.schema.schema import Schema

_ANY = Schema({}, {}, {}, times={"": "uniform"})
"""Of the events only their times are read, exact ones or intervals."""
_partition_of = lru_cache(maxsize=65_536)(partition_of)


@dataclass(frozen=True, slots=True)
class Move:
    """Record `row` of a batch goes to `partition` under `key`; or it is an `end`, which concerns every partition."""

    row: int
    partition: int = -1
    key: bytes | None = None
    end: bool = False


class Rekeying:
    """Of one source partition. `key`: the attribute that is the new key; None: all go to partition 0, keys as they are.

    `disorder`: how late an event may be (ms). `watermark`: no event below it comes any more but late ones; it is raised
    as that of the source is. What is no event goes nowhere: it is a dead letter of the source.
    """

    def __init__(self, key: str | None, partitions: int, max_future: int, watermark: int = NO_WATERMARK) -> None:
        self.watermark = watermark
        self.disorder = 0
        self._key = key
        self._partitions = partitions
        self._decoder = Decoder(_ANY, max_future)

    def moves(self, batch: RawBatch) -> Iterator[Move]:
        """In the order of the records; `watermark` is that of those taken so far."""
        decoded = self._decoder.decode(batch)
        rows = decoded.rows.tolist()
        keys: list[bytes | None] = [None] * len(rows)
        if self._key is not None:
            keys = keys_of([batch.value(row) for row in rows], self._key)
        events = zip(rows, decoded.ts.tolist(), keys, strict=True)
        marks = iter(decoded.watermarks)
        mark = next(marks, None)
        for row, ts, key in events:
            while mark is not None and mark.row < row:
                yield from self._mark(mark.row, mark.ts, mark.end)
                mark = next(marks, None)
            self.watermark = max(self.watermark, ts - self.disorder)
            yield self._move(row, key)
        while mark is not None:
            yield from self._mark(mark.row, mark.ts, mark.end)
            mark = next(marks, None)

    def _move(self, row: int, key: bytes | None) -> Move:
        if self._key is None:
            return Move(row, 0)
        key = key or b""  # as `produce` does: an event without the attribute has one home, too
        return Move(row, _partition_of(key, self._partitions), key)

    def _mark(self, row: int, ts: int, end: bool) -> Iterator[Move]:
        self.watermark = max(self.watermark, ts)
        if end:
            yield Move(row, end=True)
