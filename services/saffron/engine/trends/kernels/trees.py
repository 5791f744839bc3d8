"""Loops over ordered trees of vertices: aggregates of ranges, for conditions that are ranges (T6).

The `range_` arrays of a batch hold two things for each tree and event. One is the event's place as the earlier event
of a pair; the other is the range that it asks for as the later one. Under TIME STRICT the vertices of the present ts
wait at the end of the list of their state.
"""

from __future__ import annotations

import math
from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Store, Wiring, between
from saffron.engine.trends.core.numbers import add, add_signed
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.few import free_root, ready, rebalance
from saffron.engine.trends.ordered.ordered import Index
from saffron.engine.trends.ordered.tree import aggregate, insert

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def gather_tree(
    s: int, row: int, t: int, i: int, klo: int, khi: int, wiring: Wiring, store: Store, batch: Batch, index: Index
) -> None:
    """Add the numbers of the vertices that transition t leads from to event i in state s."""
    tree = wiring.transitions[t, layout.TREE]
    root = store.keys[row, wiring.trees[tree, layout.T_COLUMN]]
    low = batch.range_lows[tree, i]
    if root == 0 or math.isnan(low):
        return
    if root < -ordered.LISTS:
        gather_few(s, root, tree, i, klo, wiring, store, batch, index)
        return
    word = batch.range_words[tree, i]
    if wiring.trees[tree, layout.T_UNEQUAL]:
        aggregate(root, word, -layout.INFINITE, ordered.BEFORE, low, ordered.BEFORE, index)
        gather_found(s, klo, khi, wiring, store, index)
        aggregate(root, word, low, ordered.AFTER, layout.INFINITE, ordered.AFTER, index)
    else:
        high = batch.range_highs[tree, i]
        aggregate(root, word, low, wiring.trees[tree, layout.T_LOW], high, wiring.trees[tree, layout.T_HIGH], index)
    gather_found(s, klo, khi, wiring, store, index)


def gather_few(
    s: int, root: int, tree: int, i: int, klo: int, wiring: Wiring, store: Store, batch: Batch, index: Index
) -> None:
    """Add the numbers of those in a list of few vertices, in the windows that they share with the event."""
    windows = store.sums.shape[2]
    first = (-root - ordered.LISTS - 1) * ordered.BLOCK
    low, high = batch.range_lows[tree, i], batch.range_highs[tree, i]
    for at in range(first, first + index.meta[-root - ordered.LISTS - 1, ordered.FILLED]):
        key = index.floats[ordered.KEY, at]
        if wiring.trees[tree, layout.T_UNEQUAL]:
            found = key != low
        else:
            above = key >= low if wiring.trees[tree, layout.T_LOW] < 0 else key > low
            found = above and (key <= high if wiring.trees[tree, layout.T_HIGH] > 0 else key < high)
        if found and (
            index.head[ordered.WORD] == 0 or index.ints[index.head[ordered.WORD], at] == batch.range_words[tree, i]
        ):
            last = index.ints[index.head[ordered.LAST], at] if windows > 1 else klo
            for slot in between(klo, last, windows):
                add_entry(s, slot, at, wiring, store, index)


