"""OUTPUT FIRST and LONGEST: one match for each first event and window."""

from __future__ import annotations

import numpy as np
from numba import int64, uint8, void

from saffron.engine.jit import kernel
from saffron.engine.match.entries import Entries
from saffron.engine.match.layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.selection.marks import Marks, is_marked, mark
from saffron.engine.match.selection.stored import Stored


def best(entries: Entries, stored: Stored, *, longest: bool) -> Entries:
    """Of each first event and window the match that ends first, of those the one with most events; with `longest` the
    other way round; of those the first. `entries`: in the order of results."""
    if len(entries) < 2:
        return entries
    size = -stored.counts(entries).sum(axis=1)
    first, last = entries.found[FIRST_ROW], entries.found[LAST_ROW]
    rank = (last, size) if longest else (size, last)
    order = np.lexsort((*rank, entries.windows, first))
    start = np.ones(len(order), np.bool_)
    start[1:] = np.diff(first[order]) != 0
    start[1:] |= np.diff(entries.windows[order]) != 0
    return entries if start.all() else entries.only(np.sort(order[start]))


class Begun:
    """OUTPUT FIRST where a match is known with its last event: the first events that have one."""

    def __init__(self) -> None:
        self.marks = Marks()

    def left(self, entries: Entries, stored: Stored) -> Entries:
        """Those of first events that had none. `entries`: in the order of results, after all that were given before."""
        if not len(entries):
            return entries
        entries = best(entries, stored, longest=False)
        table = self.marks.reserve(len(entries), stored.rows.tail)
        kept = np.empty(len(entries), np.uint8)
        self.marks.added(len(entries))
        _new(table, entries.found[FIRST_ROW].copy(), entries.windows, kept)
        return entries.only(kept.astype(np.bool_))


@kernel(void(int64[:, ::1], int64[::1], int64[::1], uint8[::1]))
def _new(table, first, windows, kept):  # type: ignore[no-untyped-def]
    for i in range(len(first)):
        kept[i] = not is_marked(table, first[i], windows[i])
        if kept[i]:
            mark(table, first[i], windows[i], first[i])
