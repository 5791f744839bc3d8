"""Matrices of panes: overlapping windows at the cost of one, where nothing chooses among vertices (T5).

Pane p reaches from the beginning of window p to that of the next. Window k is all panes from k on, until it closes.
The effect of an event on the numbers of its key is linear: a matrix, applied to the row vector (1, numbers of each
state). The matrix of a pane is the product of its events' matrices. The matrix of a window is the product of its
panes'; its first row is the window's result. Row i, column s of a matrix (`cells`) is the sum over all paths from state
i - 1 to state s. Row 0 is of paths that begin in the pane. The first column of each matrix is known, and left out.

So an event costs one small matrix, whatever the number of windows. A queue of two stacks keeps the products
(Tangwongsan, Hirzel, Schneider: Low-latency sliding-window aggregation in worst-case constant time, 2017, section 2). A
pane before MIDDLE holds the product of itself and all panes behind it up to MIDDLE. Slot K holds the
product of all panes since then, without the last one.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Store, Wiring
from saffron.engine.trends.kernels.cells import enter_numbers, measure, measure_extreme, start_sums
from saffron.engine.trends.kernels.matrices import (
    add_cell,
    add_to_cell,
    compose,
    copy_matrix,
    copy_to_cell,
    load,
    make_one,
    new_matrix,
    release,
    through,
)

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def matrix_of(row: int, after: int, khi: int, wiring: Wiring, store: Store) -> Any:
    """The matrix that the key's next event, in pane `khi`, goes into; two may be taken for it."""
    keys, panes, matrices = store.keys, store.panes, store.matrices
    windows = len(store.slots)
    last = keys[row, after + layout.AFTER_LAST]
    keys[row, after + layout.AFTER_LAST] = khi
    panes[row, layout.PANE_KNOWN] = layout.NO_WINDOW
    if panes[row, layout.PANE_LISTED] == 0:
        panes[row, layout.PANE_LISTED] = 1
        panes[store.head[layout.LIVE], layout.PANE_ROW] = row
        store.head[layout.LIVE] += 1
        panes[row, layout.PANE_MIDDLE] = layout.NO_WINDOW  # there is no front stack
    elif khi > last >= panes[row, layout.PANE_MIDDLE]:
        done = matrices[row, last % windows] - 1
        if matrices[row, windows] > 0:
            compose(matrices[row, windows] - 1, done, wiring, store)
        else:
            copy_matrix(done, new_matrix(row, windows, store), store)
    slot = khi % windows if khi >= panes[row, layout.PANE_MIDDLE] else windows  # the front holds the pane as it was
    if matrices[row, slot] == 0:
        make_one(new_matrix(row, slot, store), wiring, store)
    return matrices[row, slot] - 1