def add_entry(s: int, slot: int, at: int, wiring: Wiring, store: Store, index: Index) -> None:
    """Add an entry's numbers in one window to the numbers of the event."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    windows = sums.shape[2]
    for a in range(wiring.params[layout.COUNTED]):
        r = a * windows + slot
        n, e = add(sums[s, a, slot], scales[s, a, slot], index.ints[r, at], index.smalls[r, at])
        sums[s, a, slot] = n
        scales[s, a, slot] = e
    for a in range(wiring.params[layout.COUNTED], sums.shape[1]):
        r = a * windows + slot
        n, e = add_signed(sums[s, a, slot], scales[s, a, slot], index.ints[r, at], index.smalls[r, at])
        sums[s, a, slot] = n
        scales[s, a, slot] = e
    for b in range(extremes.shape[1]):
        extremes[s, b, slot] = min(extremes[s, b, slot], index.floats[b * windows + slot, at])


def gather_found(s: int, klo: int, khi: int, wiring: Wiring, store: Store, index: Index) -> None:
    """Add the aggregates of a range to the numbers of the event."""
    for slot in between(klo, khi, store.sums.shape[2]):
        add_entry(s, slot, ordered.FOUND, wiring, store, index)


def give_nothing(index: Index) -> None:
    """Set the numbers of the next entry to none."""
    for r in range(index.head[ordered.ROWS]):
        index.ints[r, ordered.GIVEN] = 0
        index.smalls[r, ordered.GIVEN] = 0
    for r in range(len(index.floats) - 1):
        index.floats[r, ordered.GIVEN] = layout.INFINITE


def insert_vertex(
    row: int, s: int, i: int, klo: int, khi: int, wiring: Wiring, store: Store, batch: Batch, index: Index
) -> None:
    """Enter event i, a vertex of state s, into the trees of its key."""
    windows = store.sums.shape[2]
    for tree in range(len(wiring.trees)):
        if wiring.trees[tree, layout.T_SOURCE] == s and not math.isnan(batch.range_keys[tree, i]):
            column = wiring.trees[tree, layout.T_COLUMN]
            root = ready(store.keys[row, column], klo, index)
            at = place_of(root, windows, index)
            for slot in between(klo, khi, windows):
                for a in range(store.sums.shape[1]):
                    index.ints[a * windows + slot, at] = store.sums[s, a, slot]
                    index.smalls[a * windows + slot, at] = store.sum_scales[s, a, slot]
                for b in range(store.sum_extremes.shape[1]):
                    index.floats[b * windows + slot, at] = store.sum_extremes[s, b, slot]
            own, key = batch.range_own[tree, i], batch.range_keys[tree, i]
            store.keys[row, column] = entered(root, at, own, key, khi, windows, index)


def place_of(root: int, windows: int, index: Index) -> Any:
    """The place for the numbers of a new entry: behind those of a list, else where `insert` takes them from."""
    if root < -ordered.LISTS:
        return (-root - ordered.LISTS - 1) * ordered.BLOCK + index.meta[-root - ordered.LISTS - 1, ordered.FILLED]
    if windows > 1:
        give_nothing(index)
    return ordered.GIVEN


def entered(root: int, at: int, own: int, key: float, last: int, windows: int, index: Index) -> Any:
    """The root with the entry whose numbers have been written, of windows up to `last`."""
    if root >= -ordered.LISTS:
        return insert(root, own, key, index)
    index.meta[-root - ordered.LISTS - 1, ordered.FILLED] += 1
    index.floats[ordered.KEY, at] = key
    if index.head[ordered.WORD] > 0:
        index.ints[index.head[ordered.WORD], at] = own
    if windows > 1:
        index.ints[index.head[ordered.LAST], at] = last
    return root


def hold_back(v: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """TIME STRICT: keep with a vertex where it stands in the trees of its state."""
    first = len(store.values) - len(wiring.trees)
    column = store.marks.shape[1] - len(wiring.trees)
    for tree in range(len(wiring.trees)):
        store.values[first + tree, v] = batch.range_keys[tree, i]
        store.marks[v, column + tree] = batch.range_own[tree, i]


def first_waiting(row: int, base: int, wiring: Wiring, store: Store) -> Any:
    """TIME STRICT: the first of the vertices of a list that wait for trees: those of the key's last ts."""
    first = store.keys[row, base + layout.FIRST_ROW]
    last = store.keys[row, 1 + wiring.params[layout.KEY_WIDTH] + layout.AFTER_TIME]
    begin = first + store.keys[row, base + layout.USED]
    while begin > first and store.marks[begin - 1, layout.M_ORDER] == last:
        begin -= 1
    return begin


