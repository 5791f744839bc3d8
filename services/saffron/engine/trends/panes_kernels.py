"""The loops over matrices of panes (see `panes`): an event, a window's result."""

from __future__ import annotations

from saffron.engine.trends.numbers import add, add_signed, product, scaled, times
from saffron.engine.trends.panes import COUNTS, LAST, MIDDLE, RING, SIZE, Panes

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def make_one(matrix: int, panes: Panes) -> None:
    """The matrix of no event: the paths from each state to itself, of which there is one."""
    size = panes.shape[SIZE]
    numbers, lows = panes.row_ns.shape[1], panes.row_lows.shape[1]
    for at in range(size * size * numbers):
        panes.ns[matrix, at] = 0
        panes.es[matrix, at] = 0
    for at in range(size * size * lows):
        panes.lows[matrix, at] = float("inf")
    for i in range(size):
        panes.ns[matrix, (i * size + i) * numbers] = 1


def clear_row(r: int, panes: Panes) -> None:
    """Nothing yet in this row of the scratch."""
    for a in range(panes.row_ns.shape[1]):
        panes.row_ns[r, a] = 0
        panes.row_es[r, a] = 0
    for a in range(panes.row_lows.shape[1]):
        panes.row_lows[r, a] = float("inf")


def add_entry(r: int, matrix: int, entry: int, panes: Panes) -> None:
    """Add an entry of a matrix (row * SIZE + column) to a row of the scratch."""
    ns, es = panes.row_ns, panes.row_es
    base = entry * ns.shape[1]
    for a in range(ns.shape[1]):
        n, e = panes.ns[matrix, base + a], panes.es[matrix, base + a]
        if a < panes.shape[COUNTS]:
            ns[r, a], es[r, a] = add(ns[r, a], es[r, a], n, e)
        else:
            ns[r, a], es[r, a] = add_signed(ns[r, a], es[r, a], n, e)
    lows = panes.row_lows.shape[1]
    for a in range(lows):
        panes.row_lows[r, a] = min(panes.row_lows[r, a], panes.lows[matrix, entry * lows + a])


def add_to_entry(matrix: int, entry: int, r: int, panes: Panes) -> None:
    """Add a row of the scratch to an entry of a matrix."""
    ns, es = panes.row_ns, panes.row_es
    base = entry * ns.shape[1]
    for a in range(ns.shape[1]):
        n, e = panes.ns[matrix, base + a], panes.es[matrix, base + a]
        if a < panes.shape[COUNTS]:
            panes.ns[matrix, base + a], panes.es[matrix, base + a] = add(n, e, ns[r, a], es[r, a])
        else:
            panes.ns[matrix, base + a], panes.es[matrix, base + a] = add_signed(n, e, ns[r, a], es[r, a])
    lows = panes.row_lows.shape[1]
    for a in range(lows):
        at = entry * lows + a
        panes.lows[matrix, at] = min(panes.lows[matrix, at], panes.row_lows[r, a])


def bring(r: int, s: int, panes: Panes) -> None:
    """Lengthen the paths in a row of the scratch by the event given, in state s."""
    ns, es = panes.row_ns, panes.row_es
    counts = panes.shape[COUNTS]
    if ns[r, 0] == 0:
        return
    for a in range(1, counts):
        if panes.event_marks[s, a - 1] != 0:
            ns[r, a], es[r, a] = add(ns[r, a], es[r, a], ns[r, 0], es[r, 0])
    for a in range(counts, ns.shape[1]):
        m = panes.event_ms[s, a - counts]
        if m != 0:
            n, x = scaled(ns[r, 0], es[r, 0], m, panes.event_fs[s, a - counts])
            ns[r, a], es[r, a] = add_signed(ns[r, a], es[r, a], n, x)
    for a in range(panes.row_lows.shape[1]):
        panes.row_lows[r, a] = min(panes.row_lows[r, a], panes.event_lows[s, a])


def apply(matrix: int, states: int, panes: Panes) -> None:
    """Multiply a matrix by that of the event given, which is of these states (bits)."""
    size = panes.shape[SIZE]
    for i in range(size - 1):  # the last row is that of a trend which has ended: nothing follows
        for s in range(size - 2):
            if (states >> s) & 1:
                clear_row(size + s, panes)
                if panes.starts[s] != 0:
                    add_entry(size + s, matrix, i * size, panes)
        for t in range(len(panes.edges)):
            s = panes.edges[t, 1]
            if (states >> s) & 1:
                add_entry(size + s, matrix, i * size + 1 + panes.edges[t, 0], panes)
        for s in range(size - 2):
            if (states >> s) & 1:
                bring(size + s, s, panes)
                add_to_entry(matrix, i * size + 1 + s, size + s, panes)
                if panes.ends[s] != 0:
                    add_to_entry(matrix, i * size + size - 1, size + s, panes)


