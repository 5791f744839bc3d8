"""Matrices over aggregates of sets of paths: what `kernels_panes` makes panes of.

Entries are (counts; sums; least values). Of two sets, of which each path of one is followed by each of the other, they
are (c c', c s' + s c', the least of both), of none if c or c' is 0.

Part of what is compiled once for all queries; see `kernels`.
"""

from __future__ import annotations

from saffron.engine.trends.kernels_cells import plus, start_sums
from saffron.engine.trends.layout import F_COUNT, INFINITE, M_FUNCTION, Store, Wiring
from saffron.engine.trends.numbers import product, times

# ---- template begins: what follows is compiled once for all queries (`source.core`)


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