def extend(at: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Multiply a matrix by that of event i."""
    first = 0
    while first < store.totals.shape[3]:
        lengthen_paths(at, first, i, batch.states[i], wiring, store, batch)
        first += len(wiring.states)


def lengthen_paths(at: int, first: int, i: int, events: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Lengthen the paths of one row of a matrix (its cells from `first` on) by event i.

    `events`: the states that the event is a vertex of (bit s: state s).
    """
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            start_sums(s, 0 if wiring.states[s, layout.IS_START] and first == 0 else 1, 0, 0, store)
            for t in range(
                wiring.states[s, layout.ENTERING],
                wiring.states[s, layout.ENTERING] + wiring.states[s, layout.ENTERING_SIZE],
            ):
                add_cell(s, at, first + wiring.transitions[t, layout.SOURCE], wiring, store)
            if len(wiring.measures) > 1:
                measure(s, i, 0, 0, wiring, store, batch)
            if wiring.states[s, layout.IS_END]:
                measure_extreme(s, store.sum_extremes.shape[1] - 1, 0.0 - batch.time[i], 0, 0, store)
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            add_to_cell(at, first + s, s, wiring, store)


def turn(row: int, k: int, last: int, wiring: Wiring, store: Store) -> None:
    """Turn the panes from k on to the front: each matrix becomes the product of itself and those behind it."""
    matrices = store.matrices
    windows = len(store.slots)
    behind = 0
    pane = last
    while pane >= k:
        at = matrices[row, pane % windows]
        if at > 0:
            if behind > 0:
                compose(at - 1, behind - 1, wiring, store)
            behind = at
        pane -= 1
    store.panes[row, layout.PANE_MIDDLE] = last + 1
    store.panes[row, layout.PANE_FRONT] = k
    release(row, windows, store)


def conclude(row: int, k: int, after: int, wiring: Wiring, store: Store) -> None:
    """Sum up the key's trends in window k, into the row of the scratch behind the vectors; takes a matrix."""
    panes, matrices = store.panes, store.matrices
    windows, result = len(store.slots), 2 * len(wiring.states)
    last = store.keys[row, after + layout.AFTER_LAST]
    if k >= panes[row, layout.PANE_MIDDLE]:
        turn(row, k, last, wiring, store)
    pane = max(k, panes[row, layout.PANE_FRONT])
    while matrices[row, pane % windows] == 0:
        pane += 1
    panes[row, layout.PANE_FRONT] = pane
    start_sums(result, 1, 0, 0, store)
    if panes[row, layout.PANE_KNOWN] != pane:
        load(matrices[row, pane % windows] - 1, 0, wiring, store)
        if matrices[row, windows] > 0:
            through(matrices[row, windows] - 1, True, wiring, store)
        if last >= panes[row, layout.PANE_MIDDLE]:
            through(matrices[row, last % windows] - 1, True, wiring, store)
        known = (
            matrices[row, windows + 1] - 1 if matrices[row, windows + 1] > 0 else new_matrix(row, windows + 1, store)
        )
        for s in range(len(wiring.states)):
            if wiring.states[s, layout.IS_END]:
                copy_to_cell(known, 0, s, store)
                add_cell(result, known, 0, wiring, store)
        copy_to_cell(known, 0, result, store)
        panes[row, layout.PANE_KNOWN] = pane
    else:
        add_cell(result, matrices[row, windows + 1] - 1, 0, wiring, store)


def finish_panes(k: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add the keys' numbers in window k to the entries of their groups, and release keys without later numbers."""
    keys, panes = store.keys, store.panes
    result = 2 * len(wiring.states)
    after = 1 + wiring.params[layout.KEY_WIDTH]
    begun = 1 + wiring.params[layout.GROUP_WIDTH] + layout.GROUP_LAST
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    kept = 0
    for j in range(store.head[layout.LIVE]):
        row = panes[j, layout.PANE_ROW]
        group, last = keys[row, after + layout.AFTER_GROUP], keys[row, after + layout.AFTER_LAST]
        if last >= k and store.groups[group, begun] >= k:
            conclude(row, k, after, wiring, store)
            if sums[result, 0, 0] > 0:
                entry = store.where[group, slot]
                enter_numbers(entry, 0, sums[result], scales[result], extremes[result], wiring, store)
                time = int(0.0 - extremes[result, extremes.shape[1] - 1, 0])
                store.entries[entry, layout.E_TIME] = max(store.entries[entry, layout.E_TIME], time)
        if last > k:
            panes[kept, layout.PANE_ROW] = row
            kept += 1
            release(row, slot, store)
        else:
            forget(row, store)
    store.head[layout.LIVE] = kept


def forget(row: int, store: Store) -> None:
    """Release all matrices of a key."""
    store.panes[row, layout.PANE_LISTED] = 0
    slot = 0
    while slot < store.matrices.shape[1]:
        release(row, slot, store)
        slot += 1


def let_go(store: Store) -> None:
    """Forget the numbers of all keys: no open window holds the beginning of a trend."""
    for j in range(store.head[layout.LIVE]):
        forget(store.panes[j, layout.PANE_ROW], store)
    store.head[layout.LIVE] = 0