def take_event(key: int, pane: int, states: int, panes: Panes) -> None:
    """The key has an event of these states (bits), given in `event_...`, in this pane; panes never go back."""
    ring = panes.shape[RING]
    back = key * (ring + 1) + ring
    matrix = key * (ring + 1) + pane % ring
    if panes.stamps[back] != 0:
        make_one(back, panes)
        panes.stamps[back] = 0
        panes.marks[key, MIDDLE] = pane
    if panes.stamps[matrix] != pane:
        make_one(matrix, panes)
        panes.stamps[matrix] = pane
    panes.marks[key, LAST] = pane
    apply(matrix, states, panes)
    apply(back, states, panes)


def add_product(r: int, a: int, p: int, b: int, q: int, panes: Panes) -> None:
    """Add the product of entry p of matrix a and entry q of matrix b to a row of the scratch."""
    ns, es = panes.row_ns, panes.row_es
    numbers, lows = ns.shape[1], panes.row_lows.shape[1]
    n, e = panes.ns[a, p * numbers], panes.es[a, p * numbers]
    m, f = panes.ns[b, q * numbers], panes.es[b, q * numbers]
    if n == 0 or m == 0:
        return
    whole, over = product(n, e, m, f)
    ns[r, 0], es[r, 0] = add(ns[r, 0], es[r, 0], whole, over)
    for c in range(1, numbers):
        k, x = panes.ns[a, p * numbers + c], panes.es[a, p * numbers + c]
        j, y = panes.ns[b, q * numbers + c], panes.es[b, q * numbers + c]
        if c < panes.shape[COUNTS]:
            whole, over = product(k, x, m, f)
            ns[r, c], es[r, c] = add(ns[r, c], es[r, c], whole, over)
            whole, over = product(n, e, j, y)
            ns[r, c], es[r, c] = add(ns[r, c], es[r, c], whole, over)
        else:
            whole, over = times(m, f, k, x)
            ns[r, c], es[r, c] = add_signed(ns[r, c], es[r, c], whole, over)
            whole, over = times(n, e, j, y)
            ns[r, c], es[r, c] = add_signed(ns[r, c], es[r, c], whole, over)
    for c in range(lows):
        low = min(panes.lows[a, p * lows + c], panes.lows[b, q * lows + c])
        panes.row_lows[r, c] = min(panes.row_lows[r, c], low)


def multiply_into(a: int, b: int, panes: Panes) -> None:
    """Matrix a becomes a times b."""
    size = panes.shape[SIZE]
    numbers, lows = panes.row_ns.shape[1], panes.row_lows.shape[1]
    for i in range(size):
        for j in range(size):
            clear_row(j, panes)
            for k in range(size):
                add_product(j, a, i * size + k, b, k * size + j, panes)
        for j in range(size):
            entry = i * size + j
            for c in range(numbers):
                panes.ns[a, entry * numbers + c] = panes.row_ns[j, c]
                panes.es[a, entry * numbers + c] = panes.row_es[j, c]
            for c in range(lows):
                panes.lows[a, entry * lows + c] = panes.row_lows[j, c]


def turn(key: int, first: int, panes: Panes) -> None:
    """All panes from `first` on go to the front stack: each becomes the product of itself and those behind it."""
    ring = panes.shape[RING]
    base = key * (ring + 1)
    behind = -1
    for step in range(panes.marks[key, LAST] - first + 1):
        pane = panes.marks[key, LAST] - step
        matrix = base + pane % ring
        if panes.stamps[matrix] == pane:
            if behind >= 0:
                multiply_into(matrix, behind, panes)
            behind = matrix
    panes.marks[key, MIDDLE] = panes.marks[key, LAST] + 1
    panes.stamps[base + ring] = -1  # nothing in `back`


def window_result(key: int, first: int, panes: Panes) -> bool:
    """Aggregates of the key's trends from pane `first` on, into `row_...[0]`; False if it has no event there.

    Ask for windows in order, and for each before the first event behind its last pane.
    """
    ring = panes.shape[RING]
    size = panes.shape[SIZE]
    base = key * (ring + 1)
    if panes.marks[key, LAST] < first:
        return False
    if first >= panes.marks[key, MIDDLE]:
        turn(key, first, panes)
    pane = first
    while pane < panes.marks[key, MIDDLE] and panes.stamps[base + pane % ring] != pane:
        pane += 1
    clear_row(0, panes)
    front = base + pane % ring
    if pane == panes.marks[key, MIDDLE]:  # nothing in the front stack
        add_entry(0, base + ring, size - 1, panes)
    elif panes.stamps[base + ring] != 0:
        add_entry(0, front, size - 1, panes)
    else:
        for k in range(size):
            add_product(0, front, k, base + ring, k * size + size - 1, panes)
    return True
