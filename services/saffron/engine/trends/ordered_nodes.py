"""One node of the ordered index: searching it, making room in it, adding it up (see `ordered`)."""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.layout import Floats, Ints, Smalls
from saffron.engine.trends.numbers import add, add_signed, total
from saffron.engine.trends.ordered import BLOCK, COUNTS, FAN, ROOM, USED, Index, Nodes

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def place(block: int, word: int, key: float, seq: int, nodes: Nodes) -> Any:
    """How many entries of the node are less than (word, key, seq); an entry without a seq has 0."""
    first = block * BLOCK
    return less(first, first + nodes.meta[block, USED], word, key, seq, nodes)


def child_of(block: int, word: int, key: float, seq: int, inners: Nodes) -> Any:
    """The number of the child in which (word, key, seq) belongs: all but the first begin with their entry's order."""
    first = block * BLOCK
    return less(first + 1, first + inners.meta[block, USED], word, key, seq + 1, inners)


def less(first: int, stop: int, word: int, key: float, seq: int, nodes: Nodes) -> Any:
    """How many of entries first..stop-1, which are in order, are less than (word, key, seq)."""
    keys, words, seqs = nodes.keys, nodes.words, nodes.seqs
    at = first
    if len(words) > 0:
        for j in range(first, stop):
            at += (words[j] < word) | ((words[j] == word) & (keys[j] < key))
    else:
        for j in range(first, stop):
            at += keys[j] < key
    while at < stop and keys[at] == key and (len(words) == 0 or words[at] == word):
        if (seqs[at] if len(seqs) > 0 else 0) >= seq:
            break
        at += 1
    return at - first


def move_entry(source: int, target: int, nodes: Nodes) -> None:
    """Copy an entry, all of it."""
    nodes.keys[target] = nodes.keys[source]
    if len(nodes.words) > 0:
        nodes.words[target] = nodes.words[source]
    if len(nodes.seqs) > 0:
        nodes.seqs[target] = nodes.seqs[source]
    if len(nodes.children) > 0:
        nodes.children[target] = nodes.children[source]
    if len(nodes.oldest) > 0:
        nodes.oldest[target] = nodes.oldest[source]
    for r in range(len(nodes.ns)):
        nodes.ns[r, target] = nodes.ns[r, source]
        nodes.es[r, target] = nodes.es[r, source]
    for r in range(len(nodes.lows)):
        nodes.lows[r, target] = nodes.lows[r, source]


def move_entries(source: int, stop: int, target: int, nodes: Nodes) -> None:
    """Copy entries source..stop-1, to a place before them or one that they do not overlap."""
    for j in range(stop - source):
        move_entry(source + j, target + j, nodes)


def allocate(room: int, nodes: Nodes) -> Any:
    """A free run of so many blocks; the caller has seen to it that there is one (`lacks`)."""
    block = nodes.free[room] - 1
    if block >= 0:
        nodes.free[room] = nodes.meta[block, USED]
    else:
        block = nodes.free[0]
        nodes.free[0] += room
    nodes.meta[block, USED] = 0
    nodes.meta[block, ROOM] = room
    return block


def release(block: int, nodes: Nodes) -> None:
    """Give a node's run back."""
    room = nodes.meta[block, ROOM]
    nodes.meta[block, USED] = nodes.free[room]
    nodes.free[room] = block + 1


def opened(block: int, p: int, last: bool, nodes: Nodes) -> tuple[int, int, int]:
    """Make a gap for the p-th entry: (the node, the node split off behind it or -1, the entry's place).

    `last`: nothing comes behind this node; keys that only rise fill their nodes.
    """
    first = block * BLOCK
    used = nodes.meta[block, USED]
    if used == nodes.meta[block, ROOM] * BLOCK:
        return divided(block, p, last, nodes)
    for j in range(first + used, first + p, -1):
        move_entry(j - 1, j, nodes)
    nodes.meta[block, USED] = used + 1
    return block, -1, first + p


