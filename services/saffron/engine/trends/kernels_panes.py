"""Overlapping windows at the cost of one, where nothing chooses among vertices: matrices of panes (T6, issue 5).

Pane p is what comes from the beginning of window p to that of the next: window k is all panes from k on, until it
closes. What an event does to the numbers of its key is linear. With the row vector (1, numbers of each state) it is a
matrix, a pane the product of its events' matrices, a window that of its panes; its first row is the window's result.
Row i, column s of a matrix (`cells`: rows of as many numbers as there are states): what the paths from state i - 1 to
state s add up to, row 0 of paths that begin in the pane; its first column would say nothing.

So an event costs one small matrix whatever the number of windows. Products come from a queue of two stacks
(Tangwongsan, Hirzel, Schneider: Low-latency sliding-window aggregation in worst-case constant time, 2017, section 2):
panes before MIDDLE hold the product of themselves and all behind them up to there, slot BACK that of all since, but
for the last pane. Entries are aggregates of sets of paths, (counts; sums; least values): of two sets, of which each
path of one is followed by each of the other, they are (c c', c s' + s c', the least of both), of none if c or c' is 0.

Part of what is compiled once for all queries; see `kernels`.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.kernels_cells import enter_numbers, measure, measure_extreme, plus, start_sums
from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LAST,
    E_TIME,
    ENTERING,
    ENTERING_SIZE,
    F_COUNT,
    GROUP_LAST,
    GROUP_WIDTH,
    INFINITE,
    IS_END,
    IS_START,
    KEY_WIDTH,
    LIVE,
    M_FUNCTION,
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
from saffron.engine.trends.numbers import product, times

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


def make_one(row: int, slot: int, wiring: Wiring, store: Store) -> None:
    """The matrix of no event: one path from each state to itself."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    states = len(wiring.states)
    cell = 0
    while cell < totals.shape[3]:
        for a in range(totals.shape[2]):
            totals[row, slot, a, cell] = 0
            scales[row, slot, a, cell] = 0
        for b in range(extremes.shape[2]):
            extremes[row, slot, b, cell] = INFINITE
        cell += 1
    s = 0
    while s < states:
        totals[row, slot, 0, (s + 1) * states + s] = 1
        s += 1


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


def add_cell(x: int, row: int, slot: int, cell: int, wiring: Wiring, store: Store) -> None:
    """Add a cell of a matrix to row x of the scratch."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    for a in range(sums.shape[1]):
        n, e = plus(
            wiring.measures[a, M_FUNCTION],
            sums[x, a, 0],
            scales[x, a, 0],
            store.totals[row, slot, a, cell],
            store.total_scales[row, slot, a, cell],
        )
        sums[x, a, 0] = n
        scales[x, a, 0] = e
    for b in range(extremes.shape[1]):
        extremes[x, b, 0] = min(extremes[x, b, 0], store.total_extremes[row, slot, b, cell])


def add_to_cell(row: int, slot: int, cell: int, x: int, wiring: Wiring, store: Store) -> None:
    """Add row x of the scratch to a cell of a matrix."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    for a in range(totals.shape[2]):
        n, e = plus(
            wiring.measures[a, M_FUNCTION],
            totals[row, slot, a, cell],
            scales[row, slot, a, cell],
            store.sums[x, a, 0],
            store.sum_scales[x, a, 0],
        )
        totals[row, slot, a, cell] = n
        scales[row, slot, a, cell] = e
    for b in range(extremes.shape[2]):
        extremes[row, slot, b, cell] = min(extremes[row, slot, b, cell], store.sum_extremes[x, b, 0])


def copy_to_cell(row: int, slot: int, cell: int, x: int, store: Store) -> None:
    """Write row x of the scratch into a cell of a matrix."""
    for a in range(store.totals.shape[2]):
        store.totals[row, slot, a, cell] = store.sums[x, a, 0]
        store.total_scales[row, slot, a, cell] = store.sum_scales[x, a, 0]
    for b in range(store.total_extremes.shape[2]):
        store.total_extremes[row, slot, b, cell] = store.sum_extremes[x, b, 0]


def add_product(x: int, t: int, row: int, slot: int, cell: int, wiring: Wiring, store: Store) -> None:
    """Add the product of row t of the scratch and a cell of a matrix to row x of the scratch."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    n, e = sums[t, 0, 0], int(scales[t, 0, 0])
    m, f = store.totals[row, slot, 0, cell], int(store.total_scales[row, slot, 0, cell])
    if n == 0 or m == 0:
        return
    for a in range(1, sums.shape[1]):
        j, y = store.totals[row, slot, a, cell], int(store.total_scales[row, slot, a, cell])
        k, z = sums[t, a, 0], int(scales[t, a, 0])
        if wiring.measures[a, M_FUNCTION] == F_COUNT:
            one, its = product(n, e, j, y)
            other, others = product(m, f, k, z)
        else:
            one, its = times(n, e, j, y)
            other, others = times(m, f, k, z)
        one, its = plus(wiring.measures[a, M_FUNCTION], one, its, other, others)
        one, its = plus(wiring.measures[a, M_FUNCTION], sums[x, a, 0], int(scales[x, a, 0]), one, its)
        sums[x, a, 0] = one
        scales[x, a, 0] = its
    n, e = product(n, e, m, f)
    n, e = plus(F_COUNT, sums[x, 0, 0], int(scales[x, 0, 0]), n, e)
    sums[x, 0, 0] = n
    scales[x, 0, 0] = e
    for b in range(extremes.shape[1]):
        least = min(extremes[t, b, 0], store.total_extremes[row, slot, b, cell])
        extremes[x, b, 0] = min(extremes[x, b, 0], least)


def through(row: int, slot: int, begins: bool, wiring: Wiring, store: Store) -> None:
    """Multiply the row vector in the scratch by a matrix; `begins`: the vector's first entry is 1, else 0."""
    states = len(wiring.states)
    s = 0
    while s < states:
        start_sums(states + s, 1, 0, 0, store)
        if begins:
            add_cell(states + s, row, slot, s, wiring, store)
        t = 0
        while t < states:
            add_product(states + s, t, row, slot, (t + 1) * states + s, wiring, store)
            t += 1
        s += 1
    s = 0
    while s < states:
        for a in range(store.sums.shape[1]):
            store.sums[s, a, 0] = store.sums[states + s, a, 0]
            store.sum_scales[s, a, 0] = store.sum_scales[states + s, a, 0]
        for b in range(store.sum_extremes.shape[1]):
            store.sum_extremes[s, b, 0] = store.sum_extremes[states + s, b, 0]
        s += 1


def load(row: int, slot: int, first: int, wiring: Wiring, store: Store) -> None:
    """Copy one row of a matrix into the scratch."""
    s = 0
    while s < len(wiring.states):
        start_sums(s, 1, 0, 0, store)
        add_cell(s, row, slot, first + s, wiring, store)
        s += 1


def compose(row: int, left: int, right: int, wiring: Wiring, store: Store) -> None:
    """The matrix in slot `left` becomes its product by that in slot `right`."""
    states = len(wiring.states)
    first = 0
    while first < store.totals.shape[3]:
        load(row, left, first, wiring, store)
        through(row, right, first == 0, wiring, store)
        s = 0
        while s < states:
            copy_to_cell(row, left, first + s, s, store)
            s += 1
        first += states


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
