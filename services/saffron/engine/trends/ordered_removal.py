"""The trees of the ordered index: windows that close, and trees that end (see `ordered`). None of it needs room."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import BLOCK, BLOCKS, PATH, ROOM, ROWS, USED, WINDOWS, Index
from saffron.engine.trends.ordered_nodes import child_at, close_gap, copy_entries, first_of, release, sum_child

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def lowered(root: int, index: Index) -> Any:
    """The root without what is above the first node that has more than one child; 0 if nothing is left."""
    if root != 0 and index.meta[abs(root) - 1, USED] == 0:
        release(root, index)
        return 0
    while root > 0 and index.meta[root - 1, USED] == 1:
        child = child_at(first_of(root), index)
        release(root, index)
        root = child
    return root


def clear_slot(slot: int, index: Index) -> None:
    """Zero the numbers of one window slot in every tree: row r is of slot r mod K, low r too."""
    stop = index.head[BLOCKS] * BLOCK
    for r in range(slot, index.head[ROWS], index.head[WINDOWS]):
        for at in range(stop):
            index.ints[r, at] = 0
            index.smalls[r, at] = 0
    for r in range(slot, len(index.floats) - 1, index.head[WINDOWS]):
        for at in range(stop):
            index.floats[r, at] = float("inf")


def sift(block: int, index: Index) -> None:
    """Drop the dead entries of a leaf."""
    first = block * BLOCK
    target = first
    for at in range(first, first + index.meta[block, USED]):
        alive = False
        for r in range(index.head[WINDOWS]):
            if index.ints[r, at] != 0:
                alive = True
        if alive:
            if target < at:
                copy_entries(at, at + 1, target, index)
            target += 1
    index.meta[block, USED] = target - first


def joined(block: int, j: int, index: Index) -> bool:
    """Pour the j-th child, a leaf, into the leaf before it if that has room; it is empty then."""
    meta = index.meta
    if j == 0 or child_at(block * BLOCK + j, index) > 0:
        return False
    source = -child_at(block * BLOCK + j, index) - 1
    target = -child_at(block * BLOCK + j - 1, index) - 1
    used = meta[target, USED]
    size = meta[source, USED]
    if used + size > meta[target, ROOM] * BLOCK:
        return False
    copy_entries(source * BLOCK, source * BLOCK + size, target * BLOCK + used, index)
    meta[target, USED] = used + size
    meta[source, USED] = 0
    sum_child(-(target + 1), block * BLOCK + j - 1, index)
    return True


def prune(root: int, index: Index) -> Any:
    """The root without dead entries; leaves that are small enough are joined. Costs O(n)."""
    head, meta = index.head, index.meta
    if root < 0:
        sift(-root - 1, index)
    if root <= 0:
        return lowered(root, index)
    depth = 0
    head[PATH] = root - 1
    head[PATH + 1] = 0
    while True:
        block, j = head[PATH + 2 * depth], head[PATH + 2 * depth + 1]
        if j < meta[block, USED]:
            child = child_at(block * BLOCK + j, index)
            if child > 0:
                depth += 1
                head[PATH + 2 * depth] = child - 1
                head[PATH + 2 * depth + 1] = 0
                continue
            sift(-child - 1, index)
        else:
            if depth == 0:
                return lowered(root, index)
            child = block + 1
            depth -= 1
            block, j = head[PATH + 2 * depth], head[PATH + 2 * depth + 1]
        if meta[abs(child) - 1, USED] == 0 or joined(block, j, index):
            release(child, index)
            close_gap(block, j, j + 1, index)
        else:
            sum_child(child, block * BLOCK + j, index)
            head[PATH + 2 * depth + 1] = j + 1


def free_tree(root: int, index: Index) -> None:
    """Give back all nodes of a tree; its root is 0 from now on."""
    head = index.head
    if root < 0:
        release(root, index)
    if root <= 0:
        return
    depth = 0
    head[PATH] = root - 1
    head[PATH + 1] = 0
    while depth >= 0:
        block, j = head[PATH + 2 * depth], head[PATH + 2 * depth + 1]
        if j == index.meta[block, USED]:
            release(block + 1, index)
            depth -= 1
            continue
        head[PATH + 2 * depth + 1] = j + 1
        child = child_at(block * BLOCK + j, index)
        if child < 0:
            release(child, index)
        else:
            depth += 1
            head[PATH + 2 * depth] = child - 1
            head[PATH + 2 * depth + 1] = 0
