"""Functions on one node of the ordered index: search, room, sums (see `ordered`)."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core.numbers import add, add_signed, total
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def first_of(node: int) -> Any:
    """The place of a node's first entry."""
    return (abs(node) - 1) * ordered.BLOCK


def place(node: int, word: int, key: float, side: int, index: Index) -> Any:
    """The place of (word, key, side) in a node.

    In a leaf: the number of entries less than it, an entry itself having side 0. In an inner node: the number of the
    child that it belongs to; all children but the first begin with the order of their entry.
    """
    first = first_of(node)
    stop = first + index.meta[abs(node) - 1, ordered.FILLED]
    if node > 0:
        first += 1
        side += 1
    at = first
    ints, floats = index.ints, index.floats
    own = index.head[ordered.WORD]
    if own > 0:
        for j in range(first, stop):
            at += (ints[own, j] < word) | ((ints[own, j] == word) & (floats[ordered.KEY, j] < key))
    else:
        for j in range(first, stop):
            at += floats[ordered.KEY, j] < key
    if side > 0 and at < stop and floats[ordered.KEY, at] == key and (own == 0 or ints[own, at] == word):
        at += 1
    return at - first


def child_at(at: int, index: Index) -> Any:
    """The child of an inner node's entry, as an int64, for which functions on nodes are compiled."""
    return 0 + index.smalls[ordered.CHILD, at]


def copy_entries(source: int, stop: int, target: int, index: Index) -> None:
    """Copy entries source..stop-1, all of them, to places before them or that they do not overlap."""
    ints, smalls, floats = index.ints, index.smalls, index.floats
    by = target - source
    for j in range(source, stop):
        for r in range(len(ints)):
            ints[r, j + by] = ints[r, j]
        for r in range(len(smalls)):
            smalls[r, j + by] = smalls[r, j]
        for r in range(len(floats)):
            floats[r, j + by] = floats[r, j]


def push_entries(first: int, stop: int, index: Index) -> None:
    """Move entries first..stop-1 by one place."""
    ints, smalls, floats = index.ints, index.smalls, index.floats
    for j in range(stop, first, -1):
        for r in range(len(ints)):
            ints[r, j] = ints[r, j - 1]
        for r in range(len(smalls)):
            smalls[r, j] = smalls[r, j - 1]
        for r in range(len(floats)):
            floats[r, j] = floats[r, j - 1]


def allocate(room: int, index: Index) -> Any:
    """A free run of so many blocks; the caller has made sure that there is one (`lacks`)."""
    head, meta = index.head, index.meta
    block = head[ordered.BLOCKS + room] - 1
    if block >= 0:
        head[ordered.BLOCKS + room] = meta[block, ordered.FILLED]
    else:
        block = head[ordered.BLOCKS]
        head[ordered.BLOCKS] += room
    meta[block, ordered.FILLED] = 0
    meta[block, ordered.LENGTH] = room
    return block


def release(node: int, index: Index) -> None:
    """Give a node's run back."""
    block = abs(node) - 1
    room = index.meta[block, ordered.LENGTH]
    index.meta[block, ordered.FILLED] = index.head[ordered.BLOCKS + room]
    index.head[ordered.BLOCKS + room] = block + 1


def opened(block: int, p: int, last: bool, index: Index) -> tuple[int, int, int]:
    """Make a gap for the p-th entry: (the node, the node split off behind it or -1, the entry's place), as blocks.

    `last`: nothing comes behind this node; keys that only rise fill their nodes. A full node is moved to a run that is
    one block longer, or split into two.
    """
    meta = index.meta
    first = block * ordered.BLOCK
    used = meta[block, ordered.FILLED]
    if used < meta[block, ordered.LENGTH] * ordered.BLOCK:
        push_entries(first + p, first + used, index)
        meta[block, ordered.FILLED] = used + 1
        return block, -1, first + p
    half = used
    right = -1
    to_left = True
    if meta[block, ordered.LENGTH] < ordered.FAN:
        left = allocate(meta[block, ordered.LENGTH] + 1, index)
        meta[left, ordered.FILLED] = used + 1
    else:
        half = used if last and p == used else used >> 1
        to_left = p <= half < used
        size = half + (1 if to_left else 0)
        left = allocate((size + ordered.BLOCK - 1) // ordered.BLOCK, index)
        meta[left, ordered.FILLED] = size
        right = allocate((used - size) // ordered.BLOCK + 1, index)
        meta[right, ordered.FILLED] = used + 1 - size
    begin = 0  # entries before the gap, entries behind it in the same node, entries of the other node
    at = left * ordered.BLOCK + p
    if to_left:
        copy_entries(first + half, first + used, right * ordered.BLOCK, index)
        used = half
    else:
        copy_entries(first, first + half, left * ordered.BLOCK, index)
        begin = half
        at = right * ordered.BLOCK + p - half
    copy_entries(first + begin, first + p, at - (p - begin), index)
    copy_entries(first + p, first + used, at + 1, index)
    release(block + 1, index)
    return left, right, at


def close_gap(block: int, begin: int, stop: int, index: Index) -> None:
    """Take entries begin..stop-1 out of the node."""
    first = block * ordered.BLOCK
    used = index.meta[block, ordered.FILLED]
    copy_entries(first + stop, first + used, first + begin, index)
    index.meta[block, ordered.FILLED] = used - (stop - begin)


def clear_entry(at: int, index: Index) -> None:
    """Set the numbers of an entry to none."""
    for r in range(index.head[ordered.ROWS]):
        index.ints[r, at] = 0
        index.smalls[r, at] = 0
    for r in range(len(index.floats) - 1):
        index.floats[r, at] = float("inf")


def add_run(first: int, stop: int, at: int, index: Index) -> None:
    """Add the numbers of entries first..stop-1 of a node to those of another entry."""
    ns, es, lows = index.ints, index.smalls, index.floats
    if first >= stop:
        return
    for r in range(index.head[ordered.ROWS]):
        if r < index.head[ordered.COUNTS]:
            n, e = total(r, first, stop, ns, es)
            ns[r, at], es[r, at] = add(ns[r, at], es[r, at], n, e)
        else:
            for j in range(first, stop):
                ns[r, at], es[r, at] = add_signed(ns[r, at], es[r, at], ns[r, j], es[r, j])
    for r in range(len(lows) - 1):
        for j in range(first, stop):
            lows[r, at] = min(lows[r, at], lows[r, j])


def add_given(at: int, index: Index) -> None:
    """Add the numbers of the entry to be inserted to those of another."""
    ns, es, lows = index.ints, index.smalls, index.floats
    for r in range(index.head[ordered.ROWS]):
        if r < index.head[ordered.COUNTS]:
            ns[r, at], es[r, at] = add(ns[r, at], es[r, at], ns[r, ordered.GIVEN], es[r, ordered.GIVEN])
        else:
            ns[r, at], es[r, at] = add_signed(ns[r, at], es[r, at], ns[r, ordered.GIVEN], es[r, ordered.GIVEN])
    for r in range(len(lows) - 1):
        lows[r, at] = min(lows[r, at], lows[r, ordered.GIVEN])


def sum_child(child: int, at: int, index: Index) -> None:
    """Sum up a node into the entry `at` of the inner node above it."""
    first = first_of(child)
    stop = first + index.meta[abs(child) - 1, ordered.FILLED]
    index.smalls[ordered.CHILD, at] = child
    clear_entry(at, index)
    add_run(first, stop, at, index)
