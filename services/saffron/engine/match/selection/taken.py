"""A greedy selection of matches: one for each first event (FIRST, LONGEST), none with a consumed event (CONSUME)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int64, uint8, void
from saffron.engine.match.core.kernel_layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.marks import Marks, is_marked, mark
from saffron.engine.match.selection.stored import Stored

Ints = NDArray[np.int64]


class Taken:
    """The events and matches that earlier turns took, window by window.

    `consuming`: the components whose events a match consumes, of `positive` ones. `once`: one match for each first
    event: the one with most events, of those that end with the same event or, `longest`, of all; else the first.
    """

    def __init__(self, consuming: Sequence[int], positive: int, *, once: bool, longest: bool) -> None:
        self.consumed = Marks() if consuming else None
        self.begun = Marks() if once else None
        self._longest = longest
        self._consuming = np.zeros(positive, np.uint8)
        self._consuming[list(consuming)] = 1

    @property
    def size(self) -> int:
        """Bytes of state."""
        return sum(marks.table.nbytes for marks in (self.consumed, self.begun) if marks is not None)

    def left(self, entries: Entries, stored: Stored) -> Entries:
        """The entries that are taken. `entries`: those of one turn, in the order of results; turns come in order."""
        if not len(entries):
            return entries
        counts = stored.counts(entries)
        order = np.arange(len(entries)) if self.begun is None else self._turns(entries, counts)
        entries_in_turn, counts = entries.only(order), np.ascontiguousarray(counts[order])
        rows, events = np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
        if self.consumed is not None:
            rows = stored.events(entries_in_turn, counts)
            most = min(len(rows), len(stored.rows) * len(np.unique(entries.windows)))
            events = self.consumed.reserve(most, stored.rows.tail)
        starts = (
            np.zeros((0, 3), np.int64) if self.begun is None else self.begun.reserve(len(entries), stored.rows.tail)
        )
        first = entries_in_turn.found[FIRST_ROW].copy()
        kept, added = np.empty(len(entries), np.bool_), np.zeros(2, np.int64)
        _greedy(events, starts, counts, rows, first, entries_in_turn.windows, self._consuming, kept, added)
        for marks, number in zip((self.consumed, self.begun), added.tolist(), strict=True):
            if marks is not None:
                marks.added(number)
        return entries if kept.all() else entries.only(np.sort(order[kept]))

    def _turns(self, entries: Entries, counts: Ints) -> Ints:
        """The order of turns: first events as they choose, and for each its matches, the largest first."""
        size = -counts.sum(axis=1)
        first = entries.found[FIRST_ROW]
        by_last = np.zeros(len(entries), np.int64)
        if not self._longest:
            by_last = entries.found[LAST_ROW]
        order: Ints = np.lexsort((size, first, by_last))
        return order


@kernel(
    void(
        int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64[::1], uint8[::1],
        boolean[::1], int64[::1],
    )
)  # fmt: skip
def _greedy(events, starts, counts, rows, first, windows, consuming, kept, added):  # type: ignore[no-untyped-def]
    """Write to `kept` [n] whether each match is taken, to `added` [2] the numbers of marked events and first events.

    `events`, `starts`: tables of marks, empty where nothing is consumed, or a first event may have several matches.
    `rows`: events by match, then by component.
    """
    begin = 0
    for i in range(len(first)):
        kept[i] = len(starts) == 0 or not is_marked(starts, first[i], windows[i])
        stop = begin
        if len(events) > 0:
            stop += counts[i].sum()
            for k in range(begin, stop):
                kept[i] = kept[i] and not is_marked(events, rows[k], windows[i])
        if kept[i] and len(starts) > 0:
            added[1] += mark(starts, first[i], windows[i], first[i])
        if kept[i] and len(events) > 0:
            k = begin
            for component in range(counts.shape[1]):
                for _ in range(counts[i, component]):
                    if consuming[component]:
                        added[0] += mark(events, rows[k], windows[i], rows[k])
                    k += 1
        begin = stop
