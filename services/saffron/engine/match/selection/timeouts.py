"""WITH TIMEOUTS: the runs that waited when their window ended and that no match continued.

Runs with equal bindings, and beginnings of matches, are identified by a 64-bit hash of their events and components. The
beginnings of all matches are remembered as long as their window lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, scattered
from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import int64, uint8, uint32, void
from saffron.engine.match.core.chains import length, previous
from saffron.engine.match.core.kernel_layout import LEAD
from saffron.engine.match.general.expired import Expired
from saffron.engine.match.general.transition_table import COMPONENT, FIRST, STOP, STRICT
from saffron.engine.match.selection.entries import Entries, unpacked
from saffron.engine.match.selection.marks import Marks, is_marked, mark
from saffron.engine.match.selection.stored import Stored

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TimedOut:
    """Runs whose time is over, as entries. `waiting` [n]: the components that each waited for, as bits."""

    entries: Entries
    waiting: Ints


class Timeouts:
    """The choice of runs to report as timeouts. `states`, `edges`: the table of the automaton."""

    def __init__(self, states: Ints, edges: Ints, *, windows: bool) -> None:
        self.marks = Marks()
        self._windows = windows
        loose = np.zeros(len(states), np.int64)
        every = np.zeros(len(states), np.int64)
        for number, state in enumerate(states):
            for edge in edges[state[FIRST] : state[STOP]]:
                every[number] |= 1 << edge[COMPONENT]
                loose[number] |= 0 if edge[STRICT] else 1 << edge[COMPONENT]
        self._loose, self._every = loose, every

    def match(self, entries: Entries, stored: Stored) -> None:
        """Mark the beginnings of the block's matches, which are all of them."""
        if len(entries):
            most = int(stored.counts(entries).sum())
            table = self.marks.reserve(most, stored.rows.tail)
            self.marks.added(_mark(table, entries.found, entries.windows, *stored.nodes.arrays))

    def over(self, expired: Expired, stored: Stored) -> TimedOut:
        """The timed-out runs of the block, in the order of deadlines, then in that of results."""
        found = expired.found
        states = expired.states(found)
        waiting = np.where(expired.unbroken(found), self._every[states], self._loose[states])
        found[LEAD] = -1
        entries = unpacked(found, windows=self._windows)
        hashes, fresh = np.empty(len(entries), np.int64), np.empty(len(entries), np.uint8)
        _unmatched(self.marks.table, found, entries.windows, *stored.nodes.arrays, hashes, fresh)
        kept = np.flatnonzero((waiting != 0) & (fresh != 0))
        kept = kept[np.lexsort((hashes[kept], entries.windows[kept]))]
        return self._merged(entries.only(kept), waiting[kept], hashes[kept], stored)

    def _merged(self, entries: Entries, waiting: Ints, hashes: Ints, stored: Stored) -> TimedOut:
        """Timed-out runs with one for each distinct binding. `entries`: equal bindings stand beside each other."""
        if not len(entries):
            return TimedOut(entries, waiting)
        start = np.ones(len(entries), np.bool_)
        start[1:] = (np.diff(hashes) != 0) | (np.diff(entries.windows) != 0)
        first = np.flatnonzero(start)
        found = entries.only(first).packed()
        found[LEAD] = np.bitwise_or.reduceat(waiting, first)  # where sorting takes it along
        ordered = stored.in_order(unpacked(found, windows=self._windows))
        ordered = ordered.only(np.argsort(ordered.deadline, kind="stable"))
        waiting = ordered.found[LEAD].copy()
        ordered.found[LEAD] = -1
        return TimedOut(ordered, waiting)

    def saved(self, oldest: int) -> Ints:
        return self.marks.saved(oldest)

    def restore(self, marks: Ints) -> None:
        self.marks.restore(marks)


@jitable
def _prefixes(found: Any, i: int, node_row: Any, node_before: Any, node_part: Any, hashes: Any) -> Any:
    """Hashes of the first 1, 2, ... events of thing i, with their components; how many.

    They are written to `hashes`, or to a larger array where they do not fit.
    """
    ring = len(node_row) - 1
    count = 1 + length(found[1, i], node_before)
    if count > len(hashes):
        hashes = np.empty(2 * count, np.int64)
    at = count - 1
    hashes[at] = (found[2, i] & 0xFFFFFFFF) << 8 | found[3, i]
    node = found[1, i]
    while node >= 0:
        at -= 1
        hashes[at] = np.int64(node_row[node & ring]) << 8 | np.int64(node_part[node & ring])
        node = previous(node, node_before)
    h = np.uint64(0)
    for at in range(count):
        h = scattered((h ^ np.uint64(hashes[at])) + np.uint64(GOLDEN))
        hashes[at] = np.int64(h)
    return hashes, count


@kernel(int64(int64[:, ::1], int64[:, ::1], int64[::1], uint32[::1], uint32[::1], uint8[::1]))
def _mark(table, found, windows, node_row, node_before, node_part):  # type: ignore[no-untyped-def]
    """Mark all beginnings; how many were new."""
    marks = 0
    hashes = np.empty(64, np.int64)
    for i in range(found.shape[1]):
        hashes, count = _prefixes(found, i, node_row, node_before, node_part, hashes)
        for at in range(count - 1, -1, -1):
            if is_marked(table, hashes[at], windows[i]):
                break  # and so are the shorter ones
            marks += mark(table, hashes[at], windows[i], found[0, i])
    return marks


@kernel(
    void(
        int64[:, ::1], int64[:, ::1], int64[::1], uint32[::1], uint32[::1], uint8[::1], int64[::1], uint8[::1]
    )
)  # fmt: skip
def _unmatched(table, found, windows, node_row, node_before, node_part, wholes, fresh):  # type: ignore[no-untyped-def]
    """wholes [n]: the hash of each thing; fresh [n]: whether no match begins so."""
    hashes = np.empty(64, np.int64)
    for i in range(found.shape[1]):
        hashes, count = _prefixes(found, i, node_row, node_before, node_part, hashes)
        wholes[i] = hashes[count - 1]
        fresh[i] = not is_marked(table, wholes[i], windows[i])
