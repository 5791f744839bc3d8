"""A set of (number, serial of a window) as a flat array: events that were consumed, first events that have a match."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, chained
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int64, void

Ints = NDArray[np.int64]

VALUE, WINDOW, ROW = range(3)  # columns of a table; ROW: the stored event with which the mark goes, -1: free
_SMALLEST = 64


class Marks:
    """Marks of stored events; those of events that were given up are forgotten when room is needed."""

    def __init__(self) -> None:
        self.table: Ints = np.full((_SMALLEST, 3), -1, np.int64)
        self._room = _SMALLEST // 2  # how many more marks leave half of the table free

    def reserve(self, more: int, oldest: int) -> Ints:
        """The table, with room for `more` marks. `oldest`: the first row that is stored."""
        if more > self._room:
            self._build(self.live(oldest), more)
        return self.table

    def added(self, marks: int) -> None:
        """Count marks that were set in the room reserved for them."""
        self._room -= marks

    def live(self, oldest: int) -> Ints:
        """int64 [marks, 3]: the marks of rows that are still stored."""
        return np.ascontiguousarray(self.table[self.table[:, ROW] >= max(oldest, 0)])

    def saved(self, oldest: int) -> Ints:
        """The live marks in an order that only they decide."""
        kept = self.live(oldest)
        return np.ascontiguousarray(kept[np.lexsort(kept.T)])

    def restore(self, marks: Ints) -> None:
        self._build(np.ascontiguousarray(marks, np.int64), 0)

    def _build(self, marks: Ints, more: int) -> None:
        size = _SMALLEST
        while size < 4 * (len(marks) + more):
            size *= 2
        self.table = np.full((size, 3), -1, np.int64)
        fill(self.table, marks)
        self._room = size // 2 - len(marks)


@kernel(int64(int64[:, ::1], int64, int64))
def place_of(table, value, window):  # type: ignore[no-untyped-def]
    """The place of a mark in a table, or the free place for it."""
    mask = len(table) - 1
    hashed = chained(chained(np.uint64(GOLDEN), np.uint64(value)), np.uint64(window))
    at = np.int64(hashed & np.uint64(mask))
    while table[at, 2] >= 0 and (table[at, 0] != value or table[at, 1] != window):
        at = (at + 1) & mask
    return at


@kernel(boolean(int64[:, ::1], int64, int64))
def is_marked(table, value, window):  # type: ignore[no-untyped-def]
    return table[place_of(table, value, window), 2] >= 0


@kernel(int64(int64[:, ::1], int64, int64, int64))
def mark(table, value, window, row):  # type: ignore[no-untyped-def]
    """Set it, for as long as `row` is stored; how many marks that adds."""
    at = place_of(table, value, window)
    new = 1 if table[at, 2] < 0 else 0
    table[at, 0], table[at, 1], table[at, 2] = value, window, row
    return new


@kernel(void(int64[:, ::1], int64[:, ::1]))
def fill(table, marks):  # type: ignore[no-untyped-def]
    for i in range(len(marks)):
        mark(table, marks[i, 0], marks[i, 1], marks[i, 2])
