"""Making room and giving it back: how the arrays of `layout.Store` are made, grow, shrink and are swept.

Everything here costs time in proportion to the rows it touches and runs once per that many events (amortised), so an
event costs the same however many keys come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.layout import (
    AFTER_GROUP,
    AFTER_LAST,
    AFTER_LISTS,
    ARENA,
    E_GROUP,
    ENTRY_SIZE,
    EXPIRED,
    FIRST_ROW,
    FREE,
    GROUP_WIDTH,
    GROUPS,
    HEAD_SIZE,
    IN_EVENTS,
    KEY_WIDTH,
    KEYS,
    KHI,
    KLO,
    LIST_SIZE,
    M_LAST,
    NO_WINDOW,
    O_WORDS,
    ON_OPEN,
    OPENED,
    OWNED,
    ROOM,
    S_FIRST,
    S_LAST,
    S_SEQ,
    SLOT_SIZE,
    TOUCHED,
    USED,
    Ints,
    Smalls,
    Store,
    Wiring,
)

_SMALLEST = 16


def _smallest_arena(windows: int) -> int:
    """Rows of an arena to begin with: fewer where each row is long."""
    return int(max(_SMALLEST, min(256, 2**18 // windows)))


Rehash = Callable[[Smalls, Ints, int], None]


def new(wiring: Wiring, windows: int, totals: int, lists: int, stored: int) -> Store:
    """An empty store: `windows` slots, prefix totals and vertex lists per key, stored attributes per vertex."""
    params = wiring.params
    head = np.zeros(HEAD_SIZE, dtype=np.int64)
    head[FREE] = -1
    head[KLO] = 0 if params[ON_OPEN] or params[IN_EVENTS] else NO_WINDOW
    head[KHI] = NO_WINDOW - 1
    slots = np.zeros((windows, SLOT_SIZE), dtype=np.int64)
    slots[:, [S_FIRST, S_LAST, S_SEQ]] = -1
    vertices = _smallest_arena(windows) if lists else 0
    states = len(wiring.states)
    return Store(
        head=head,
        table=np.zeros(2 * _SMALLEST, dtype=np.int32),
        keys=np.zeros((_SMALLEST, 1 + params[KEY_WIDTH] + AFTER_LISTS + LIST_SIZE * lists), dtype=np.int64),
        totals=np.zeros((_SMALLEST, totals, windows), dtype=np.int64),
        scales=np.zeros((_SMALLEST, totals, windows), dtype=np.int32),
        group_table=np.zeros(2 * _SMALLEST, dtype=np.int32),
        groups=np.zeros((_SMALLEST, 1 + params[GROUP_WIDTH] + 1), dtype=np.int64),
        where=np.zeros((_SMALLEST, windows), dtype=np.int32),
        slots=slots,
        entries=np.zeros((max(_SMALLEST, 2 * windows), ENTRY_SIZE), dtype=np.int64),
        marks=np.zeros((vertices, 3), dtype=np.int64),
        values=np.zeros((stored, vertices), dtype=np.float64),
        counts=np.zeros((vertices, windows), dtype=np.int64),
        count_scales=np.zeros((vertices, windows), dtype=np.int32),
        chosen=np.zeros(vertices, dtype=np.bool_),
        sums=np.zeros((states, windows), dtype=np.int64),
        sum_scales=np.zeros((states, windows), dtype=np.int32),
        out=np.zeros((_SMALLEST, O_WORDS + params[GROUP_WIDTH]), dtype=np.int64),
    )


def sized(array: NDArray[Any], rows: int, kept: int) -> NDArray[Any]:
    """The first `kept` rows of the array in one of `rows` rows, the others zero."""
    result = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    result[:kept] = array[:kept]
    return result


def grow_entries(store: Store) -> Store:
    """The store with twice the room for entries."""
    rows = 2 * len(store.entries) + len(store.slots)
    return store._replace(entries=sized(store.entries, rows, len(store.entries)))


def grow_out(store: Store) -> Store:
    """The store with room for all results of the window that closes next."""
    rows = max(2 * len(store.out), len(store.out) + int(store.head[ROOM]))
    return store._replace(out=sized(store.out, rows, len(store.out)))


def grow_windows(store: Store) -> Store:
    """OPEN ON: the store with twice as many slots, each open window's numbers in its new one."""
    old = len(store.slots)
    open_ones = np.arange(store.head[KLO], store.head[OPENED], dtype=np.int64)
    source, target = open_ones % old, open_ones % (2 * old)

    def wider(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((*array.shape[:-1], 2 * old), dtype=array.dtype)
        result[..., target] = array[..., source]
        return result

    slots = np.zeros((2 * old, SLOT_SIZE), dtype=np.int64)
    slots[:, [S_FIRST, S_LAST, S_SEQ]] = -1
    slots[target] = store.slots[source]
    return store._replace(
        slots=slots,
        totals=wider(store.totals),
        scales=wider(store.scales),
        where=wider(store.where),
        counts=wider(store.counts),
        count_scales=wider(store.count_scales),
        sums=wider(store.sums),
        sum_scales=wider(store.sum_scales),
    )


def sweep(store: Store, wiring: Wiring, rehash: Rehash) -> Store:
    """The store without the keys, and groups, that no open window holds; rows are renumbered, arrays may shrink."""
    head = store.head
    head[TOUCHED] = 0
    after = 1 + int(wiring.params[KEY_WIDTH])
    keys = store.keys[: head[KEYS]]
    live = np.flatnonzero(keys[:, after + AFTER_LAST] >= head[KLO])
    groups, numbers = np.unique(keys[live, after + AFTER_GROUP], return_inverse=True)
    place = np.full(len(store.groups), -1, dtype=np.int64)
    place[groups] = np.arange(len(groups))
    store.entries[:, E_GROUP] = place[store.entries[:, E_GROUP]]
    store = store._replace(
        keys=_taken(store.keys, live),
        totals=_taken(store.totals, live),
        scales=_taken(store.scales, live),
        table=np.zeros(2 * _room(len(live)), dtype=np.int32),
        groups=_taken(store.groups, groups),
        where=_taken(store.where, groups),
        group_table=np.zeros(2 * _room(len(groups)), dtype=np.int32),
    )
    store.keys[: len(live), after + AFTER_GROUP] = numbers
    head[KEYS], head[GROUPS] = len(live), len(groups)
    rehash(store.table, store.keys, len(live))
    rehash(store.group_table, store.groups, len(groups))
    return store


def _room(rows: int) -> int:
    """The capacity for this many rows: a power of two with room for as many again."""
    return max(_SMALLEST, 1 << (2 * rows - 1).bit_length()) if rows else _SMALLEST


def _taken(array: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    result = np.zeros((_room(len(rows)), *array.shape[1:]), dtype=array.dtype)
    result[: len(rows)] = array[rows]
    return result


def repack(store: Store, wiring: Wiring) -> Store:
    """The store with its live vertices moved together, each list with room to grow; the arena is sized to them."""
    lists = store.keys[: store.head[KEYS], 1 + int(wiring.params[KEY_WIDTH]) + AFTER_LISTS :].reshape(-1, LIST_SIZE)
    rows, owner = live_vertices(store, wiring)
    used = np.bincount(owner, minlength=len(lists))
    owned = np.where(used > 0, used + used // 2 + 4, 0)
    first = np.cumsum(owned) - owned
    top = int(owned.sum())
    capacity = max(_smallest_arena(len(store.slots)), 1 << (2 * (top + int(store.head[ROOM])) - 1).bit_length())
    target = np.repeat(first - (np.cumsum(used) - used), used) + np.arange(len(rows))

    def moved(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
        result[target] = array[rows]
        return result

    values = np.zeros((len(store.values), capacity), dtype=np.float64)
    values[:, target] = store.values[:, rows]
    store.keys[: store.head[KEYS], 1 + int(wiring.params[KEY_WIDTH]) + AFTER_LISTS :] = _lists(
        first, used, owned, store.keys.shape[1] - 1 - int(wiring.params[KEY_WIDTH]) - AFTER_LISTS
    )
    store.head[ARENA] = top
    return store._replace(
        marks=moved(store.marks),
        values=values,
        counts=moved(store.counts),
        count_scales=moved(store.count_scales),
        chosen=np.zeros(capacity, dtype=np.bool_),
    )


def _lists(first: Ints, used: Ints, owned: Ints, width: int) -> Ints:
    result = np.zeros((len(first), LIST_SIZE), dtype=np.int64)
    result[:, FIRST_ROW], result[:, USED], result[:, OWNED] = first, used, owned
    return result.reshape(-1, width)


def live_vertices(store: Store, wiring: Wiring) -> tuple[Ints, Ints]:
    """Rows of the vertices in open windows, list by list in time order, and the number of the list each is in."""
    lists = store.keys[: store.head[KEYS], 1 + int(wiring.params[KEY_WIDTH]) + AFTER_LISTS :].reshape(-1, LIST_SIZE)
    number = lists[:, USED] - lists[:, EXPIRED]
    owner = np.repeat(np.arange(len(lists)), number)
    begin = lists[:, FIRST_ROW] + lists[:, EXPIRED]
    rows = np.repeat(begin - (np.cumsum(number) - number), number) + np.arange(len(owner))
    live = store.marks[rows, M_LAST] >= store.head[KLO]
    return rows[live], owner[live]
