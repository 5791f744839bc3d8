"""The contents of a query's store, read from Python: open windows, and strings in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints, Store, Wiring
from saffron.engine.trends.store.store import live_vertices
from saffron.schema.schema import Kind

FARTHEST = 2**61
"""Later than every time and position."""


def is_empty(store: Store) -> bool:
    """True if no key has an event in an open window."""
    return bool(store.head[layout.KEYS] == 0 and store.head[layout.KLO] > store.head[layout.KHI])


def openings(store: Store) -> tuple[tuple[int, int], ...]:
    """OPEN ON: (where it begins, seq of the event that opened it) of each open window."""
    rows = np.arange(store.head[layout.KLO], store.head[layout.OPENED]) % len(store.slots)
    return tuple((int(low), int(seq)) for low, seq in store.slots[rows][:, [layout.S_LOW, layout.S_SEQ]])


def oldest(store: Store, wiring: Wiring) -> int:
    """The first instant of the oldest window that may still be reported."""
    head, slots = store.head, store.slots
    if head[layout.KLO] == layout.NO_WINDOW:
        return -FARTHEST
    if not wiring.params[layout.ON_OPEN]:
        return int(head[layout.KLO]) * int(wiring.params[layout.SLIDE])
    return (
        FARTHEST if head[layout.KLO] == head[layout.OPENED] else int(slots[head[layout.KLO] % len(slots), layout.S_LOW])
    )


def strings_in_use(
    store: Store, wiring: Wiring, keys: Sequence[Kind | None], values: Sequence[int], groups: Sequence[Kind | None]
) -> Iterator[Ints]:
    """Their codes: those of keys, of stored vertices, and of results not taken yet (of the past, after it all).

    `keys`, `groups`: kinds of their words; `values`: the stored attributes that are strings.
    """
    rows, _ = live_vertices(store, wiring)
    for place, kind in enumerate(keys):
        if kind is not None and kind.has_texts:
            yield store.keys[: store.head[layout.KEYS], 1 + place]
    for row in values:
        stored = store.values[row, rows]
        yield stored[~np.isnan(stored)].astype(np.int64)
    for place, kind in enumerate(groups):
        if kind is not None and kind.has_texts:
            yield store.out[: store.head[layout.OUT], layout.O_WORDS + place]
