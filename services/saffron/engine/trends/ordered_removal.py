"""The trees of the ordered index: what leaves them (see `ordered`). None of it needs room."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.ordered import BLOCK, ROOM, USED, WINDOWS, Index, Nodes
from saffron.engine.trends.ordered_nodes import close_gap, move_entries, move_entry, place, release, sum_child
from saffron.engine.trends.ordered_tree import descend

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def is_empty(node: int, index: Index) -> bool:
    """Whether a node has no entry."""
    if node < 0:
        return bool(index.leaves.meta[-node - 1, USED] == 0)
    return bool(index.inners.meta[node - 1, USED] == 0)


def free_node(node: int, index: Index) -> None:
    """Give back one node."""
    if node < 0:
        release(-node - 1, index.leaves)
    else:
        release(node - 1, index.inners)


def lowered(root: int, index: Index) -> Any:
    """The root without what is above the first node that has more than one child; 0 if nothing is left."""
    inners = index.inners
    if root != 0 and is_empty(root, index):
        free_node(root, index)
        return 0
    while root > 0 and inners.meta[root - 1, USED] == 1:
        child = inners.children[(root - 1) * BLOCK]
        release(root - 1, inners)
        root = child
    return root


def mend(root: int, depth: int, child: int, index: Index) -> Any:
    """The root after entries have left `child`, reached by `path`: empty nodes are freed, the others added up."""
    inners, path = index.inners, index.path
    while depth > 0:
        empty = is_empty(child, index)
        if empty:
            free_node(child, index)
        depth -= 1
        block, j = path[2 * depth], path[2 * depth + 1]
        if empty:
            close_gap(block, j, j + 1, inners)
        else:
            sum_child(child, block * BLOCK + j, index)
        child = block + 1
    return lowered(child, index)


def next_leaf(depth: int, index: Index) -> Any:
    """The leaf behind that of `path`, which moves on to it; -1 when there is none."""
    inners, path = index.inners, index.path
    level = depth - 1
    while level >= 0 and path[2 * level + 1] + 1 >= inners.meta[path[2 * level], USED]:
        level -= 1
    if level < 0:
        return -1
    path[2 * level + 1] += 1
    node = inners.children[path[2 * level] * BLOCK + path[2 * level + 1]]
    while node > 0:
        level += 1
        path[2 * level] = node - 1
        path[2 * level + 1] = 0
        node = inners.children[(node - 1) * BLOCK]
    return -node - 1


def cut(root: int, word: int, low: float, low_seq: int, high: float, high_seq: int, index: Index) -> Any:
    """The root without the entries between two bounds of the word. Costs O(log n) and as much for each leaf's worth."""
    leaves = index.leaves
    while root != 0:
        depth, block, _ = descend(root, word, low, low_seq, index)
        i = place(block, word, low, low_seq, leaves)
        if i == leaves.meta[block, USED]:  # the first entry from `low` on is in the next leaf
            block = next_leaf(depth, index)
            if block < 0:
                return root
            i = 0
        j = place(block, word, high, high_seq, leaves)
        if j <= i:
            return root
        close_gap(block, i, j, leaves)
        root = mend(root, depth, -(block + 1), index)
    return root


def delete(root: int, word: int, key: float, seq: int, index: Index) -> Any:
    """The root without the entry (word, key, seq), if it is there; without a seq, all that has this word and key."""
    if len(index.leaves.seqs) == 0:
        seq = 0
    return cut(root, word, key, seq, key, seq + 1, index)


def drop_before(root: int, seq: int, index: Index) -> Any:
    """The root without vertices of a seq below this (an index that keeps them apart): O(log n) for each, at most."""
    inners, path, seqs = index.inners, index.path, index.leaves.seqs
    while root != 0:
        depth = 0
        node = root
        while node > 0:
            at = (node - 1) * BLOCK
            stop = at + inners.meta[node - 1, USED]
            while at < stop and inners.oldest[at] >= seq:
                at += 1
            if at == stop:
                return root
            path[2 * depth] = node - 1
            path[2 * depth + 1] = at - (node - 1) * BLOCK
            depth += 1
            node = inners.children[at]
        block = -node - 1
        first = block * BLOCK
        target = first
        for at in range(first, first + index.leaves.meta[block, USED]):
            if seqs[at] >= seq:
                if target < at:
                    move_entry(at, target, index.leaves)
                target += 1
        if target - first == index.leaves.meta[block, USED]:
            return root
        index.leaves.meta[block, USED] = target - first
        root = mend(root, depth, node, index)
    return root


