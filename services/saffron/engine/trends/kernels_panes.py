"""Overlapping windows at the cost of one, where nothing chooses among vertices: matrices of panes (T6, issue 5).

Pane p is what comes from the beginning of window p to that of the next: window k is all panes from k on, until it
closes. What an event does to the numbers of its key is linear. With the row vector (1, numbers of each state) it is a
matrix, a pane the product of its events' matrices, a window that of its panes; its first row is the window's result.
Row i, column s of a matrix (`cells`: rows of as many numbers as there are states): what the paths from state i - 1 to
state s add up to, row 0 of paths that begin in the pane; its first column would say nothing.

So an event costs one small matrix whatever the number of windows. Products come from a queue of two stacks
(Tangwongsan, Hirzel, Schneider: Low-latency sliding-window aggregation in worst-case constant time, 2017, section 2):
panes before MIDDLE hold the product of themselves and all behind them up to there, slot K that of all since, but for
the last pane.

Part of what is compiled once for all queries; see `kernels`.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.kernels_cells import enter_numbers, measure, measure_extreme, start_sums
from saffron.engine.trends.kernels_matrices import (
    add_cell,
    add_to_cell,
    compose,
    copy_to_cell,
    load,
    make_one,
    through,
)
from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LAST,
    E_TIME,
    ENTERING,
    ENTERING_SIZE,
    GROUP_LAST,
    GROUP_WIDTH,
    IS_END,
    IS_START,
    KEY_WIDTH,
    LIVE,
    NO_WINDOW,
    PANE_FRONT,
    PANE_KNOWN,
    PANE_LISTED,
    PANE_MIDDLE,
    PANE_ROW,
    SOURCE,
    Batch,
    Store,
    Wiring,
)

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def slot_of(row: int, after: int, khi: int, wiring: Wiring, store: Store) -> Any:
    """Where the matrix is that the key's next event, in pane `khi`, goes into."""
    keys, panes = store.keys, store.panes
    windows = len(store.slots)
    last = keys[row, after + AFTER_LAST]
    keys[row, after + AFTER_LAST] = khi
    panes[row, windows + PANE_KNOWN] = NO_WINDOW
    slot = khi % windows
    if panes[row, windows + PANE_LISTED] == 0:
        if last == NO_WINDOW:
            other = 0
            while other < windows:
                panes[row, other] = NO_WINDOW
                other += 1
        panes[row, windows + PANE_LISTED] = 1
        panes[store.head[LIVE], windows + PANE_ROW] = row
        store.head[LIVE] += 1
        panes[row, slot] = NO_WINDOW
        panes[row, windows + PANE_MIDDLE] = NO_WINDOW  # there is no front stack
        make_one(row, windows, wiring, store)
    elif khi > last >= panes[row, windows + PANE_MIDDLE]:
        compose(row, windows, last % windows, wiring, store)
    if khi < panes[row, windows + PANE_MIDDLE]:
        return windows  # the front holds the pane as it was
    if panes[row, slot] != khi:
        panes[row, slot] = khi
        make_one(row, slot, wiring, store)
    return slot


