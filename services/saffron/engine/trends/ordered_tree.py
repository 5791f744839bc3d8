"""The trees of the ordered index: insertion and range aggregates (see `ordered`).

Before `insert` ask `lacks`; if it says so, let Python do `ordered.grown` and come back. Nothing else needs room.
The stored root, not `insert`'s argument, is the tree from then on: nodes move.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import (
    BLOCK,
    COUNTS,
    FAN,
    HEIGHT,
    USED,
    Index,
    Nodes,
)
from saffron.engine.trends.ordered_nodes import (
    add_given,
    add_run,
    allocate,
    child_of,
    clear_found,
    opened,
    place,
    sum_child,
)

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def lacks(index: Index) -> bool:
    """Whether the next insertion might find no room (`ordered.leaf_reserve`, `ordered.inner_reserve`)."""
    leaves, inners = index.leaves, index.inners
    return bool(
        leaves.free[0] + 2 * FAN > len(leaves.meta)
        or inners.free[0] + 2 * FAN * (index.shape[HEIGHT] + 1) > len(inners.meta)
    )


def write_entry(at: int, word: int, key: float, seq: int, nodes: Nodes) -> None:
    """The order of an entry."""
    nodes.keys[at] = key
    if len(nodes.words) > 0:
        nodes.words[at] = word
    if len(nodes.seqs) > 0:
        nodes.seqs[at] = seq


def fill_entry(at: int, word: int, key: float, seq: int, index: Index) -> None:
    """Write the entry of the numbers `given` into a leaf."""
    leaves = index.leaves
    write_entry(at, word, key, seq, leaves)
    for r in range(len(index.given_ns)):
        leaves.ns[r, at] = index.given_ns[r]
        leaves.es[r, at] = index.given_es[r]
    for r in range(len(index.given_lows)):
        leaves.lows[r, at] = index.given_lows[r]


def copy_order(source: int, at: int, leaf: bool, index: Index) -> None:
    """The order of the first entry of a new node becomes that of the entry above it."""
    inners = index.inners
    nodes = index.leaves if leaf else inners
    inners.keys[at] = nodes.keys[source]
    if len(inners.words) > 0:
        inners.words[at] = nodes.words[source]
    if len(inners.seqs) > 0:
        inners.seqs[at] = nodes.seqs[source]


def name_child(child: int, at: int, index: Index) -> None:
    """Write the entry of a child: its order, its name, its aggregates."""
    copy_order((abs(child) - 1) * BLOCK, at, child < 0, index)
    sum_child(child, at, index)


def height(node: int, index: Index) -> int:
    """How many inner nodes stand above a leaf of this tree."""
    high = 0
    while node > 0:
        high += 1
        node = index.inners.children[(node - 1) * BLOCK]
    return high


def descend(root: int, word: int, key: float, seq: int, index: Index) -> tuple[int, int, bool]:
    """(depth, leaf, whether it is the last one): the way to where (word, key, seq) belongs is in `path`."""
    inners, path = index.inners, index.path
    depth = 0
    last = True
    node = root
    while node > 0:
        j = child_of(node - 1, word, key, seq, inners)
        path[2 * depth] = node - 1
        path[2 * depth + 1] = j
        last = last and j + 1 == inners.meta[node - 1, USED]
        depth += 1
        node = inners.children[(node - 1) * BLOCK + j]
    return depth, -node - 1, last


def divide_path(depth: int, child: int, extra: int, last: bool, index: Index) -> tuple[int, int]:
    """Enter the child and the one split off into the node above, and so on while that splits.

    Returns the depth from which on the path's nodes need no more than the numbers, and the child there.
    """
    inners, path = index.inners, index.path
    while depth > 0:
        depth -= 1
        block, j = path[2 * depth], path[2 * depth + 1]
        sum_child(child, block * BLOCK + j, index)
        left, right, at = opened(block, j + 1, last, inners)
        name_child(extra, at, index)
        child, extra = left + 1, right + 1
        if extra == 0:
            return depth, child
    block = allocate(1, inners)
    inners.meta[block, USED] = 2
    name_child(child, block * BLOCK, index)
    name_child(extra, block * BLOCK + 1, index)
    index.shape[HEIGHT] = max(index.shape[HEIGHT], height(child, index) + 1)
    return 0, block + 1


def ascend(depth: int, child: int, extra: int, seq: int, last: bool, index: Index) -> Any:
    """Bring the inner nodes of `path` up to date after an insertion: the child there, and one split off (0: none)."""
    inners, path = index.inners, index.path
    if extra != 0:
        depth, child = divide_path(depth, child, extra, last, index)
    while depth > 0:
        depth -= 1
        block = path[2 * depth]
        at = block * BLOCK + path[2 * depth + 1]
        inners.children[at] = child
        add_given(at, index.shape[COUNTS], inners, index.given_ns, index.given_es, index.given_lows)
        if len(inners.oldest) > 0:
            inners.oldest[at] = min(inners.oldest[at], seq)
        child = block + 1
    return child


def insert(root: int, word: int, key: float, seq: int, index: Index) -> Any:
    """The root of the tree with an entry of the numbers `given`; see `lacks`."""
    leaves = index.leaves
    if root == 0:
        block = allocate(1, leaves)
        leaves.meta[block, USED] = 1
        fill_entry(block * BLOCK, word, key, seq, index)
        return -(block + 1)
    if len(leaves.seqs) == 0:
        seq = 0
    depth, block, last = descend(root, word, key, seq, index)
    p = place(block, word, key, seq, leaves)
    at = block * BLOCK + p
    left, right = block, -1
    same = len(leaves.seqs) == 0 and p < leaves.meta[block, USED] and leaves.keys[at] == key
    if same and (len(leaves.words) == 0 or leaves.words[at] == word):
        add_given(at, index.shape[COUNTS], leaves, index.given_ns, index.given_es, index.given_lows)
    else:
        left, right, at = opened(block, p, last, leaves)
        fill_entry(at, word, key, seq, index)
    return ascend(depth, -(left + 1), -(right + 1), seq, last, index)


def add_upper(node: int, word: int, low: float, low_seq: int, index: Index) -> None:
    """Add the entries of a subtree from a bound on."""
    inners = index.inners
    while node > 0:
        first = (node - 1) * BLOCK
        i = child_of(node - 1, word, low, low_seq, inners)
        add_run(first + i + 1, first + inners.meta[node - 1, USED], index, inners)
        node = inners.children[first + i]
    block = -node - 1
    first = block * BLOCK
    i = place(block, word, low, low_seq, index.leaves)
    add_run(first + i, first + index.leaves.meta[block, USED], index, index.leaves)


def add_lower(node: int, word: int, high: float, high_seq: int, index: Index) -> None:
    """Add the entries of a subtree below a bound."""
    inners = index.inners
    while node > 0:
        first = (node - 1) * BLOCK
        i = child_of(node - 1, word, high, high_seq, inners)
        add_run(first, first + i, index, inners)
        node = inners.children[first + i]
    block = -node - 1
    first = block * BLOCK
    add_run(first, first + place(block, word, high, high_seq, index.leaves), index, index.leaves)


def aggregate(root: int, word: int, low: float, low_seq: int, high: float, high_seq: int, index: Index) -> None:
    """The aggregates of the entries between two bounds of the word, into `found` (see `ordered`)."""
    inners, leaves = index.inners, index.leaves
    clear_found(index)
    if root == 0 or low > high or (low == high and low_seq >= high_seq):
        return
    unbounded_low = low == -float("inf") and len(leaves.words) == 0
    unbounded_high = high == float("inf") and len(leaves.words) == 0
    node = root
    left = 0
    right = 0
    while node > 0:
        first = (node - 1) * BLOCK
        used = inners.meta[node - 1, USED]
        i = -1 if unbounded_low else child_of(node - 1, word, low, low_seq, inners)
        j = used if unbounded_high else child_of(node - 1, word, high, high_seq, inners)
        if i != j:
            add_run(first + i + 1, first + j, index, inners)
            left = 0 if i < 0 else inners.children[first + i]
            right = 0 if j >= used else inners.children[first + j]
            break
        node = inners.children[first + i]
    if node < 0:
        block = -node - 1
        i = place(block, word, low, low_seq, leaves)
        add_run(block * BLOCK + i, block * BLOCK + place(block, word, high, high_seq, leaves), index, leaves)
    if left != 0:
        add_upper(left, word, low, low_seq, index)
    if right != 0:
        add_lower(right, word, high, high_seq, index)