def divided(block: int, p: int, last: bool, nodes: Nodes) -> tuple[int, int, int]:
    """`opened` for a full node: moved to a run that is one block longer, or split into two."""
    first = block * BLOCK
    used = nodes.meta[block, USED]
    half = used
    right = -1
    to_left = True
    if nodes.meta[block, ROOM] < FAN:
        left = allocate(nodes.meta[block, ROOM] + 1, nodes)
        nodes.meta[left, USED] = used + 1
    else:
        half = used if last and p == used else used >> 1
        to_left = p <= half < used
        size = half + (1 if to_left else 0)
        left = allocate((size + BLOCK - 1) // BLOCK, nodes)
        nodes.meta[left, USED] = size
        right = allocate((used - size) // BLOCK + 1, nodes)
        nodes.meta[right, USED] = used + 1 - size
    at = left * BLOCK + p if to_left else right * BLOCK + p - half
    for j in range(used):
        target = left * BLOCK + j if j < half else right * BLOCK + j - half
        if j >= p and (j < half) == to_left:
            target += 1  # behind the gap, in the same node
        move_entry(first + j, target, nodes)
    release(block, nodes)
    return left, right, at


def close_gap(block: int, begin: int, stop: int, nodes: Nodes) -> None:
    """Take entries begin..stop-1 out of the node."""
    first = block * BLOCK
    used = nodes.meta[block, USED]
    move_entries(first + stop, first + used, first + begin, nodes)
    nodes.meta[block, USED] = used - (stop - begin)


def clear_found(index: Index) -> None:
    """No aggregates yet."""
    for r in range(len(index.found_ns)):
        index.found_ns[r] = 0
        index.found_es[r] = 0
    for r in range(len(index.found_lows)):
        index.found_lows[r] = float("inf")


def add_run(first: int, stop: int, index: Index, nodes: Nodes) -> None:
    """Add the numbers of entries first..stop-1 of a node to those found."""
    if first >= stop:
        return
    counts = index.shape[COUNTS]
    ns, es = index.found_ns, index.found_es
    for r in range(len(ns)):
        if r < counts:
            n, e = total(r, first, stop, nodes.ns, nodes.es)
            ns[r], es[r] = add(ns[r], es[r], n, e)
        else:
            for j in range(first, stop):
                ns[r], es[r] = add_signed(ns[r], es[r], nodes.ns[r, j], nodes.es[r, j])
    for r in range(len(index.found_lows)):
        for j in range(first, stop):
            index.found_lows[r] = min(index.found_lows[r], nodes.lows[r, j])


def add_given(at: int, counts: int, nodes: Nodes, ns: Ints, es: Smalls, lows: Floats) -> None:
    """Add the entry being inserted to an entry."""
    for r in range(len(ns)):
        if r < counts:
            nodes.ns[r, at], nodes.es[r, at] = add(nodes.ns[r, at], nodes.es[r, at], ns[r], es[r])
        else:
            nodes.ns[r, at], nodes.es[r, at] = add_signed(nodes.ns[r, at], nodes.es[r, at], ns[r], es[r])
    for r in range(len(lows)):
        nodes.lows[r, at] = min(nodes.lows[r, at], lows[r])


def sum_node(block: int, at: int, index: Index, nodes: Nodes) -> None:
    """The aggregates of a node, into the entry `at` of the inner node above it."""
    inners = index.inners
    first = block * BLOCK
    stop = first + nodes.meta[block, USED]
    for r in range(len(nodes.ns)):
        if r < index.shape[COUNTS]:
            inners.ns[r, at], inners.es[r, at] = total(r, first, stop, nodes.ns, nodes.es)
        else:
            n, x = nodes.ns[r, first], nodes.es[r, first]
            for j in range(first + 1, stop):
                n, x = add_signed(n, x, nodes.ns[r, j], nodes.es[r, j])
            inners.ns[r, at], inners.es[r, at] = n, x
    for r in range(len(nodes.lows)):
        low = nodes.lows[r, first]
        for j in range(first + 1, stop):
            low = min(low, nodes.lows[r, j])
        inners.lows[r, at] = low
    if len(inners.oldest) > 0:
        seqs = nodes.oldest if len(nodes.oldest) > 0 else nodes.seqs
        oldest = seqs[first]
        for j in range(first + 1, stop):
            oldest = min(oldest, seqs[j])
        inners.oldest[at] = oldest


def sum_child(child: int, at: int, index: Index) -> None:
    """The aggregates of a child, into the entry `at` of the inner node above it, which names it."""
    index.inners.children[at] = child
    if child < 0:
        sum_node(-child - 1, at, index, index.leaves)
    else:
        sum_node(child - 1, at, index, index.inners)
