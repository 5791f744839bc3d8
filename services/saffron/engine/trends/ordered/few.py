"""Few vertices of a key: a list, read from end to end, and a tree once they are many (see `ordered`).

A list is one run of blocks of the trees' pool, its entries in the order in which they came; of each, LAST says in
which windows its numbers hold: nothing is done to it when a window closes, and what is in no window any more goes when
the list is full. With more than `FEW` entries it becomes a tree; a tree that has shrunk to a quarter of that becomes a
list again, so that neither happens at each turn. A list's root is -(LISTS + its first block + 1). Kernels read lists,
and write behind what `ready` gives them, themselves (`kernels_trees`).
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered.nodes import add_run, allocate, child_at, copy_entries, release
from saffron.engine.trends.ordered.ordered import (
    BLOCK,
    CHILD,
    FEW,
    HEIGHT,
    KEY,
    LAST,
    LEAF,
    LISTS,
    PATH,
    ROOM,
    RUNS,
    USED,
    WINDOWS,
    WORD,
    Index,
)
from saffron.engine.trends.ordered.removal import clear_slot, free_tree, prune
from saffron.engine.trends.ordered.tree import name_child

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def drop_old(block: int, klo: int, index: Index) -> None:
    """Drop the entries of a list that are in no window from `klo` on."""
    last = index.head[LAST]
    if last == 0:
        return
    first = block * BLOCK
    target = first
    for at in range(first, first + index.meta[block, USED]):
        if index.ints[last, at] >= klo:
            if target < at:
                copy_entries(at, at + 1, target, index)
            target += 1
    index.meta[block, USED] = target - first


def moved(block: int, index: Index) -> Any:
    """The list in a longer run."""
    meta = index.meta
    longer = allocate(min(meta[block, ROOM] + 1 + meta[block, ROOM] // 2, RUNS), index)
    meta[longer, USED] = meta[block, USED]
    copy_entries(block * BLOCK, block * BLOCK + meta[block, USED], longer * BLOCK, index)
    release(block + 1, index)
    return longer


def clear_closed(at: int, klo: int, index: Index) -> None:
    """Zero what an entry of a list has in slots of windows that have closed."""
    head = index.head
    windows = head[WINDOWS]
    if head[LAST] == 0:
        return
    for slot in range(windows):
        if klo + (slot - klo) % windows > index.ints[head[LAST], at]:
            clear_slot(at, slot, index)


def comes_before(one: int, other: int, index: Index) -> bool:
    """Whether an entry is less than another."""
    own, keys = index.head[WORD], index.floats
    if own > 0 and index.ints[own, one] != index.ints[own, other]:
        return bool(index.ints[own, one] < index.ints[own, other])
    return bool(keys[KEY, one] < keys[KEY, other])


def sort_list(block: int, klo: int, index: Index) -> Any:
    """Write the places of a list's entries in their order into PATH; returns how many there are."""
    head = index.head
    number = index.meta[block, USED]
    for j in range(number):
        at = block * BLOCK + j
        clear_closed(at, klo, index)
        gap = PATH + j
        while gap > PATH and comes_before(at, head[gap - 1], index):
            head[gap] = head[gap - 1]
            gap -= 1
        head[gap] = at
    return number


def planted(block: int, klo: int, index: Index) -> Any:
    """A tree in place of a list without old entries: leaves of some blocks, and a node above them."""
    head, meta = index.head, index.meta
    number = sort_list(block, klo, index)
    above = allocate((number + LEAF * BLOCK * BLOCK - 1) // (LEAF * BLOCK * BLOCK), index)
    leaf = -1
    target = -1
    for j in range(number):
        at = head[PATH + j]
        if leaf >= 0 and not comes_before(target, at, index):
            add_run(at, at + 1, target, index)
            continue
        if leaf < 0 or meta[leaf, USED] == LEAF * BLOCK:
            leaf = allocate(LEAF, index)
            index.smalls[CHILD, above * BLOCK + meta[above, USED]] = -(leaf + 1)
            meta[above, USED] += 1
        target = leaf * BLOCK + meta[leaf, USED]
        meta[leaf, USED] += 1
        copy_entries(at, at + 1, target, index)
    release(block + 1, index)
    if meta[above, USED] == 1:
        release(above + 1, index)
        return -(leaf + 1)
    for at in range(above * BLOCK, above * BLOCK + meta[above, USED]):
        name_child(child_at(at, index), at, index)
    head[HEIGHT] = max(head[HEIGHT], 1)
    return above + 1


def ready(root: int, klo: int, index: Index) -> Any:
    """The root before an insertion (see `lacks`): a list with room for an entry at its end, else a tree."""
    head, meta = index.head, index.meta
    if root == 0 and head[FEW] > 0:
        return -(LISTS + allocate(1, index) + 1)
    if root >= -LISTS:
        return root
    block = -root - LISTS - 1
    if meta[block, USED] == min(meta[block, ROOM] * BLOCK, head[FEW]):
        drop_old(block, klo, index)
        if meta[block, USED] == head[FEW]:
            return planted(block, klo, index)
        if meta[block, USED] == meta[block, ROOM] * BLOCK:
            block = moved(block, index)
    return -(LISTS + block + 1)


def tend(root: int, klo: int, index: Index) -> Any:
    """The root of a tree once a window has closed and `klo` is the first open one. Costs O(n)."""
    root = prune(root, (klo - 1) % index.head[WINDOWS], index)
    if root >= 0 or 4 * index.meta[-root - 1, USED] > index.head[FEW]:
        return root
    windows, last = index.head[WINDOWS], index.head[LAST]
    for at in range((-root - 1) * BLOCK, (-root - 1) * BLOCK + index.meta[-root - 1, USED]):
        if last > 0:
            k = klo + windows - 1
            while k > klo and index.ints[k % windows, at] == 0:
                k -= 1
            index.ints[last, at] = k
    return int(root) - LISTS


def fell_tree(root: int, index: Index) -> None:
    """Give back all blocks of a tree or a list; its root is 0 from now on."""
    free_tree(root + LISTS if root < -LISTS else root, index)