def insert_waiting(row: int, klo: int, wiring: Wiring, store: Store, index: Index) -> None:
    """TIME STRICT: time has moved on; waiting entries of lists go into the trees."""
    first = len(store.values) - len(wiring.trees)
    marked = store.marks.shape[1] - len(wiring.trees)
    windows = store.counts.shape[2]
    for tree in range(len(wiring.trees)):
        base, column = list_of(wiring.trees[tree, layout.T_SOURCE], wiring), wiring.trees[tree, layout.T_COLUMN]
        stop = store.keys[row, base + layout.FIRST_ROW] + store.keys[row, base + layout.USED]
        for v in range(first_waiting(row, base, wiring, store), stop):
            key = store.values[first + tree, v]
            if not math.isnan(key) and store.marks[v, layout.M_LAST] >= klo:
                root = ready(store.keys[row, column], klo, index)
                at = place_of(root, windows, index)
                give_vertex(v, at, klo, store, index)
                own, last = store.marks[v, marked + tree], store.marks[v, layout.M_LAST]
                store.keys[row, column] = entered(root, at, own, key, last, windows, index)
    for tree in range(len(wiring.trees)):
        if wiring.states[wiring.trees[tree, layout.T_SOURCE], layout.HELD_BACK]:
            store.keys[row, list_of(wiring.trees[tree, layout.T_SOURCE], wiring) + layout.USED] = 0


def give_vertex(v: int, at: int, klo: int, store: Store, index: Index) -> None:
    """Copy the numbers of a vertex into a new entry."""
    windows = store.counts.shape[2]
    for slot in between(klo, store.marks[v, layout.M_LAST], windows):
        for a in range(store.counts.shape[1]):
            index.ints[a * windows + slot, at] = store.counts[v, a, slot]
            index.smalls[a * windows + slot, at] = store.count_scales[v, a, slot]
        for b in range(store.count_extremes.shape[1]):
            index.floats[b * windows + slot, at] = store.count_extremes[v, b, slot]


def list_of(s: int, wiring: Wiring) -> Any:
    """The column of a state's list in the row of a key."""
    return 1 + wiring.params[layout.KEY_WIDTH] + layout.AFTER_LISTS + layout.LIST_SIZE * wiring.states[s, layout.LIST]


def has_nodes(row: int, wiring: Wiring, store: Store, index: Index) -> bool:
    """True if there is room for all insertions that an event can cause; else `NEED` is set."""
    inserts = len(wiring.trees)
    if wiring.params[layout.STRICT]:
        for tree in range(len(wiring.trees)):
            base = list_of(wiring.trees[tree, layout.T_SOURCE], wiring)
            stop = store.keys[row, base + layout.FIRST_ROW] + store.keys[row, base + layout.USED]
            inserts += stop - first_waiting(row, base, wiring, store)
    if index.head[ordered.BLOCKS] + 2 * ordered.FAN * (index.head[ordered.HEIGHT] + 3) * inserts <= len(index.meta):
        return True
    store.head[layout.NEED] = layout.NEED_NODES
    store.head[layout.ROOM] = inserts
    return False


def free_ended(row: int, raised: int, wiring: Wiring, store: Store, index: Index) -> None:
    """Empty the trees that raised marks (mask) end."""
    for tree in range(len(wiring.trees)):
        if wiring.trees[tree, layout.T_BARRIERS] & raised != 0:
            free_root(store.keys[row, wiring.trees[tree, layout.T_COLUMN]], index)
            store.keys[row, wiring.trees[tree, layout.T_COLUMN]] = 0


def clear_window(k: int, wiring: Wiring, store: Store, index: Index) -> None:
    """Clear the slot of window k, which has closed, in all trees, and drop entries in no window; of lists, later."""
    after = 1 + wiring.params[layout.KEY_WIDTH]
    for row in range(store.head[layout.KEYS]):
        dead = store.keys[row, after + layout.AFTER_LAST] <= k
        for tree in range(len(wiring.trees)):
            root = store.keys[row, wiring.trees[tree, layout.T_COLUMN]]
            if root != 0:
                if dead:
                    free_root(root, index)
                    root = 0
                elif root >= -ordered.LISTS:
                    root = rebalance(root, k + 1, index)
                store.keys[row, wiring.trees[tree, layout.T_COLUMN]] = root