def clear_rows(slot: int, windows: int, nodes: Nodes) -> None:
    """Zero every row of the slot."""
    stop = nodes.free[0] * BLOCK
    for r in range(slot, len(nodes.ns), windows):
        for at in range(stop):
            nodes.ns[r, at] = 0
            nodes.es[r, at] = 0
    for r in range(slot, len(nodes.lows), windows):
        for at in range(stop):
            nodes.lows[r, at] = float("inf")


def clear_slot(slot: int, index: Index) -> None:
    """Zero the numbers of one window slot in every tree: row r is of slot r mod K, low r too."""
    clear_rows(slot, index.shape[WINDOWS], index.leaves)
    clear_rows(slot, index.shape[WINDOWS], index.inners)


def sift(block: int, index: Index) -> None:
    """Drop the dead entries of a leaf."""
    leaves = index.leaves
    first = block * BLOCK
    target = first
    for at in range(first, first + leaves.meta[block, USED]):
        alive = False
        for r in range(index.shape[WINDOWS]):
            if leaves.ns[r, at] != 0:
                alive = True
        if alive:
            if target < at:
                move_entry(at, target, leaves)
            target += 1
    leaves.meta[block, USED] = target - first


def joined(block: int, j: int, index: Index) -> bool:
    """Pour the j-th child, a leaf, into the leaf before it if that has room; it is empty then."""
    inners, leaves = index.inners, index.leaves
    if j == 0 or inners.children[block * BLOCK + j] > 0:
        return False
    source = -inners.children[block * BLOCK + j] - 1
    target = -inners.children[block * BLOCK + j - 1] - 1
    used = leaves.meta[target, USED]
    size = leaves.meta[source, USED]
    if used + size > leaves.meta[target, ROOM] * BLOCK:
        return False
    move_entries(source * BLOCK, source * BLOCK + size, target * BLOCK + used, leaves)
    leaves.meta[target, USED] = used + size
    leaves.meta[source, USED] = 0
    sum_child(-(target + 1), block * BLOCK + j - 1, index)
    return True


def prune(root: int, index: Index) -> Any:
    """The root without dead entries; leaves that are small enough are joined. Costs O(n)."""
    inners, path = index.inners, index.path
    if root < 0:
        sift(-root - 1, index)
    if root <= 0:
        return lowered(root, index)
    depth = 0
    path[0] = root - 1
    path[1] = 0
    while True:
        block, j = path[2 * depth], path[2 * depth + 1]
        if j < inners.meta[block, USED]:
            child = inners.children[block * BLOCK + j]
            if child > 0:
                depth += 1
                path[2 * depth] = child - 1
                path[2 * depth + 1] = 0
                continue
            sift(-child - 1, index)
        else:
            if depth == 0:
                return lowered(root, index)
            child = block + 1
            depth -= 1
            block, j = path[2 * depth], path[2 * depth + 1]
        if is_empty(child, index) or joined(block, j, index):
            free_node(child, index)
            close_gap(block, j, j + 1, inners)
        else:
            sum_child(child, block * BLOCK + j, index)
            path[2 * depth + 1] = j + 1


def free_tree(root: int, index: Index) -> None:
    """Give back all nodes of a tree; its root is 0 from now on."""
    inners, path = index.inners, index.path
    if root < 0:
        free_node(root, index)
    if root <= 0:
        return
    depth = 0
    path[0] = root - 1
    path[1] = 0
    while depth >= 0:
        block, j = path[2 * depth], path[2 * depth + 1]
        if j == inners.meta[block, USED]:
            release(block, inners)
            depth -= 1
            continue
        path[2 * depth + 1] = j + 1
        child = inners.children[block * BLOCK + j]
        if child < 0:
            free_node(child, index)
        else:
            depth += 1
            path[2 * depth] = child - 1
            path[2 * depth + 1] = 0
