"""Matrices over aggregates of sets of paths, from which `kernels.panes` makes panes.

A cell is (counts; sums; least values) of a set of paths. The product of two cells is the set of all pairs of paths, one
followed by the other: (c c', c s' + s c', the least of both). It is empty if c or c' is 0.

The matrices of all keys share one pool (`Store.totals`), since most keys have few.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Store, Wiring
from saffron.engine.trends.core.numbers import add, add_signed, product, times
from saffron.engine.trends.kernels.cells import start_sums

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def make_one(at: int, wiring: Wiring, store: Store) -> None:
    """Set the matrix of no event: one path from each state to itself."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    states = len(wiring.states)
    cell = 0
    while cell < totals.shape[3]:
        for a in range(totals.shape[2]):
            totals[at, 0, a, cell] = 0
            scales[at, 0, a, cell] = 0
        for b in range(extremes.shape[2]):
            extremes[at, 0, b, cell] = layout.INFINITE
        cell += 1
    s = 0
    while s < states:
        totals[at, 0, 0, (s + 1) * states + s] = 1
        s += 1


def add_cell(x: int, at: int, cell: int, wiring: Wiring, store: Store) -> None:
    """Add a cell of a matrix to row x of the scratch."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    for a in range(wiring.params[layout.COUNTED]):
        n, e = sums[x, a, 0], scales[x, a, 0]
        n, e = add(n, e, store.totals[at, 0, a, cell], store.total_scales[at, 0, a, cell])
        sums[x, a, 0] = n
        scales[x, a, 0] = e
    for a in range(wiring.params[layout.COUNTED], sums.shape[1]):
        n, e = sums[x, a, 0], scales[x, a, 0]
        n, e = add_signed(n, e, store.totals[at, 0, a, cell], store.total_scales[at, 0, a, cell])
        sums[x, a, 0] = n
        scales[x, a, 0] = e
    for b in range(extremes.shape[1]):
        extremes[x, b, 0] = min(extremes[x, b, 0], store.total_extremes[at, 0, b, cell])


def add_to_cell(at: int, cell: int, x: int, wiring: Wiring, store: Store) -> None:
    """Add row x of the scratch to a cell of a matrix."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    for a in range(wiring.params[layout.COUNTED]):
        n, e = totals[at, 0, a, cell], scales[at, 0, a, cell]
        n, e = add(n, e, store.sums[x, a, 0], store.sum_scales[x, a, 0])
        totals[at, 0, a, cell] = n
        scales[at, 0, a, cell] = e
    for a in range(wiring.params[layout.COUNTED], totals.shape[2]):
        n, e = totals[at, 0, a, cell], scales[at, 0, a, cell]
        n, e = add_signed(n, e, store.sums[x, a, 0], store.sum_scales[x, a, 0])
        totals[at, 0, a, cell] = n
        scales[at, 0, a, cell] = e
    for b in range(extremes.shape[2]):
        extremes[at, 0, b, cell] = min(extremes[at, 0, b, cell], store.sum_extremes[x, b, 0])


def copy_to_cell(at: int, cell: int, x: int, store: Store) -> None:
    """Write row x of the scratch into a cell of a matrix."""
    for a in range(store.totals.shape[2]):
        store.totals[at, 0, a, cell] = store.sums[x, a, 0]
        store.total_scales[at, 0, a, cell] = store.sum_scales[x, a, 0]
    for b in range(store.total_extremes.shape[2]):
        store.total_extremes[at, 0, b, cell] = store.sum_extremes[x, b, 0]


