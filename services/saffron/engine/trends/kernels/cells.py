"""Loops over numbers and extremes: of totals, vertices, entries and the event being taken (T9).

`klo` and `khi`: numbers of the first and the last window of the loop.
"""

from __future__ import annotations

import math

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Flags, Floats, Ints, Smalls, Store, Wiring, between
from saffron.engine.trends.core.numbers import add, add_signed, scaled

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def zero(row: int, total: int, klo: int, khi: int, store: Store) -> None:
    """Empty a total."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    for slot in between(klo, khi, totals.shape[3]):
        for a in range(totals.shape[2]):
            totals[row, total, a, slot] = 0
            scales[row, total, a, slot] = 0
        for b in range(extremes.shape[2]):
            extremes[row, total, b, slot] = layout.INFINITE


def pour(row: int, source: int, target: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add one total of a key to another, and empty it."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    for slot in between(klo, khi, totals.shape[3]):
        for a in range(wiring.params[layout.COUNTED]):
            n, e = totals[row, target, a, slot], scales[row, target, a, slot]
            n, e = add(n, e, totals[row, source, a, slot], scales[row, source, a, slot])
            totals[row, target, a, slot] = n
            scales[row, target, a, slot] = e
        for a in range(wiring.params[layout.COUNTED], totals.shape[2]):
            n, e = totals[row, target, a, slot], scales[row, target, a, slot]
            n, e = add_signed(n, e, totals[row, source, a, slot], scales[row, source, a, slot])
            totals[row, target, a, slot] = n
            scales[row, target, a, slot] = e
        for b in range(extremes.shape[2]):
            extremes[row, target, b, slot] = min(extremes[row, target, b, slot], extremes[row, source, b, slot])
    zero(row, source, klo, khi, store)


def gather_total(s: int, row: int, total: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add a total of the key to the numbers of the event."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    sums, sum_scales = store.sums, store.sum_scales
    for slot in between(klo, khi, totals.shape[3]):
        for a in range(wiring.params[layout.COUNTED]):
            n, e = sums[s, a, slot], sum_scales[s, a, slot]
            n, e = add(n, e, totals[row, total, a, slot], scales[row, total, a, slot])
            sums[s, a, slot] = n
            sum_scales[s, a, slot] = e
        for a in range(wiring.params[layout.COUNTED], totals.shape[2]):
            n, e = sums[s, a, slot], sum_scales[s, a, slot]
            n, e = add_signed(n, e, totals[row, total, a, slot], scales[row, total, a, slot])
            sums[s, a, slot] = n
            sum_scales[s, a, slot] = e
        for b in range(extremes.shape[2]):
            store.sum_extremes[s, b, slot] = min(store.sum_extremes[s, b, slot], extremes[row, total, b, slot])


def accumulate(row: int, total: int, s: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Add the event's numbers in state s to a total of its key."""
    totals, scales, extremes = store.totals, store.total_scales, store.total_extremes
    sums, sum_scales = store.sums, store.sum_scales
    for slot in between(klo, khi, totals.shape[3]):
        for a in range(wiring.params[layout.COUNTED]):
            n, e = totals[row, total, a, slot], scales[row, total, a, slot]
            n, e = add(n, e, sums[s, a, slot], sum_scales[s, a, slot])
            totals[row, total, a, slot] = n
            scales[row, total, a, slot] = e
        for a in range(wiring.params[layout.COUNTED], totals.shape[2]):
            n, e = totals[row, total, a, slot], scales[row, total, a, slot]
            n, e = add_signed(n, e, sums[s, a, slot], sum_scales[s, a, slot])
            totals[row, total, a, slot] = n
            scales[row, total, a, slot] = e
        for b in range(extremes.shape[2]):
            extremes[row, total, b, slot] = min(extremes[row, total, b, slot], store.sum_extremes[s, b, slot])


