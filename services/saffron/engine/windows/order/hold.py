"""Events held back until the watermark passes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import (
    concat_columns,
    conformed,
    prune_columns,
    slice_columns,
    take_columns,
)
from saffron.engine.events.columns import Columns
from saffron.schema.schema import Schema

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """n events, with the offsets (int64 [n]) of their records. `columns.seq` means nothing yet.

    `origin`: of a merged stream the keys (int64 [n] each) that order events of one ts before their offsets do.
    """

    columns: Columns
    offsets: Whole
    origin: tuple[Whole, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def keys(self) -> tuple[Whole, ...]:
        """The keys of the stream's order, the first one first."""
        return self.columns.ts, *self.origin, self.offsets

    def key(self, event: int) -> tuple[int, ...]:
        """The place of one event in the stream's order."""
        return tuple(int(key[event]) for key in self.keys)

    def part(self, start: int, stop: int) -> Arrivals:
        origin = tuple(key[start:stop] for key in self.origin)
        return Arrivals(slice_columns(self.columns, start, stop), self.offsets[start:stop], origin)

    def take(self, rows: Whole) -> Arrivals:
        origin = tuple(key[rows] for key in self.origin)
        return Arrivals(take_columns(self.columns, rows), self.offsets[rows], origin)

    def conformed(self, schema: Schema) -> Arrivals:
        return replace(self, columns=conformed(self.columns, schema))


def joined(parts: list[Arrivals]) -> Arrivals:
    """All parts (at least one) as one, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = concat_columns([part.columns for part in parts])
    origins = zip(*(part.origin for part in parts), strict=True)
    return Arrivals(
        columns, np.concatenate([part.offsets for part in parts]), tuple(np.concatenate(keys) for keys in origins)
    )


def in_order(arrivals: Arrivals) -> Arrivals:
    """The events in the order of `Arrivals.keys`."""
    if len(arrivals) < 2:
        return arrivals
    behind = np.zeros(len(arrivals) - 1, dtype=np.bool_)
    for key in reversed(arrivals.keys):
        behind = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & behind)
    if behind.all():
        return arrivals
    return arrivals.take(np.lexsort(arrivals.keys[::-1]).astype(np.int64, copy=False))


def lowest_from(offsets: Whole) -> Whole:
    """[n] the lowest offset of each event and all behind it."""
    return np.minimum.accumulate(offsets[::-1])[::-1]


@dataclass(frozen=True)
class _Run:
    """Events in order. `lowest` [n]: the lowest offset from each of them on (`lowest_from`)."""

    arrivals: Arrivals
    lowest: Whole


class HoldBack:
    """Held-back events as few ordered runs, each at least twice as long as the next (so that adding stays cheap)."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(len(run.lowest) for run in self._runs)

    @property
    def lowest_offset(self) -> int | None:
        """The lowest offset of all that is held."""
        return min((int(run.lowest[0]) for run in self._runs), default=None)

    def conform(self, schema: Schema) -> None:
        """Give held events the attributes of a new version of the schema."""
        self._runs = [_Run(run.arrivals.conformed(schema), run.lowest) for run in self._runs]

    def exchange(self, arrivals: Arrivals | None, watermark: int) -> Arrivals | None:
        """Take events in, if there are any, and give out all with ts <= watermark in order."""
        released = []
        kept = []
        for run in self._runs:
            stop = int(np.searchsorted(run.arrivals.columns.ts, watermark, side="right"))
            if stop:
                released.append(run.arrivals.part(0, stop))
            if stop < len(run.lowest):
                rest = run.arrivals.part(stop, len(run.lowest))
                kept.append(_Run(rest, run.lowest[stop:]) if stop else run)
        self._runs = kept
        if arrivals is not None and len(arrivals):
            ordered = in_order(arrivals)
            stop = int(np.searchsorted(ordered.columns.ts, watermark, side="right"))
            if stop:
                released.append(ordered.part(0, stop) if stop < len(ordered) else ordered)
            if stop < len(ordered):
                self._add(ordered.part(stop, len(ordered)))
        return in_order(joined(released)) if released else None

    def _add(self, arrivals: Arrivals) -> None:
        while self._runs and len(self._runs[-1].lowest) < 2 * len(arrivals):
            merged = in_order(joined([self._runs.pop().arrivals, arrivals]))
            arrivals = replace(merged, columns=prune_columns(merged.columns))
        self._runs.append(_Run(arrivals, lowest_from(arrivals.offsets)))
