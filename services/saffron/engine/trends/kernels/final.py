"""Results that are known only when their window closes, key by key: behind a trailing NOT, and for AND (T4, T10)."""

from __future__ import annotations

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Store, Wiring
from saffron.engine.trends.core.numbers import add, add_signed, product
from saffron.engine.trends.kernels.cells import enter_numbers, gather_vertex
from saffron.engine.trends.kernels.lists import begin_of, first_from

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def finish_keys(k: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add the keys' numbers in window k to the entries of their groups."""
    after = 1 + wiring.params[layout.KEY_WIDTH]
    last = 1 + wiring.params[layout.GROUP_WIDTH] + layout.GROUP_LAST
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    for row in range(store.head[layout.KEYS]):
        group = store.keys[row, after + layout.AFTER_GROUP]
        if store.keys[row, after + layout.AFTER_LAST] < k or store.groups[group, last] < k:
            continue
        for s in range(3):
            for a in range(sums.shape[1]):
                sums[s, a, slot] = 0
                scales[s, a, slot] = 0
            for b in range(extremes.shape[1]):
                extremes[s, b, slot] = layout.INFINITE
        for s in range(len(wiring.states)):
            if wiring.states[s, layout.IS_END] and wiring.states[s, layout.NEGATIVE] < 0:
                if wiring.states[s, layout.FINAL] >= 0:
                    final_total(wiring.states[s, layout.SIDE], row, wiring.states[s, layout.FINAL], slot, wiring, store)
                else:
                    final_list(wiring.states[s, layout.SIDE], row, s, k, slot, wiring, store)
        if wiring.params[layout.BOTH]:
            pair_up(slot, store)
        entry = store.where[group, slot]
        enter_numbers(entry, slot, sums[0], scales[0], extremes[0], wiring, store)


def cut(row: int, mask: int, store: Store) -> int:
    """The order before which the negatives (mask) end trends: all that has happened counts, pending or not."""
    order = layout.NEVER
    for g in range(store.absent.shape[1]):
        if (mask >> g) & 1:
            order = max(order, store.absent[row, g, layout.P_ORDER], store.absent[row, g, layout.P_NEW_ORDER])
    return order


def final_total(side: int, row: int, total: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add a total of the key, and its pending part."""
    half = len(wiring.barriers)
    settled = True
    for g in range(store.absent.shape[1]):
        if (wiring.barriers[total] >> g) & 1 and store.absent[row, g, layout.P_NEW_ORDER] > store.absent[
            row, g, layout.P_ORDER
        ]:
            settled = False
    if settled:
        add_total(side, row, total, slot, wiring, store)
    if wiring.params[layout.STRICT]:
        add_total(side, row, half + total, slot, wiring, store)


def add_total(side: int, row: int, total: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add one total of the key in one window."""
    sums, scales, extremes = store.sums, store.sum_scales, store.sum_extremes
    for a in range(wiring.params[layout.COUNTED]):
        n, e = sums[side, a, slot], scales[side, a, slot]
        n, e = add(n, e, store.totals[row, total, a, slot], store.total_scales[row, total, a, slot])
        sums[side, a, slot] = n
        scales[side, a, slot] = e
    for a in range(wiring.params[layout.COUNTED], sums.shape[1]):
        n, e = sums[side, a, slot], scales[side, a, slot]
        n, e = add_signed(n, e, store.totals[row, total, a, slot], store.total_scales[row, total, a, slot])
        sums[side, a, slot] = n
        scales[side, a, slot] = e
    for b in range(extremes.shape[1]):
        extremes[side, b, slot] = min(extremes[side, b, slot], store.total_extremes[row, total, b, slot])


def final_list(side: int, row: int, s: int, k: int, slot: int, wiring: Wiring, store: Store) -> None:
    """Add the vertices of an end state behind which no negative trend lies."""
    base = 1 + wiring.params[layout.KEY_WIDTH] + layout.AFTER_LISTS + layout.LIST_SIZE * wiring.states[s, layout.LIST]
    begin = begin_of(row, base, store.head[layout.KLO], store.keys, store.marks)
    stop = store.keys[row, base + layout.FIRST_ROW] + store.keys[row, base + layout.USED]
    for v in range(first_from(begin, stop, cut(row, wiring.states[s, layout.TRAILING], store), store.marks), stop):
        if store.marks[v, layout.M_LAST] >= k:
            gather_vertex(side, v, slot, wiring, store)


def pair_up(slot: int, store: Store) -> None:
    """AND: of L and R trends of its sides, C of them both's, the pairs of different ones: L R - C (C + 1) / 2.

    Counted without subtraction from L R: (L - C)(R - C) + (L - C) C + (R - C) C + C (C - 1) / 2.
    """
    sums, scales = store.sums, store.sum_scales
    both, scale = sums[2, 0, slot], scales[2, 0, slot]
    left, left_scale = less(sums[0, 0, slot], scales[0, 0, slot], both, scale)
    right, right_scale = less(sums[1, 0, slot], scales[1, 0, slot], both, scale)
    n, e = product(left, left_scale, sums[1, 0, slot], scales[1, 0, slot])
    m, f = product(right, right_scale, both, scale)
    n, e = add(n, e, m, f)
    one, one_scale = less(both, scale, 1, 0)
    if scale == 0 and both & 1 == 1:
        one >>= 1
    else:
        both, scale = halved(both, scale)
    m, f = product(both, scale, one, one_scale)
    n, e = add(n, e, m, f)
    sums[0, 0, slot] = n
    scales[0, 0, slot] = e


def halved(n: int, e: int) -> tuple[int, int]:
    """Half of an even, or scaled, count."""
    if e > 0:
        return (n, e - 1) if e > 1 else (n, 0)
    return n >> 1, 0


def less(n: int, e: int, m: int, f: int) -> tuple[int, int]:
    """The difference of two counts, n * 2**e being at least m * 2**f but for rounding."""
    behind = e - f
    if behind < 0:
        return 0, 0
    if behind > 62:
        return n, e
    n = max(n - (m >> behind if behind > 0 else m), 0)
    while e > 0 and 0 < n <= layout.LARGEST >> 1:
        n <<= 1
        e -= 1
    return (n, e) if n > 0 else (0, 0)
