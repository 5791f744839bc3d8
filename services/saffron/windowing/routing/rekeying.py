"""Re-keying of one source partition: the new key and partition of each event, and the watermark."""

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
"""A schema without types: only event times, exact or intervals, are read."""
_partition_of = lru_cache(maxsize=65_536)(partition_of)


@dataclass(frozen=True, slots=True)
class Move:
    """The destination of record `row` of a batch: `partition`, under `key`. An `end` mark goes to every partition."""

    row: int
    partition: int = -1
    key: bytes | None = None
    end: bool = False


class Rekeying:
    """The re-keying of one source partition.

    `key`: attribute with the new key; None: all events go to partition 0 with their keys. `disorder`: how late an event
    may be (ms). `watermark`: event time (ms) below which only late events come. Records that are no events are skipped:
    they are dead letters of the source.
    """

    def __init__(self, key: str | None, partitions: int, max_future: int, watermark: int = NO_WATERMARK) -> None:
        self.watermark = watermark
        self.disorder = 0
        self._key = key
        self._partitions = partitions
        self._decoder = Decoder(_ANY, max_future)

    def moves(self, batch: RawBatch) -> Iterator[Move]:
        """The destinations in the order of the records. `watermark` covers the records yielded so far."""
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
        key = key or b""  # as `produce`: events without the attribute share a partition
        return Move(row, _partition_of(key, self._partitions), key)

    def _mark(self, row: int, ts: int, end: bool) -> Iterator[Move]:
        self.watermark = max(self.watermark, ts)
        if end:
            yield Move(row, end=True)
