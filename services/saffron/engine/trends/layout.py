"""The flat arrays of one trend query: what each column means, and the tuples in which kernels receive them.

GRETA's graph (paper section 4.2, requirements T3, T5) lies in three kinds of rows. A *key* is one value of the
equivalence and group attributes (T6, T7); it owns, for each state that an unconditional transition leaves, one prefix
total a window, and for each state that a conditional transition leaves, a run of vertices, contiguous and in time
order. A *group* is one value of the GROUP BY attributes. An *entry* is the final count of one group in one window;
the entries of a window form a list in order of their first vertex, so that closing a window reads its own groups only.

Windows are numbered; window k keeps its numbers in slot k mod K, K being as many windows as may be open at a time.
"""

from __future__ import annotations

from collections.abc import Callable
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

LARGEST = 2**63 - 1
"""The largest exact count; beyond it counts are scaled (`wide`)."""
NO_WINDOW = -(2**62)

# ---- head: scalars of the query
NEED = 0  # what the kernel ran out of (NEED_...), 0 when it is done
KEYS = 1  # rows in use: keys, groups, entries, vertices, results
GROUPS = 2
ENTRIES = 3
ARENA = 4
OUT = 5
FREE = 6  # first entry of the list of free ones, -1 for none
KLO = 7  # first window that is not closed
KHI = 8  # last window that holds a vertex
OPENED = 9  # OPEN ON: number of the next window
TOUCHED = 10  # events that were vertices since the last sweep
RESULTS = 11  # results ever
ROOM = 12  # how much of it is needed
HEAD_SIZE = 13

NEED_NOTHING = 0
NEED_KEYS = 1
NEED_GROUPS = 2
NEED_ENTRIES = 3
NEED_ARENA = 4
NEED_WINDOWS = 5
NEED_OUT = 6

# ---- params: constants of the query
SIZE = 0
SLIDE = 1
IN_EVENTS = 2  # windows over positions, not time
ON_OPEN = 3  # windows opened by events
STRICT = 4  # equal timestamps are never adjacent
KEY_WIDTH = 5  # words of a key, words of a group
GROUP_WIDTH = 6
STARTS = 7  # bit s: state s is a start state
PARAMS_SIZE = 8

# ---- states [S, 6] and transitions [T, 2], those into one state together
IS_START = 0
IS_END = 1
TOTAL = 2  # index of its prefix totals, -1 when no unconditional transition leaves it
LIST = 3  # index of its vertex list, -1 when no conditional transition leaves it
ENTERING = 4  # the first transition into it, and their number
ENTERING_SIZE = 5

SOURCE = 0
CONDITION = 1  # number of the condition in `select`, -1 for none

# ---- keys [n, 1 + words + 3 + 4 * lists] and groups [n, 1 + words + 1]: hash, words, then
AFTER_GROUP = 0  # keys: row of the group
AFTER_LAST = 1  # keys: last window touched (its slots, and all earlier ones that are open, are valid)
AFTER_TIME = 2  # keys, TIME STRICT: the ts of the pending totals
AFTER_LISTS = 3
GROUP_LAST = 0  # groups: last window whose slot in `where` is valid

LIST_SIZE = 4  # of each list: first row in the arena, rows expired at its front, rows in use, rows owned
FIRST_ROW = 0
EXPIRED = 1
USED = 2
OWNED = 3

# ---- entries [n, 7]
E_GROUP = 0
E_FIRST = 1  # seq of the group's first vertex in the window
E_TIME = 2  # message time of its last end vertex
E_COUNT = 3  # the count is E_COUNT * 2 ** E_SCALE
E_SCALE = 4
E_NEXT = 5  # next entry of the window, or of the free list
ENTRY_SIZE = 6

# ---- slots [K, 5]
S_FIRST = 0
S_LAST = 1
S_ENTRIES = 2
S_LOW = 3  # OPEN ON: where the window begins, and the seq of the event that opened it
S_SEQ = 4
SLOT_SIZE = 5

# ---- marks [vertices, 3]
M_TIME = 0
M_LAST = 1  # last window the vertex lies in
M_SCALED = 2  # 1 when any of its counts is scaled

# ---- out [n, 8 + group words]
O_POSITION = 0
O_LOW = 1  # the window's bounds [low, high)
O_FIRST = 2
O_TIME = 3
O_COUNT = 4
O_SCALE = 5
O_SEQ = 6  # OPEN ON: the event that opened the window, else -1
O_WORDS = 7


class Wiring(NamedTuple):
    """What the plan says, as arrays: `params` [8], `states` [S, 6], `transitions` [T, 2]."""

    params: Ints
    states: Ints
    transitions: Ints


class Store(NamedTuple):
    """A query's state. Snapshots are these arrays by name."""

    head: Ints
    table: Smalls  # hash table of keys: row + 1, 0 for none; a power of two long
    keys: Ints
    totals: Ints  # [keys, totals (and as many pending ones if strict), K] prefix totals
    scales: Smalls  # [keys, totals, K]
    group_table: Smalls
    groups: Ints
    where: Smalls  # [groups, K] entry of the group in each window, -1 for none
    slots: Ints
    entries: Ints
    marks: Ints  # [vertices, 3]
    values: Floats  # [stored attributes, vertices]
    counts: Ints  # [vertices, K]
    count_scales: Smalls  # [vertices, K]
    chosen: Flags  # [vertices] scratch: those that the event being taken may follow
    sums: Ints  # [S, K] scratch: counts of the event being taken
    sum_scales: Smalls
    out: Ints


class Batch(NamedTuple):
    """A block's columns as the query's kernel reads them, all [n] or [..., n]."""

    seq: Ints
    ts: Ints
    time: Ints
    states: Ints  # bit s: the event may be a vertex of state s
    opens: Flags  # a window opens at this event
    hashes: Ints
    words: Ints  # [key words, n]
    group_hashes: Ints
    group_words: Ints  # [group words, n]
    attributes: Floats  # [attributes that conditions read, n], null = NaN
    ranks: Ints  # rank of each interned string in the order of strings; of no use if no condition orders strings