def gather_vertex(s: int, v: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add what a vertex has in one window, counts scaled or several numbers, to the numbers of the event."""
    sums, scales = store.sums, store.sum_scales
    for a in range(wiring.params[layout.COUNTED]):
        n, e = add(sums[s, a, slot], scales[s, a, slot], store.counts[v, a, slot], store.count_scales[v, a, slot])
        sums[s, a, slot] = n
        scales[s, a, slot] = e
    for a in range(wiring.params[layout.COUNTED], sums.shape[1]):
        n, e = sums[s, a, slot], scales[s, a, slot]
        n, e = add_signed(n, e, store.counts[v, a, slot], store.count_scales[v, a, slot])
        sums[s, a, slot] = n
        scales[s, a, slot] = e
    for b in range(store.sum_extremes.shape[1]):
        store.sum_extremes[s, b, slot] = min(store.sum_extremes[s, b, slot], store.count_extremes[v, b, slot])


def gather_chosen(s: int, begin: int, stop: int, klo: int, chosen: Flags, wiring: Wiring, store: Store) -> None:
    """Add the numbers of the chosen vertices, in the windows that they share with the event being taken."""
    marks, counts, sums, scales = store.marks, store.counts, store.sums, store.sum_scales
    single = counts.shape[1] == 1 and store.sum_extremes.shape[1] == 0
    for v in range(begin, stop):
        if not chosen[v]:
            continue
        plain = single and marks[v, layout.M_SCALED] == 0
        for slot in between(klo, marks[v, layout.M_LAST], counts.shape[2]):
            if plain and scales[s, 0, slot] == 0 and sums[s, 0, slot] <= layout.LARGEST - counts[v, 0, slot]:
                sums[s, 0, slot] += counts[v, 0, slot]
            else:
                gather_vertex(s, v, slot, wiring, store)


def start_sums(s: int, from_window: int, klo: int, khi: int, store: Store) -> None:
    """Set the numbers of an event before its predecessors are added: a count of 1 in windows from `from_window` on."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    k = klo
    for slot in between(klo, khi, sums.shape[2]):
        sums[s, 0, slot] = 1 if k >= from_window else 0
        scales[s, 0, slot] = 0
        for a in range(1, sums.shape[1]):
            sums[s, a, slot] = 0
            scales[s, a, slot] = 0
        for b in range(extremes.shape[1]):
            extremes[s, b, slot] = layout.INFINITE
        k += 1


def measure(s: int, i: int, klo: int, khi: int, wiring: Wiring, store: Store, batch: Batch) -> None:
    """Add the event's own value of each measure, times the trends that it ends."""
    numbers = store.sums.shape[1]
    for a in range(1, len(wiring.measures)):
        if wiring.measured[s, a]:
            column = wiring.measures[a, layout.M_ATTRIBUTE]
            value = batch.attributes[column, i] if column >= 0 else 0.0
            if not math.isnan(value):
                if wiring.measures[a, layout.M_FUNCTION] == layout.F_COUNT:
                    measure_count(s, a, klo, khi, store)
                elif a < numbers:
                    measure_sum(s, a, i, wiring.measures[a, layout.M_SPLIT], klo, khi, store, batch)
                else:
                    least = value if wiring.measures[a, layout.M_FUNCTION] < 3 else -value
                    measure_extreme(s, a - numbers, least, klo, khi, store)


def measure_count(s: int, a: int, klo: int, khi: int, store: Store) -> None:
    """Add 1 to a number for each trend that ends with the event."""
    sums, scales = store.sums, store.sum_scales
    for slot in between(klo, khi, sums.shape[2]):
        n, e = add(sums[s, a, slot], scales[s, a, slot], sums[s, 0, slot], scales[s, 0, slot])
        sums[s, a, slot] = n
        scales[s, a, slot] = e


def measure_sum(s: int, a: int, i: int, split: int, klo: int, khi: int, store: Store, batch: Batch) -> None:
    """Add the event's value to a number for each trend that ends with the event."""
    sums, scales = store.sums, store.sum_scales
    for slot in between(klo, khi, sums.shape[2]):
        m, f = scaled(sums[s, 0, slot], scales[s, 0, slot], batch.mantissas[split, i], batch.exponents[split, i])
        n, e = add_signed(sums[s, a, slot], scales[s, a, slot], m, f)
        sums[s, a, slot] = n
        scales[s, a, slot] = e


def measure_extreme(s: int, b: int, value: float, klo: int, khi: int, store: Store) -> None:
    """Lower an extreme to the event's value where a trend ends with the event."""
    sums, extremes = store.sums, store.sum_extremes
    for slot in between(klo, khi, sums.shape[2]):
        if sums[s, 0, slot] > 0:
            extremes[s, b, slot] = min(extremes[s, b, slot], value)


def is_positive(s: int, klo: int, khi: int, store: Store) -> bool:
    """True if any count of the event in state s is not 0."""
    sums = store.sums
    for slot in between(klo, khi, sums.shape[2]):  # noqa: SIM110 - kernels have no generators
        if sums[s, 0, slot] > 0:
            return True
    return False


def append(v: int, s: int, klo: int, khi: int, order: int, store: Store) -> None:
    """Store the event as a vertex of state s in row v."""
    counts, scales, extremes = store.counts, store.count_scales, store.count_extremes
    is_scaled = 0
    for slot in between(klo, khi, counts.shape[2]):
        for a in range(counts.shape[1]):
            counts[v, a, slot] = store.sums[s, a, slot]
            scales[v, a, slot] = store.sum_scales[s, a, slot]
        for b in range(extremes.shape[1]):
            extremes[v, b, slot] = store.sum_extremes[s, b, slot]
        if store.sum_scales[s, 0, slot] > 0:
            is_scaled = 1
    store.marks[v, layout.M_ORDER] = order
    store.marks[v, layout.M_LAST] = khi
    store.marks[v, layout.M_SCALED] = is_scaled


def enter_numbers(entry: int, slot: int, ns: Ints, es: Smalls, least: Floats, wiring: Wiring, store: Store) -> None:
    """Add numbers [A, K] and extremes [B, K], of one slot, to an entry."""
    numbers, scales, extremes = store.entry_numbers, store.entry_scales, store.entry_extremes
    for a in range(wiring.params[layout.COUNTED]):
        n, e = add(numbers[entry, a], scales[entry, a], ns[a, slot], es[a, slot])
        numbers[entry, a] = n
        scales[entry, a] = e
    for a in range(wiring.params[layout.COUNTED], numbers.shape[1]):
        n, e = add_signed(numbers[entry, a], scales[entry, a], ns[a, slot], es[a, slot])
        numbers[entry, a] = n
        scales[entry, a] = e
    for b in range(extremes.shape[1]):
        extremes[entry, b] = min(extremes[entry, b], least[b, slot])
