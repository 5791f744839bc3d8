"""Trees of the ordered index: insertion and range aggregates (see `ordered`).

Only an insertion needs room: where `lacks` is true, the caller returns to Python, which calls `ordered.grown`. Nodes
move, so the caller replaces the root by the result of `insert`.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.nodes import (
    add_given,
    add_run,
    allocate,
    child_at,
    clear_entry,
    copy_entries,
    first_of,
    opened,
    place,
    sum_child,
)
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def lacks(index: Index) -> bool:
    """True if the next insertion might find no room (`ordered.reserve`)."""
    return bool(index.head[ordered.BLOCKS] + 2 * ordered.FAN * (index.head[ordered.HEIGHT] + 2) > len(index.meta))


def height(node: int, index: Index) -> int:
    """The number of inner nodes above a leaf of this tree."""
    high = 0
    while node > 0:
        high += 1
        node = child_at(first_of(node), index)
    return high


def descend(root: int, word: int, key: float, side: int, index: Index) -> tuple[int, int, int, bool]:
    """(depth, leaf, place in it, whether nothing comes behind it): where (word, key, side) belongs, with its `PATH`."""
    head = index.head
    depth = 0
    last = True
    node = root
    p = place(node, word, key, side, index)
    while node > 0:
        head[ordered.PATH + 2 * depth] = node - 1
        head[ordered.PATH + 2 * depth + 1] = p
        last = last and p + 1 == index.meta[node - 1, ordered.FILLED]
        depth += 1
        node = child_at((node - 1) * ordered.BLOCK + p, index)
        p = place(node, word, key, side, index)
    return depth, -node - 1, p, last


def name_child(child: int, at: int, index: Index) -> None:
    """Write the entry of a child: its order, its name, its aggregates."""
    copy_entries(first_of(child), first_of(child) + 1, at, index)
    sum_child(child, at, index)


def divide_path(depth: int, child: int, extra: int, last: bool, index: Index) -> tuple[int, int]:
    """Enter the child and the one split off into the node above, and so on while that splits.

    Returns the depth from which on the path's nodes need no more than the numbers, and the child there.
    """
    head = index.head
    while depth > 0:
        depth -= 1
        block, j = head[ordered.PATH + 2 * depth], head[ordered.PATH + 2 * depth + 1]
        sum_child(child, block * ordered.BLOCK + j, index)
        left, right, at = opened(block, j + 1, last, index)
        name_child(extra, at, index)
        child, extra = left + 1, right + 1
        if extra == 0:
            return depth, child
    block = allocate(1, index)
    index.meta[block, ordered.FILLED] = 2
    name_child(child, block * ordered.BLOCK, index)
    name_child(extra, block * ordered.BLOCK + 1, index)
    head[ordered.HEIGHT] = max(head[ordered.HEIGHT], height(child, index) + 1)
    return 0, block + 1


def ascend(depth: int, child: int, extra: int, last: bool, index: Index) -> Any:
    """Bring the inner nodes of `PATH` up to date after an insertion: the child there, and one split off (0: none)."""
    head = index.head
    if extra != 0:
        depth, child = divide_path(depth, child, extra, last, index)
    while depth > 0:
        depth -= 1
        block = head[ordered.PATH + 2 * depth]
        at = block * ordered.BLOCK + head[ordered.PATH + 2 * depth + 1]
        index.smalls[ordered.CHILD, at] = child
        add_given(at, index)
        child = block + 1
    return child


def insert(root: int, word: int, key: float, index: Index) -> Any:
    """The root of the tree with an entry of the numbers of GIVEN; see `lacks`."""
    own = index.head[ordered.WORD]
    index.floats[ordered.KEY, ordered.GIVEN] = key
    if own > 0:
        index.ints[own, ordered.GIVEN] = word
    if root == 0:
        block = allocate(1, index)
        index.meta[block, ordered.FILLED] = 1
        copy_entries(ordered.GIVEN, ordered.GIVEN + 1, block * ordered.BLOCK, index)
        return -(block + 1)
    depth, block, p, last = descend(root, word, key, 0, index)
    at = block * ordered.BLOCK + p
    same = p < index.meta[block, ordered.FILLED] and index.floats[ordered.KEY, at] == key
    if same and (own == 0 or index.ints[own, at] == word):
        add_given(at, index)
        left, right = block, -1
    else:
        left, right, at = opened(block, p, last, index)
        copy_entries(ordered.GIVEN, ordered.GIVEN + 1, at, index)
    return ascend(depth, -(left + 1), -(right + 1), last, index)


def add_side(node: int, word: int, key: float, side: int, upper: bool, index: Index) -> None:
    """Add the aggregates of a subtree on one side of a bound: from it on (`upper`), or below it."""
    while node != 0:
        first = first_of(node)
        i = place(node, word, key, side, index)
        begin, stop = first, first + i
        if upper:
            begin, stop = first + i + (1 if node > 0 else 0), first + index.meta[abs(node) - 1, ordered.FILLED]
        add_run(begin, stop, ordered.FOUND, index)
        node = child_at(first + i, index) if node > 0 else 0


def aggregate(root: int, word: int, low: float, low_side: int, high: float, high_side: int, index: Index) -> None:
    """Sum up the entries between two bounds of the word, into FOUND (see `ordered`)."""
    clear_entry(ordered.FOUND, index)
    if root == 0 or low > high or (low == high and low_side >= high_side):
        return
    unbounded_low = low == -float("inf") and index.head[ordered.WORD] == 0
    unbounded_high = high == float("inf") and index.head[ordered.WORD] == 0
    node = root
    while node != 0:
        first = first_of(node)
        used = index.meta[abs(node) - 1, ordered.FILLED]
        i = -1
        j = used
        if node < 0 or not unbounded_low:
            i = place(node, word, low, low_side, index)
        if node < 0 or not unbounded_high:
            j = place(node, word, high, high_side, index)
        if node < 0 or i != j:
            add_run(first + i + (1 if node > 0 else 0), first + j, ordered.FOUND, index)
            if node < 0:
                return
            if i >= 0:
                add_side(child_at(first + i, index), word, low, low_side, True, index)
            if j < used:
                add_side(child_at(first + j, index), word, high, high_side, False, index)
            return
        node = child_at(first + i, index)
