"""Removal from trees of the ordered index: of closed windows, and of whole trees (see `ordered`). It needs no room."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.nodes import child_at, close_gap, copy_entries, first_of, release, sum_child
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def lowered(root: int, index: Index) -> Any:
    """The root of a tree without inner nodes of one child on top; 0 for an empty tree."""
    if root != 0 and index.meta[abs(root) - 1, ordered.FILLED] == 0:
        release(root, index)
        return 0
    while root > 0 and index.meta[root - 1, ordered.FILLED] == 1:
        child = child_at(first_of(root), index)
        release(root, index)
        root = child
    return root


def clear_slot(at: int, slot: int, index: Index) -> None:
    """Zero an entry's numbers of one window slot: row r is of slot r mod K, low r too."""
    windows = index.head[ordered.WINDOWS]
    for r in range(slot, index.head[ordered.ROWS], windows):
        index.ints[r, at] = 0
        index.smalls[r, at] = 0
    for r in range(slot, len(index.floats) - 1, windows):
        index.floats[r, at] = float("inf")


def is_dead(at: int, index: Index) -> bool:
    """True if an entry counts in no window."""
    r = 0
    while r < index.head[ordered.WINDOWS] and index.ints[r, at] == 0:
        r += 1
    return bool(r == index.head[ordered.WINDOWS])


def sift(block: int, slot: int, index: Index) -> None:
    """Zero a slot of the entries of a leaf, and drop those that are dead then."""
    first = block * ordered.BLOCK
    target = first
    for at in range(first, first + index.meta[block, ordered.FILLED]):
        clear_slot(at, slot, index)
        if not is_dead(at, index):
            if target < at:
                copy_entries(at, at + 1, target, index)
            target += 1
    index.meta[block, ordered.FILLED] = target - first


def joined(block: int, j: int, index: Index) -> bool:
    """Pour the j-th child, a leaf, into the leaf before it if that has room; it is empty then."""
    meta = index.meta
    if j == 0 or child_at(block * ordered.BLOCK + j, index) > 0:
        return False
    source = -child_at(block * ordered.BLOCK + j, index) - 1
    target = -child_at(block * ordered.BLOCK + j - 1, index) - 1
    used = meta[target, ordered.FILLED]
    size = meta[source, ordered.FILLED]
    if used + size > meta[target, ordered.LENGTH] * ordered.BLOCK:
        return False
    copy_entries(source * ordered.BLOCK, source * ordered.BLOCK + size, target * ordered.BLOCK + used, index)
    meta[target, ordered.FILLED] = used + size
    meta[source, ordered.FILLED] = 0
    sum_child(-(target + 1), block * ordered.BLOCK + j - 1, index)
    return True


def prune(root: int, slot: int, index: Index) -> Any:
    """The root with 0 in a slot, without entries that are dead then; leaves that are small enough are joined. O(n)."""
    head, meta = index.head, index.meta
    if root < 0:
        sift(-root - 1, slot, index)
    if root <= 0:
        return lowered(root, index)
    depth = 0
    head[ordered.PATH] = root - 1
    head[ordered.PATH + 1] = 0
    while True:
        block, j = head[ordered.PATH + 2 * depth], head[ordered.PATH + 2 * depth + 1]
        if j < meta[block, ordered.FILLED]:
            child = child_at(block * ordered.BLOCK + j, index)
            if child > 0:
                depth += 1
                head[ordered.PATH + 2 * depth] = child - 1
                head[ordered.PATH + 2 * depth + 1] = 0
                continue
            sift(-child - 1, slot, index)
        else:
            if depth == 0:
                return lowered(root, index)
            child = block + 1
            depth -= 1
            block, j = head[ordered.PATH + 2 * depth], head[ordered.PATH + 2 * depth + 1]
        if meta[abs(child) - 1, ordered.FILLED] == 0 or joined(block, j, index):
            release(child, index)
            close_gap(block, j, j + 1, index)
        else:
            sum_child(child, block * ordered.BLOCK + j, index)
            head[ordered.PATH + 2 * depth + 1] = j + 1


def free_tree(root: int, index: Index) -> None:
    """Give back all nodes of a tree; its root is 0 from now on."""
    head = index.head
    if root < 0:
        release(root, index)
    if root <= 0:
        return
    depth = 0
    head[ordered.PATH] = root - 1
    head[ordered.PATH + 1] = 0
    while depth >= 0:
        block, j = head[ordered.PATH + 2 * depth], head[ordered.PATH + 2 * depth + 1]
        if j == index.meta[block, ordered.FILLED]:
            release(block + 1, index)
            depth -= 1
            continue
        head[ordered.PATH + 2 * depth + 1] = j + 1
        child = child_at(block * ordered.BLOCK + j, index)
        if child < 0:
            release(child, index)
        else:
            depth += 1
            head[ordered.PATH + 2 * depth] = child - 1
            head[ordered.PATH + 2 * depth + 1] = 0
