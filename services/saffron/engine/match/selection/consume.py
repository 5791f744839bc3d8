"""CONSUME: an event that served a match serves no later one, of the same window or, without windows, of its key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import int64, uint8

from saffron.engine.jit import kernel
from saffron.engine.match.entries import Entries
from saffron.engine.match.selection.marks import Marks, is_marked, mark
from saffron.engine.match.selection.stored import Stored


class Consumed:
    """The events that are gone. `components`: whose events a match consumes."""

    def __init__(self, components: Sequence[int], positive: int) -> None:
        self.marks = Marks()
        self._consuming = np.zeros(positive, np.uint8)
        self._consuming[list(components)] = 1

    def left(self, entries: Entries, stored: Stored) -> Entries:
        """Those that are taken, greedily. `entries`: in the order of results, after all that were given before."""
        if not len(entries):
            return entries
        counts = stored.counts(entries)
        rows = stored.events(entries, counts)
        kept = np.empty(len(entries), np.uint8)
        windows = entries.windows
        most = min(len(rows), len(stored.rows) * len(np.unique(windows)))
        table = self.marks.reserve(most, stored.rows.tail)
        self.marks.added(_greedy(table, counts, rows, windows, self._consuming, kept))
        return entries.only(kept.astype(np.bool_))


@kernel(int64(int64[:, ::1], int64[:, ::1], int64[::1], int64[::1], uint8[::1], uint8[::1]))
def _greedy(table, counts, rows, windows, consuming, kept):  # type: ignore[no-untyped-def]
    """kept [n]: 1 for each match none of whose events was consumed. `rows`: events by match, then by component.

    How many marks were set."""
    begin, marks = 0, 0
    for i in range(len(counts)):
        stop = begin + counts[i].sum()
        kept[i] = 1
        for k in range(begin, stop):
            if is_marked(table, rows[k], windows[i]):
                kept[i] = 0
                break
        if kept[i]:
            k = begin
            for component in range(counts.shape[1]):
                for _ in range(counts[i, component]):
                    if consuming[component]:
                        marks += mark(table, rows[k], windows[i], rows[k])
                    k += 1
        begin = stop
    return marks