def add_product(x: int, t: int, at: int, cell: int, wiring: Wiring, store: Store) -> None:
    """Add the product of row t of the scratch and a cell of a matrix to row x of the scratch."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    n, e = sums[t, 0, 0], int(scales[t, 0, 0])
    m, f = store.totals[at, 0, 0, cell], int(store.total_scales[at, 0, 0, cell])
    if n == 0 or m == 0:
        return
    for a in range(1, wiring.params[layout.COUNTED]):
        one, its = product(n, e, store.totals[at, 0, a, cell], int(store.total_scales[at, 0, a, cell]))
        other, others = product(m, f, sums[t, a, 0], int(scales[t, a, 0]))
        one, its = add(one, its, other, others)
        one, its = add(sums[x, a, 0], int(scales[x, a, 0]), one, its)
        sums[x, a, 0] = one
        scales[x, a, 0] = its
    for a in range(wiring.params[layout.COUNTED], sums.shape[1]):
        one, its = times(n, e, store.totals[at, 0, a, cell], int(store.total_scales[at, 0, a, cell]))
        other, others = times(m, f, sums[t, a, 0], int(scales[t, a, 0]))
        one, its = add_signed(one, its, other, others)
        one, its = add_signed(sums[x, a, 0], int(scales[x, a, 0]), one, its)
        sums[x, a, 0] = one
        scales[x, a, 0] = its
    n, e = product(n, e, m, f)
    n, e = add(sums[x, 0, 0], int(scales[x, 0, 0]), n, e)
    sums[x, 0, 0] = n
    scales[x, 0, 0] = e
    for b in range(extremes.shape[1]):
        least = min(extremes[t, b, 0], store.total_extremes[at, 0, b, cell])
        extremes[x, b, 0] = min(extremes[x, b, 0], least)


def through(at: int, begins: bool, wiring: Wiring, store: Store) -> None:
    """Multiply the row vector in the scratch by a matrix; `begins`: the vector's first entry is 1, else 0."""
    states = len(wiring.states)
    s = 0
    while s < states:
        start_sums(states + s, 1, 0, 0, store)
        if begins:
            add_cell(states + s, at, s, wiring, store)
        t = 0
        while t < states:
            add_product(states + s, t, at, (t + 1) * states + s, wiring, store)
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


def load(at: int, first: int, wiring: Wiring, store: Store) -> None:
    """Copy one row of a matrix into the scratch."""
    s = 0
    while s < len(wiring.states):
        start_sums(s, 1, 0, 0, store)
        add_cell(s, at, first + s, wiring, store)
        s += 1


def has_matrices(number: int, store: Store) -> bool:
    """True if there is room for so many; else `NEED` is set."""
    if store.head[layout.MATRICES] - store.head[layout.RELEASED] + number <= len(store.totals):
        return True
    store.head[layout.NEED] = layout.NEED_MATRICES
    store.head[layout.ROOM] = number
    return False


def new_matrix(row: int, slot: int, store: Store) -> Any:
    """A free matrix, for one of the slots of a key; it holds anything."""
    head = store.head
    at = head[layout.MATRICES]
    if head[layout.RELEASED] > 0:
        head[layout.RELEASED] -= 1
        at = store.released[head[layout.RELEASED]]
    else:
        head[layout.MATRICES] = at + 1
    store.matrices[row, slot] = at + 1
    return at


def release(row: int, slot: int, store: Store) -> None:
    """Free the matrix in a slot of a key, if there is one."""
    head, at = store.head, store.matrices[row, slot]
    if at > 0:
        store.released[head[layout.RELEASED]] = at - 1
        head[layout.RELEASED] += 1
        store.matrices[row, slot] = 0


def copy_matrix(source: int, target: int, store: Store) -> None:
    """Write a matrix into another."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    cell = 0
    while cell < totals.shape[3]:
        for a in range(totals.shape[2]):
            totals[target, 0, a, cell] = totals[source, 0, a, cell]
            scales[target, 0, a, cell] = scales[source, 0, a, cell]
        for b in range(extremes.shape[2]):
            extremes[target, 0, b, cell] = extremes[source, 0, b, cell]
        cell += 1


def compose(left: int, right: int, wiring: Wiring, store: Store) -> None:
    """Replace the matrix `left` by its product with `right`."""
    states = len(wiring.states)
    first = 0
    while first < store.totals.shape[3]:
        load(left, first, wiring, store)
        through(right, first == 0, wiring, store)
        s = 0
        while s < states:
            copy_to_cell(left, first + s, s, store)
            s += 1
        first += states
