"""The ordered index of a trend query's vertices: many B+ trees with subtotals over one pool of nodes (issue 5, 3).

A tree holds the vertices that one conditional transition leaves, of one key of the stream, so that the aggregates of
those in a range (`A.x < NEXT(A).x`: the keys below x) come in O(log n). Its handle is one int64, `root`, 0 for an empty
tree: the caller keeps it, passes it to the functions of `ordered_tree` and stores what they return.

An *entry* is ordered by (word, key, seq): `word` int64, only if the index is `worded`, for equalities; `key` a finite
float64; `seq` the vertex's int64, only if the index `keeps` vertices apart, which deletion by seq needs. Without it,
vertices with equal keys become one entry: a range query cannot tell, and few keys make a small tree. A *bound* is a
place between entries, (word, key, seq) with seq BEFORE or AFTER all that have the key: [lo, hi] is lo BEFORE to hi
AFTER, (lo, hi) is lo AFTER to hi BEFORE; -inf and inf leave a side open.

An entry's numbers, `rows` of them (see `numbers`): first counts, then sums, one row per aggregate and window slot; the
rows 0..K-1 are COUNT(*) in slots 0..K-1. `lows`: float64 of which the least counts (MIN; MAX with its sign turned),
inf for none. What is 0 in all of rows 0..K-1 is dead: `prune` drops it.

A node is a run of 1 to FAN blocks of BLOCK entries: it grows block by block, so that small trees are small, and splits
when it is full. Nodes are freed when they are empty and not merged before (Johnson, Shasha: B-trees with inserts and
deletes: why free-at-empty is better than merge-at-half, 1993), but for what `prune` joins. An entry of an inner node
is the least order of what is below (in a node's first one it means nothing), and the aggregates of all of it.
A child, as a root: inner node b is b + 1, leaf b is -(b + 1), b being its first block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.layout import Floats, Ints, Smalls

BLOCK = 8
FAN = 4  # blocks in the largest node; of 2 a million random keys cost a tenth less time and a fifth more memory
BEFORE = -(2**62)
AFTER = 2**62

# ---- shape: constants of the index, but for HEIGHT
WINDOWS = 0  # K
COUNTS = 1  # rows that are counts; those behind are sums
HEIGHT = 2  # inner nodes above a leaf in the highest tree ever
SHAPE_SIZE = 3

# ---- meta [blocks, 2], of a node's first block
USED = 0  # entries; of a free run: 1 + the block of the next one that is as long
ROOM = 1  # blocks

# ---- free [FAN + 1]: 0: blocks ever used; length: 1 + first block of the list of free runs that long


class Nodes(NamedTuple):
    """Leaves, or inner nodes: arrays by block, and by entry (BLOCK times as many). What is not needed has length 0."""

    free: Ints
    meta: Smalls
    keys: Floats
    words: Ints
    seqs: Ints
    children: Smalls  # inner nodes
    oldest: Ints  # inner nodes of an index that keeps vertices apart: the least seq below
    ns: Ints  # [rows, entries]
    es: Smalls  # [rows, entries]
    lows: Floats  # [lows, entries]


class Index(NamedTuple):
    """All trees of one kind, and the numbers that go in and come out. Snapshots are these arrays by name."""

    shape: Ints
    leaves: Nodes
    inners: Nodes
    path: Ints  # scratch: (block, child) of each inner node from the root
    given_ns: Ints  # [rows] the numbers of the entry to be inserted
    given_es: Smalls
    given_lows: Floats
    found_ns: Ints  # [rows] the aggregates of a range
    found_es: Smalls
    found_lows: Floats


def new(
    windows: int,
    counts: int,
    *,
    sums: int = 0,
    lows: int = 0,
    worded: bool = False,
    keeps: bool = False,
    number: Any = np.int64,
) -> Index:
    """An empty index: `counts` and `sums` rows, `lows`. `number`: the dtype of n, object for EXACT."""
    rows = counts + sums
    shape = np.zeros(SHAPE_SIZE, dtype=np.int64)
    shape[WINDOWS], shape[COUNTS] = windows, counts

    def nodes(blocks: int, *, inner: bool) -> Nodes:
        size = blocks * BLOCK
        return Nodes(
            free=np.zeros(FAN + 1, dtype=np.int64),
            meta=np.zeros((blocks, 2), dtype=np.int32),
            keys=np.zeros(size, dtype=np.float64),
            words=np.zeros(size if worded else 0, dtype=np.int64),
            seqs=np.zeros(size if keeps else 0, dtype=np.int64),
            children=np.zeros(size if inner else 0, dtype=np.int32),
            oldest=np.zeros(size if inner and keeps else 0, dtype=np.int64),
            ns=np.zeros((rows, size), dtype=number),
            es=np.zeros((rows, size), dtype=np.int32),
            lows=np.zeros((lows, size), dtype=np.float64),
        )

    def numbers() -> tuple[NDArray[Any], Smalls, Floats]:
        return np.zeros(rows, dtype=number), np.zeros(rows, dtype=np.int32), np.full(lows, np.inf)

    return Index(
        shape, nodes(2 * FAN, inner=False), nodes(2 * FAN, inner=True), np.zeros(128, np.int64), *numbers(), *numbers()
    )


def grown(index: Index) -> Index:
    """The index with twice the room for leaves, or for inner nodes, whichever `lacks` missed (both if both)."""
    leaves, inners = index.leaves, index.inners
    if leaves.free[0] + leaf_reserve() > len(leaves.meta):
        leaves = doubled(leaves)
    while inners.free[0] + inner_reserve(int(index.shape[HEIGHT])) > len(inners.meta):
        inners = doubled(inners)
    return index._replace(leaves=leaves, inners=inners)


def leaf_reserve() -> int:
    """Blocks of leaves that one insertion may take: two halves of a full leaf."""
    return 2 * FAN


def inner_reserve(height: int) -> int:
    """Blocks of inner nodes that one insertion may take, in a tree at most this high: all split, and a new root."""
    return 2 * FAN * (height + 1)


def doubled(nodes: Nodes) -> Nodes:
    """The nodes, with room for as many again."""

    def wider(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
        result[..., : array.shape[-1]] = array
        return result

    meta = np.zeros((2 * len(nodes.meta), 2), dtype=np.int32)
    meta[: len(nodes.meta)] = nodes.meta
    arrays = {name: wider(array) for name, array in nodes._asdict().items() if name not in ("free", "meta")}
    return Nodes(free=nodes.free, meta=meta, **arrays)
