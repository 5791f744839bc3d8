"""The order of a partition's events: late ones are refused, the others held back until the watermark has passed them.

Whether an event is late depends on the watermark at its arrival alone, never on where batches or blocks are cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import slice_columns, string_column
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.decoding.decode import Decoded
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NEVER, NO_WATERMARK
from saffron.engine.windows.dead_letters import LATE, LATE_BY_SILENCE, Refused
from saffron.engine.windows.marks import Marks
from saffron.engine.windows.order.arrival import Resumption, Verdict, judge
from saffron.engine.windows.order.hold import Arrivals, HoldBack
from saffron.engine.windows.order.origin import origin_keys
from saffron.engine.windows.order.silence import Silence
from saffron.engine.windows.order.sources import Sources
from saffron.schema.schema import Schema


class Ordering:
    """The watermark of one partition, and the events that it has not passed.

    `rekeyed`: the stream is made from other topics, whose partitions report their watermarks. Its events raise none.
    `merged`: it is made so, too, and events of one ts stand in the order of their origins (see `origin`).
    """

    def __init__(self, *, rekeyed: bool, merged: bool) -> None:
        self.watermark = NO_WATERMARK
        self.hold = HoldBack()
        self.silence = Silence()
        self.sources = Sources()
        self._rekeyed = rekeyed or merged
        self._merged = merged
        self._resumption: Resumption | None = None

    def resume(self, taken: Mapping[str, Any]) -> None:
        """Begin where the owner before stopped. `taken`: a block's `input`."""
        self.watermark = taken["floor"]
        self.silence = Silence(taken.get("heard"))
        self.sources = Sources.of(taken.get("sources"))
        released = taken["released"]
        self._resumption = None if released is None else Resumption(taken["next_offset"], tuple(released))

    def begin_anew(self, watermark: int) -> None:
        """Go on with another topic at this watermark or above: none of its records is in the log."""
        self.watermark = max(self.watermark, watermark)
        self._resumption = None

    def heard(self, batch: RawBatch, decoded: Decoded) -> Decoded:
        """The decoded records, with the watermarks of single source partitions replaced by those of the stream."""
        if all(mark.source is None for mark in decoded.watermarks):
            return decoded
        marks = (
            mark if mark.source is None else self.sources.heard(int(batch.offsets[mark.row]), mark)
            for mark in decoded.watermarks
        )
        return replace(decoded, watermarks=tuple(marks))

    def arrive(
        self, batch: RawBatch, decoded: Decoded, first: int, last: int, marks: Marks, version: Schema | None
    ) -> tuple[Arrivals | None, list[Refused]]:
        """Take the events of records first..last-1. Returns the events released, in order, and those that are late.

        `version`: the schema in force, where another one has decoded the records; else None.
        """
        low, high = np.searchsorted(decoded.rows, (first, last)).tolist()
        rows = decoded.rows[low:high]
        offsets = batch.offsets[rows]
        disorder = NEVER if self._rekeyed else marks.disorder
        origin = self._origin(decoded, low, high)
        keys = (decoded.ts[low:high], *origin, offsets)
        heard = self.silence.heard
        verdict = judge(decoded, first, last, slice(low, high), keys, self.watermark, disorder, self._resumption, heard)
        self.watermark = verdict.watermark
        if heard is not None:
            self.silence.judged(verdict, repeating=marks.first_due is not None)
        arrivals = Arrivals(_columns(batch, decoded, low, high), offsets, origin)
        if version is not None:
            arrivals = arrivals.conformed(version)
        if not verdict.taken.all():
            arrivals = arrivals.take(np.flatnonzero(verdict.taken).astype(np.int64, copy=False))
        return self._released(arrivals), _late(verdict, rows, keys[0])

    def raise_to(self, watermark: int) -> Arrivals | None:
        """Raise the watermark by a decision of the shell. Returns the events released."""
        self.watermark = max(self.watermark, watermark)
        return self._released(None)

    @property
    def lookups(self) -> tuple[frozenset[str], bool]:
        """See `WindowingOperator.lookups`."""
        said, held = self.sources.lookups, self.hold.lowest_offset
        return said, held is not None and self.sources.lookups_since(held) != said

    def _released(self, arrivals: Arrivals | None) -> Arrivals | None:
        # At the watermark itself more may come to a merged stream, of a source that orders before.
        return self.hold.exchange(arrivals, self.watermark - self._merged)

    def _origin(self, decoded: Decoded, low: int, high: int) -> tuple[NDArray[np.int64], ...]:
        """The origins of events low..high-1, of which a plain stream keeps none."""
        if not self._merged:
            return ()
        return tuple(key[low:high] for key in origin_keys(decoded.attributes, len(decoded)))


def _columns(batch: RawBatch, decoded: Decoded, low: int, high: int) -> Columns:
    """Events low..high-1 of a batch, with the times and traces of their messages."""
    rows = decoded.rows[low:high]
    times = np.zeros(high - low, dtype=np.int64) if batch.times is None else np.maximum(batch.times[rows], 0)
    trace: Column | None = None
    if batch.traces is not None:
        trace = string_column([batch.traces[row] for row in rows.tolist()])
    columns = Columns(
        seq=np.zeros(len(decoded), dtype=np.int64),
        ts=decoded.ts,
        time=np.zeros(len(decoded), dtype=np.int64),
        type=decoded.type,
        attributes=decoded.attributes,
        latest=decoded.latest,
    )
    return replace(slice_columns(columns, low, high), time=times, trace=trace)


def _late(verdict: Verdict, rows: NDArray[np.int64], ts: NDArray[np.int64]) -> list[Refused]:
    """The late events of a verdict. `rows`, `ts`: of the events judged."""
    return [
        (
            int(rows[event]),
            LATE_BY_SILENCE if verdict.silenced[event] else LATE,
            f"ts {ts[event]} is below {verdict.limits[event]}, the watermark when it arrived",
        )
        for event in np.flatnonzero(verdict.late).tolist()
    ]
