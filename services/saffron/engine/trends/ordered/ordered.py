"""The ordered index of a trend query's vertices: many B+ trees with subtotals in one pool of nodes (T6).

A tree holds the vertices of one key of the stream that one conditional transition leaves. It gives the aggregates of a
range of them in O(log n): for `A.x < NEXT(A).x` of the keys below x. Its handle is one int64, `root`, 0 for an empty
tree. The caller keeps the root, passes it to the functions of `tree`, and stores what they return.

An *entry* is ordered by (word, key). `word` is an int64, present only if the index is `worded`, for equalities. `key`
is a finite float64. Vertices with equal keys share an entry: no range query tells them apart, and the tree stays small.
A *bound* is a place between entries, (word, key, side), with side BEFORE or AFTER the key's entry. [lo, hi] is lo
BEFORE to hi AFTER; (lo, hi) is lo AFTER to hi BEFORE; -inf and inf leave a side open.

An entry has `rows` numbers (see `numbers`), first counts, then sums: one row for each aggregate and window slot. Rows
0..K-1 are COUNT(*) in slots 0..K-1. `lows` are float64 minima (a maximum has its sign turned), inf for none. An entry
with 0 in all of rows 0..K-1 is dead: `prune` drops it.

A node is a run of 1 to FAN blocks of BLOCK entries. It grows block by block, so that small trees are small, and splits
when it is full. A node is freed when it is empty, and not merged before; only `prune` joins nodes (Johnson, Shasha:
B-trees with inserts and deletes: why free-at-empty is better than merge-at-half, 1993). An entry of an inner node has
the least order of its child, which the node's first entry ignores, and the aggregates of the child.
The name of a node, and so a root, is b + 1 for an inner node and -(b + 1) for a leaf, b being its first block. Block 0
is scratch: the entry to be inserted, and the aggregates found. Few entries are a list instead of a tree (`few`).

Leaves and inner nodes share one pool of few arrays: the cost of compiling grows with the number of arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.core.arrays import Floats, Ints, Smalls

BLOCK = 8
FAN = 4  # blocks in the largest node; of 2 a million random keys cost a tenth less time and a fifth more memory
RUNS = 16  # blocks in the longest run: that of a list
SHORT = RUNS * BLOCK  # entries that a list may have: of ten windows, a tree of so many costs twice as much
LEAF = FAN - 1  # blocks of a leaf that a list is made into
BEFORE = -(2**62)
AFTER = 2**62
LISTS = 2**40
"""The roots of lists are below the negative of this."""

# ---- entries of block 0
GIVEN = 0  # the entry to insert
FOUND = 1  # the aggregates of a range

# ---- head: constants of the index, then what changes
WINDOWS = 0  # K
COUNTS = 1  # rows that are counts
ROWS = 2  # counts and sums
WORD = 3  # the row of `ints` with words; 0: there is none
HEIGHT = 4  # inner nodes above a leaf in the highest tree ever
BLOCKS = 5  # blocks ever used; BLOCKS + length: 1 + first block of the list of free runs that long
LAST = BLOCKS + RUNS + 1  # the row of `ints` with the last window of entries of lists; 0: there is one window at a time
FEW = LAST + 1  # entries that a list may have; none: there are only trees
PATH = LAST + 2  # scratch: (block, child) of each inner node from the root
HEAD_SIZE = PATH + 128

# ---- meta [blocks, 2], of a node's first block
FILLED = 0  # entries; of a free run: 1 + the block of the next one that is as long
LENGTH = 1  # blocks

# ---- the last rows of `smalls` and of `floats`
CHILD = -1
KEY = -1


class Index(NamedTuple):
    """All trees of one kind. Snapshots are these arrays by name."""

    head: Ints
    meta: Smalls
    ints: Ints  # [rows and those of WORD, LAST, entries]: n of each number first
    smalls: Smalls  # [rows + 1, entries]: e of each number, CHILD: of an entry of an inner node
    floats: Floats  # [lows + 1, entries]: lows, KEY


def new(
    windows: int,
    counts: int,
    *,
    sums: int = 0,
    lows: int = 0,
    worded: bool = False,
    number: Any = np.int64,
) -> Index:
    """An empty index: `counts` and `sums` rows, `lows`. `number`: the dtype of n, object for EXACT."""
    rows = counts + sums
    head = np.zeros(HEAD_SIZE, dtype=np.int64)
    head[WINDOWS], head[COUNTS], head[ROWS], head[BLOCKS] = windows, counts, rows, 1
    head[FEW] = SHORT
    columns = rows
    for column in (WORD,) * worded + (LAST,) * (windows > 1):
        head[column] = columns
        columns += 1
    blocks = reserve(1)
    floats = np.zeros((lows + 1, blocks * BLOCK), dtype=np.float64)
    floats[:lows] = np.inf
    return Index(
        head=head,
        meta=np.zeros((blocks, 2), dtype=np.int32),
        ints=np.zeros((columns, blocks * BLOCK), dtype=number),
        smalls=np.zeros((rows + 1, blocks * BLOCK), dtype=np.int32),
        floats=floats,
    )


def reserve(height: int) -> int:
    """Blocks that one insertion may take, in a tree at most this high: all nodes split, and a new root."""
    return 2 * FAN * (height + 2)


def grown(index: Index) -> Index:
    """The index with room for an insertion (`lacks`)."""
    return with_blocks(index, int(index.head[BLOCKS]) + reserve(int(index.head[HEIGHT])))


def with_blocks(index: Index, wanted: int) -> Index:
    """The index with room for so many blocks, growing by half: unused blocks are memory too."""
    blocks = len(index.meta)
    while blocks < wanted:
        blocks += blocks // 2
    if blocks == len(index.meta):
        return index

    def wider(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((len(array), blocks * BLOCK), dtype=array.dtype)
        result[:, : array.shape[1]] = array
        return result

    meta = np.zeros((blocks, 2), dtype=np.int32)
    meta[: len(index.meta)] = index.meta
    return Index(index.head, meta, wider(index.ints), wider(index.smalls), wider(index.floats))