def extend(row: int, slot: int, i: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Multiply a matrix by that of event i."""
    first = 0
    while first < store.totals.shape[3]:
        lengthen_paths(row, slot, first, i, batch.states[i], wiring, store, batch)
        first += len(wiring.states)


def lengthen_paths(
    row: int, slot: int, first: int, i: int, events: int, wiring: Wiring, store: Store, batch: Batch
) -> None:
    """Lengthen the paths of one row of a matrix (its cells from `first` on) by event i."""
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            start_sums(s, 0 if wiring.states[s, IS_START] and first == 0 else 1, 0, 0, store)
            for t in range(wiring.states[s, ENTERING], wiring.states[s, ENTERING] + wiring.states[s, ENTERING_SIZE]):
                add_cell(s, row, slot, first + wiring.transitions[t, SOURCE], wiring, store)
            if len(wiring.measures) > 1:
                measure(s, i, 0, 0, wiring, store, batch)
            if wiring.states[s, IS_END]:
                measure_extreme(s, store.sum_extremes.shape[1] - 1, 0.0 - batch.time[i], 0, 0, store)
    for s in range(len(wiring.states)):
        if (events >> s) & 1:
            add_to_cell(row, slot, first + s, s, wiring, store)


def turn(row: int, k: int, last: int, wiring: Wiring, store: Store) -> None:
    """All panes from k on go to the front: each becomes the product of itself and those behind it."""
    panes = store.panes
    windows = len(store.slots)
    behind = -1
    pane = last
    while pane >= k:
        slot = pane % windows
        if panes[row, slot] == pane:
            if behind >= 0:
                compose(row, slot, behind, wiring, store)
            behind = slot
        pane -= 1
    panes[row, windows + PANE_MIDDLE] = last + 1
    panes[row, windows + PANE_FRONT] = k
    make_one(row, windows, wiring, store)


def conclude(row: int, k: int, after: int, wiring: Wiring, store: Store) -> None:
    """What the key's trends in window k add up to, into the row of the scratch behind the vectors."""
    panes = store.panes
    windows, result = len(store.slots), 2 * len(wiring.states)
    last = store.keys[row, after + AFTER_LAST]
    if k >= panes[row, windows + PANE_MIDDLE]:
        turn(row, k, last, wiring, store)
    pane = max(k, panes[row, windows + PANE_FRONT])
    while panes[row, pane % windows] != pane:
        pane += 1
    panes[row, windows + PANE_FRONT] = pane
    start_sums(result, 1, 0, 0, store)
    if panes[row, windows + PANE_KNOWN] != pane:
        load(row, pane % windows, 0, wiring, store)
        through(row, windows, True, wiring, store)
        if last >= panes[row, windows + PANE_MIDDLE]:
            through(row, last % windows, True, wiring, store)
        for s in range(len(wiring.states)):
            if wiring.states[s, IS_END]:
                copy_to_cell(row, windows + 1, 0, s, store)
                add_cell(result, row, windows + 1, 0, wiring, store)
        copy_to_cell(row, windows + 1, 0, result, store)
        panes[row, windows + PANE_KNOWN] = pane
    else:
        add_cell(result, row, windows + 1, 0, wiring, store)


def finish_panes(k: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add what the keys have in window k to the entries of their groups; those that have nothing later are let go."""
    keys, panes = store.keys, store.panes
    windows, result = len(store.slots), 2 * len(wiring.states)
    after = 1 + wiring.params[KEY_WIDTH]
    begun = 1 + wiring.params[GROUP_WIDTH] + GROUP_LAST
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    kept = 0
    for j in range(store.head[LIVE]):
        row = panes[j, windows + PANE_ROW]
        group, last = keys[row, after + AFTER_GROUP], keys[row, after + AFTER_LAST]
        if last >= k and store.groups[group, begun] >= k:
            conclude(row, k, after, wiring, store)
            if sums[result, 0, 0] > 0:
                entry = store.where[group, slot]
                enter_numbers(entry, 0, sums[result], scales[result], extremes[result], wiring, store)
                time = int(0.0 - extremes[result, extremes.shape[1] - 1, 0])
                store.entries[entry, E_TIME] = max(store.entries[entry, E_TIME], time)
        if last > k:
            panes[kept, windows + PANE_ROW] = row
            kept += 1
        else:
            panes[row, windows + PANE_LISTED] = 0
    store.head[LIVE] = kept


def let_go(store: Store) -> None:
    """No open window holds the beginning of a trend: what the keys have counts for nothing."""
    windows = len(store.slots)
    for j in range(store.head[LIVE]):
        store.panes[store.panes[j, windows + PANE_ROW], windows + PANE_LISTED] = 0
    store.head[LIVE] = 0
