"""Negative graphs: the effect of their finished trends on totals and lists of others (T4).

Each key has a mark for each negative: the latest start of its finished trends. Two vertices are not adjacent, where the
negative stands between them, if the earlier one is before the mark. Marks never fall. Under TIME STRICT new marks and
totals are pending until ts moves on.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints, Store, Wiring
from saffron.engine.trends.kernels.cells import pour, zero
from saffron.engine.trends.kernels.trees import free_ended, insert_waiting
from saffron.engine.trends.ordered.ordered import Index

# ---- template begins: what follows is compiled once for all queries (`source.core`)


def barrier(row: int, mask: int, absent: Ints) -> Any:
    """The order before which vertices are cut off by any of the negatives."""
    order = layout.NEVER
    for g in range(absent.shape[1]):
        if (mask >> g) & 1:
            order = max(order, absent[row, g, layout.P_ORDER])
    return order


def first_allowed(row: int, mask: int, absent: Ints) -> Any:
    """The first window in which no trend of the (leading) negatives lies so far."""
    window = layout.NO_WINDOW
    for g in range(absent.shape[1]):
        if (mask >> g) & 1:
            window = max(window, absent[row, g, layout.P_WINDOW] + 1)
    return window


def cut_off(row: int, raised: int, klo: int, khi: int, wiring: Wiring, store: Store) -> None:
    """Empty the totals that the raised marks (mask) end. Marks of such negatives rise to the present order only."""
    for total in range(len(wiring.barriers)):
        if wiring.barriers[total] & raised != 0:
            zero(row, total, klo, khi, store)
    for total in range(len(wiring.negative_barriers)):
        if wiring.negative_barriers[total] & raised != 0:
            store.latest[row, total, layout.P_ORDER] = layout.NEVER
            store.latest[row, total, layout.P_WINDOW] = layout.NO_WINDOW


def raise_marks(row: int, found: int, wiring: Wiring, store: Store) -> Any:
    """Raise the marks of negatives that end at the event, in a state of `found`; returns which rose (mask)."""
    states, starts, absent = wiring.states, store.starts, store.absent
    raised = 0
    column = layout.P_NEW_ORDER if wiring.params[layout.STRICT] else layout.P_ORDER
    for s in range(len(states)):
        g = states[s, layout.NEGATIVE]
        if g >= 0 and (found >> s) & 1 and states[s, layout.IS_END]:
            if starts[s, 0] > absent[row, g, column]:
                absent[row, g, column] = starts[s, 0]
                raised |= 1 << g
            absent[row, g, column + 1] = max(absent[row, g, column + 1], starts[s, 1])
    return 0 if wiring.params[layout.STRICT] else raised


def settle(row: int, after: int, ts: int, klo: int, khi: int, wiring: Wiring, store: Store, index: Index) -> None:
    """TIME STRICT: where time has moved on, the key's pending marks and totals count."""
    if store.keys[row, after + layout.AFTER_TIME] == ts:
        return
    raised = 0
    absent = store.absent
    for g in range(absent.shape[1]):
        if absent[row, g, layout.P_NEW_ORDER] > absent[row, g, layout.P_ORDER]:
            absent[row, g, layout.P_ORDER] = absent[row, g, layout.P_NEW_ORDER]
            raised |= 1 << g
        absent[row, g, layout.P_WINDOW] = max(absent[row, g, layout.P_WINDOW], absent[row, g, layout.P_NEW_WINDOW])
    if raised != 0:
        cut_off(row, raised, klo, khi, wiring, store)
        free_ended(row, raised, wiring, store, index)
    if len(wiring.trees) > 0:
        insert_waiting(row, klo, wiring, store, index)
    store.keys[row, after + layout.AFTER_TIME] = ts
    half = len(wiring.barriers)
    for total in range(half):
        pour(row, half + total, total, klo, khi, wiring, store)
    latest = store.latest
    for total in range(latest.shape[1]):
        latest[row, total, layout.P_ORDER] = max(
            latest[row, total, layout.P_ORDER], latest[row, total, layout.P_NEW_ORDER]
        )
        latest[row, total, layout.P_WINDOW] = max(
            latest[row, total, layout.P_WINDOW], latest[row, total, layout.P_NEW_WINDOW]
        )
        latest[row, total, layout.P_NEW_ORDER] = layout.NEVER
        latest[row, total, layout.P_NEW_WINDOW] = layout.NO_WINDOW
