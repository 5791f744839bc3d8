"""Lists of few vertices of a key, scanned from end to end; a list becomes a tree when it has many (see `ordered`).

A list is one run of blocks of the trees' pool. Its entries stand in order of arrival. LAST of an entry is the last
window in which its numbers hold, so a closing window costs nothing. Entries in no open window are dropped when the
list is full. A list of more than `FEW` entries becomes a tree. A tree that has shrunk to a quarter of that becomes a
list again, so that the two do not alternate. The root of a list is -(LISTS + its first block + 1). Query kernels
(`kernels.trees`) read lists themselves, and append to them where `ready` made room.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.nodes import add_run, allocate, child_at, copy_entries, release
from saffron.engine.trends.ordered.ordered import Index
from saffron.engine.trends.ordered.removal import clear_slot, free_tree, prune
from saffron.engine.trends.ordered.tree import name_child

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def drop_old(block: int, klo: int, index: Index) -> None:
    """Drop the entries of a list that are in no window from `klo` on."""
    last = index.head[ordered.LAST]
    if last == 0:
        return
    first = block * ordered.BLOCK
    target = first
    for at in range(first, first + index.meta[block, ordered.FILLED]):
        if index.ints[last, at] >= klo:
            if target < at:
                copy_entries(at, at + 1, target, index)
            target += 1
    index.meta[block, ordered.FILLED] = target - first


def moved(block: int, index: Index) -> Any:
    """The list in a longer run."""
    meta = index.meta
    longer = allocate(min(meta[block, ordered.LENGTH] + 1 + meta[block, ordered.LENGTH] // 2, ordered.RUNS), index)
    meta[longer, ordered.FILLED] = meta[block, ordered.FILLED]
    copy_entries(
        block * ordered.BLOCK, block * ordered.BLOCK + meta[block, ordered.FILLED], longer * ordered.BLOCK, index
    )
    release(block + 1, index)
    return longer


def clear_closed(at: int, klo: int, index: Index) -> None:
    """Zero the numbers of a list's entry in slots of windows that have closed."""
    head = index.head
    windows = head[ordered.WINDOWS]
    if head[ordered.LAST] == 0:
        return
    for slot in range(windows):
        if klo + (slot - klo) % windows > index.ints[head[ordered.LAST], at]:
            clear_slot(at, slot, index)


def comes_before(one: int, other: int, index: Index) -> bool:
    """True if an entry is less than another."""
    own, keys = index.head[ordered.WORD], index.floats
    if own > 0 and index.ints[own, one] != index.ints[own, other]:
        return bool(index.ints[own, one] < index.ints[own, other])
    return bool(keys[ordered.KEY, one] < keys[ordered.KEY, other])


def sort_list(block: int, klo: int, index: Index) -> Any:
    """Write the places of a list's entries in their order into PATH; returns how many there are."""
    head = index.head
    number = index.meta[block, ordered.FILLED]
    for j in range(number):
        at = block * ordered.BLOCK + j
        clear_closed(at, klo, index)
        gap = ordered.PATH + j
        while gap > ordered.PATH and comes_before(at, head[gap - 1], index):
            head[gap] = head[gap - 1]
            gap -= 1
        head[gap] = at
    return number


def tree_of_list(block: int, klo: int, index: Index) -> Any:
    """A tree in place of a list without old entries: leaves of some blocks, and a node above them."""
    head, meta = index.head, index.meta
    number = sort_list(block, klo, index)
    above = allocate(
        (number + ordered.LEAF * ordered.BLOCK * ordered.BLOCK - 1) // (ordered.LEAF * ordered.BLOCK * ordered.BLOCK),
        index,
    )
    leaf = -1
    target = -1
    for j in range(number):
        at = head[ordered.PATH + j]
        if leaf >= 0 and not comes_before(target, at, index):
            add_run(at, at + 1, target, index)
            continue
        if leaf < 0 or meta[leaf, ordered.FILLED] == ordered.LEAF * ordered.BLOCK:
            leaf = allocate(ordered.LEAF, index)
            index.smalls[ordered.CHILD, above * ordered.BLOCK + meta[above, ordered.FILLED]] = -(leaf + 1)
            meta[above, ordered.FILLED] += 1
        target = leaf * ordered.BLOCK + meta[leaf, ordered.FILLED]
        meta[leaf, ordered.FILLED] += 1
        copy_entries(at, at + 1, target, index)
    release(block + 1, index)
    if meta[above, ordered.FILLED] == 1:
        release(above + 1, index)
        return -(leaf + 1)
    for at in range(above * ordered.BLOCK, above * ordered.BLOCK + meta[above, ordered.FILLED]):
        name_child(child_at(at, index), at, index)
    head[ordered.HEIGHT] = max(head[ordered.HEIGHT], 1)
    return above + 1


def ready(root: int, klo: int, index: Index) -> Any:
    """The root before an insertion (see `lacks`): a list with room for an entry at its end, else a tree."""
    head, meta = index.head, index.meta
    if root == 0 and head[ordered.FEW] > 0:
        return -(ordered.LISTS + allocate(1, index) + 1)
    if root >= -ordered.LISTS:
        return root
    block = -root - ordered.LISTS - 1
    if meta[block, ordered.FILLED] == min(meta[block, ordered.LENGTH] * ordered.BLOCK, head[ordered.FEW]):
        drop_old(block, klo, index)
        if meta[block, ordered.FILLED] == head[ordered.FEW]:
            return tree_of_list(block, klo, index)
        if meta[block, ordered.FILLED] == meta[block, ordered.LENGTH] * ordered.BLOCK:
            block = moved(block, index)
    return -(ordered.LISTS + block + 1)


def rebalance(root: int, klo: int, index: Index) -> Any:
    """The root of a tree once a window has closed and `klo` is the first open one. Costs O(n)."""
    root = prune(root, (klo - 1) % index.head[ordered.WINDOWS], index)
    if root >= 0 or 4 * index.meta[-root - 1, ordered.FILLED] > index.head[ordered.FEW]:
        return root
    windows, last = index.head[ordered.WINDOWS], index.head[ordered.LAST]
    for at in range((-root - 1) * ordered.BLOCK, (-root - 1) * ordered.BLOCK + index.meta[-root - 1, ordered.FILLED]):
        if last > 0:
            k = klo + windows - 1
            while k > klo and index.ints[k % windows, at] == 0:
                k -= 1
            index.ints[last, at] = k
    return int(root) - ordered.LISTS


def free_root(root: int, index: Index) -> None:
    """Give back all blocks of a tree or a list; its root is 0 from now on."""
    free_tree(root + ordered.LISTS if root < -ordered.LISTS else root, index)
