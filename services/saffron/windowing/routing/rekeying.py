"""Re-keying of one source partition: the new key and partition of each event, and the watermark.

As in `merging`, an event is late by the watermark of its own source partition. So what is late depends neither on the
other partitions nor on when the watermark is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.dead_letters import LATE
from saffron.runtime.log import Record
from saffron.runtime.streams.event_keys import keys_of_good
from saffron.runtime.streams.merging import End, Inner, InnerEvent, Unread, late_detail, under_key
from saffron.schema.schema import Schema

_ANY = Schema({}, {}, {}, times={"": "uniform"})
"""A schema without types: only event times, exact or intervals, are read."""


class Rekeying:
    """The re-keying of one source partition.

    `key`: attribute with the new key; None: all events go to partition 0 with their keys. `disorder`: returns how late
    an event may be (ms). `watermark`: event time (ms) below which an event is late. Records that are no events are
    skipped: they are dead letters of the source.
    """

    def __init__(
        self,
        key: str | None,
        partitions: int,
        max_future: int,
        disorder: Callable[[], int],
        watermark: int = NO_WATERMARK,
    ) -> None:
        self.watermark = watermark
        self._disorder = disorder
        self._key = key
        self._partitions = partitions
        self._decoder = Decoder(_ANY, max_future)

    def read(self, batch: RawBatch, records: Sequence[Record]) -> Inner:
        """The events of a batch as they came, under their new keys. `records`: those of the batch, by row."""
        late: list[Unread] = []
        return Inner(list(self._moves(batch, records, late)), late)

    def _moves(self, batch: RawBatch, records: Sequence[Record], late: list[Unread]) -> Iterator[InnerEvent | End]:
        """The events under their new keys, with each `End` between them, in the order of the records.

        Adds to `late` those that are late. Raises `watermark` by each event and by each `$watermark`.
        """
        decoded = self._decoder.decode(batch)
        disorder = self._disorder()
        rows = decoded.rows.tolist()
        keys: list[bytes | None] = [None] * len(rows)
        if self._key is not None:
            keys = keys_of_good([batch.value(row) for row in rows], self._key)
        events = zip(rows, decoded.ts.tolist(), keys, strict=True)
        marks = iter(decoded.watermarks)
        mark = next(marks, None)
        for row, ts, key in events:
            while mark is not None and mark.row < row:
                yield from self._mark(mark.ts, mark.end)
                mark = next(marks, None)
            if ts < self.watermark:
                late.append(Unread(row, 0, LATE, late_detail(ts, self.watermark)))
                continue
            self.watermark = max(self.watermark, ts - disorder)
            yield self._move(row, key, records[row])
        while mark is not None:
            yield from self._mark(mark.ts, mark.end)
            mark = next(marks, None)

    def _move(self, row: int, key: bytes | None, record: Record) -> InnerEvent:
        value = record.value or b""
        if self._key is None:
            return InnerEvent(row, 0, record.key, value)
        return under_key(row, key, self._partitions, value)

    def _mark(self, ts: int, end: bool) -> Iterator[End]:
        self.watermark = max(self.watermark, ts)
        if end:
            yield End(self.watermark)
