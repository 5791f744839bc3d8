"""The trees of the ordered index: single vertices and ranges that leave them (see `ordered`). None of it needs room."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import BLOCK, OLDEST, PATH, SEQ, USED, Index
from saffron.engine.trends.ordered_nodes import child_at, close_gap, copy_entries, place, release, sum_child
from saffron.engine.trends.ordered_removal import lowered
from saffron.engine.trends.ordered_tree import descend

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def mend(root: int, depth: int, child: int, index: Index) -> Any:
    """The root after entries have left `child`, reached by `PATH`: empty nodes are freed, the others added up."""
    head = index.head
    while depth > 0:
        empty = index.meta[abs(child) - 1, USED] == 0
        if empty:
            release(child, index)
        depth -= 1
        block, j = head[PATH + 2 * depth], head[PATH + 2 * depth + 1]
        if empty:
            close_gap(block, j, j + 1, index)
        else:
            sum_child(child, block * BLOCK + j, index)
        child = block + 1
    return lowered(child, index)


def next_leaf(depth: int, index: Index) -> Any:
    """The leaf behind that of `PATH`, which moves on to it; -1 when there is none."""
    head = index.head
    level = depth - 1
    while level >= 0 and head[PATH + 2 * level + 1] + 1 >= index.meta[head[PATH + 2 * level], USED]:
        level -= 1
    if level < 0:
        return -1
    head[PATH + 2 * level + 1] += 1
    node = child_at(head[PATH + 2 * level] * BLOCK + head[PATH + 2 * level + 1], index)
    while node > 0:
        level += 1
        head[PATH + 2 * level] = node - 1
        head[PATH + 2 * level + 1] = 0
        node = child_at((node - 1) * BLOCK, index)
    return -node - 1


def cut(root: int, word: int, low: float, low_seq: int, high: float, high_seq: int, index: Index) -> Any:
    """The root without the entries between two bounds of the word. Costs O(log n) and as much for each leaf's worth."""
    while root != 0:
        depth, block, i, _ = descend(root, word, low, low_seq, index)
        if i == index.meta[block, USED]:  # the first entry from `low` on is in the next leaf
            block = next_leaf(depth, index)
            if block < 0:
                return root
            i = 0
        j = place(-(block + 1), word, high, high_seq, index)
        if j <= i:
            return root
        close_gap(block, i, j, index)
        root = mend(root, depth, -(block + 1), index)
    return root


def delete(root: int, word: int, key: float, seq: int, index: Index) -> Any:
    """The root without the entry (word, key, seq), if it is there; without a seq, all that has this word and key."""
    if index.head[SEQ] == 0:
        seq = 0
    return cut(root, word, key, seq, key, seq + 1, index)


def drop_before(root: int, seq: int, index: Index) -> Any:
    """The root without vertices of a seq below this (an index that keeps them apart): O(log n) for each, at most."""
    head, ints = index.head, index.ints
    order, oldest = head[SEQ], head[OLDEST]
    while root != 0:
        depth = 0
        node = root
        while node > 0:
            at = (node - 1) * BLOCK
            stop = at + index.meta[node - 1, USED]
            while at < stop and ints[oldest, at] >= seq:
                at += 1
            if at == stop:
                return root
            head[PATH + 2 * depth] = node - 1
            head[PATH + 2 * depth + 1] = at - (node - 1) * BLOCK
            depth += 1
            node = child_at(at, index)
        block = -node - 1
        first = block * BLOCK
        target = first
        for at in range(first, first + index.meta[block, USED]):
            if ints[order, at] >= seq:
                if target < at:
                    copy_entries(at, at + 1, target, index)
                target += 1
        if target - first == index.meta[block, USED]:
            return root
        index.meta[block, USED] = target - first
        root = mend(root, depth, node, index)
    return root
