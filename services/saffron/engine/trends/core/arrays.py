"""The flat arrays of one trend query, as the tuples in which kernels receive them; `layout` names their columns.

GRETA's graphs (paper section 4.2, requirements T3-T5) lie in three kinds of rows. A *key* is one value of the
equivalence and group attributes (T6, T7). It owns *totals* and *lists*. A total is the sum over the vertices of one
state that may still be followed. A list is the vertices of one state, contiguous and in time order; it exists where
conditions choose among them. A *group* is one value of the GROUP BY attributes. An *entry* is the final result of one
group in one window. The entries of a window form a list in order of their first vertex, so that a closing window reads
its own groups only.

Windows are numbered. Window k keeps its numbers in slot k mod K, where K is the number of windows that may be open at a
time. Each vertex, total and entry has A *numbers* a window (counts and sums, `numbers`); the first is COUNT(*). It has
B *extremes* a window: float64 minima, inf for none; a maximum is the minimum of values with their sign turned.

The *order* of an event decides which of two is the earlier: it is its seq, under TIME STRICT its ts. All states of all
graphs, negative ones too, are numbered in one sequence. Bit s of a mask is state s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Smalls = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Select = Callable[[int, int, int, int, Floats, Floats, Ints, Flags], None]
"""Marks which of vertices begin..stop-1 may come right before event i under a numbered condition:
(condition, begin, stop, i, values, attributes, ranks, chosen)."""


def between(klo: int, khi: int, windows: int) -> Iterator[int]:
    """The slots of windows klo..khi, at least one; kernels made for a query have a loop of their own (`specialise`)."""
    return (k % windows for k in range(klo, khi + 1))


class Wiring(NamedTuple):
    """The plan as arrays."""

    params: Ints
    states: Ints  # [S, STATE_SIZE]
    transitions: Ints  # [T, TRANSITION_SIZE]
    feeds: Ints  # totals by the state that feeds them (states' FEEDING)
    barriers: Ints  # [totals] mask of the negatives that end what is in it
    measures: Ints  # [A + B, 3]
    measured: Flags  # [S, A + B] whether an event of the state adds to it
    trees: Ints  # [trees, TREE_SIZE]
    negative_barriers: Ints  # [negative totals] masks


class Store(NamedTuple):
    """A query's state. Snapshots are these arrays by name."""

    head: Ints
    table: Smalls  # hash table of keys: row + 1, 0 for none; a power of two long
    keys: Ints
    totals: Ints  # [keys, totals (and as many pending ones if strict), A, K]; PANED: matrices [.., 1, A, cells]
    total_scales: Smalls
    total_extremes: Floats  # [keys, totals, B, K]; PANED: one more, the last: 0 - time of the last end vertex
    panes: Ints
    matrices: (
        Smalls  # PANED: [keys, K + 2] that of the pane in each slot, of all in the back stack, a result; from 1 on
    )
    released: Smalls  # PANED: matrices that are free
    absent: Ints  # [keys, negatives, MARK_SIZE]
    latest: Ints  # [keys, negative totals, MARK_SIZE]
    group_table: Smalls
    groups: Ints
    where: Smalls  # [groups, K] entry of the group in each window, -1 for none
    slots: Ints
    entries: Ints
    entry_numbers: Ints  # [entries, A]
    entry_scales: Smalls
    entry_extremes: Floats  # [entries, B]
    marks: Ints  # [vertices, MARKS or ALL_MARKS]
    values: Floats  # [stored attributes, vertices]
    counts: Ints  # [vertices, A, K]
    count_scales: Smalls
    count_extremes: Floats  # [vertices, B, K]
    chosen: Flags  # [vertices] scratch: those that the event being taken may follow
    sums: Ints  # [S, A, K] scratch: numbers of the event being taken; PANED: [2 S + 1, A, 1]
    sum_scales: Smalls
    sum_extremes: Floats
    starts: Ints  # [S, 2] scratch: of negative states the latest start, its window
    out: Ints
    out_numbers: Ints  # [results, A]
    out_scales: Smalls
    out_extremes: Floats


class Batch(NamedTuple):
    """A block's columns as the query's kernel reads them, all [n] or [..., n]."""

    seq: Ints
    ts: Ints
    time: Ints
    states: Ints  # bit s: the event may be a vertex of state s; bit 62: it is one of its key, any type; sign: DROPPED
    opens: Flags  # a window opens at this event
    hashes: Ints
    words: Ints  # [key words, n]
    group_hashes: Ints
    group_words: Ints  # [group words, n]
    attributes: Floats  # [attributes that conditions and measures read, n], null = NaN
    mantissas: Ints  # [attributes that are summed, n] values as mantissa * 2 ** exponent (`wide.split`)
    exponents: Smalls
    range_keys: Floats  # [trees, n] by what a vertex is ordered; NaN: it is not in the tree
    range_own: Ints  # what must be equal, as the earlier event
    range_words: Ints  # and as the later one
    range_lows: Floats  # the range that the later event asks for; NaN: it asks for none
    range_highs: Floats
    ranks: Ints  # rank of each interned string in the order of strings; of no use if no condition orders strings
