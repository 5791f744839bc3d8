"""The arrays of a query's store (`arrays.Store`): creation, growth, shrinking, and removal of dead rows.

Each function costs time in proportion to the rows that it touches, and runs once in that many events. So the cost of
an event does not depend on how many keys come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Floats, Ints, Smalls, Store, Wiring
from saffron.engine.trends.core.sizes import Sizes

SMALLEST = 16


def _smallest_arena(windows: int) -> int:
    """Rows of an arena to begin with: fewer where each row is long."""
    return int(max(SMALLEST, min(256, 2**18 // windows)))


_MATRICES = 64
"""The least room, in matrices."""
SIDES = 3
"""Rows of scratch that AND needs at least."""
_BY_KEY = ("keys", "panes", "matrices", "absent", "latest")
_TOTALS = ("totals", "total_scales", "total_extremes")
_BY_VERTEX = ("marks", "counts", "count_scales", "count_extremes")
_BY_SLOT = (
    "totals",
    "total_scales",
    "total_extremes",
    "counts",
    "count_scales",
    "count_extremes",
    "sums",
    "sum_scales",
    "sum_extremes",
)
Rehash = Callable[[Smalls, Ints, int], None]


def new(wiring: Wiring, sizes: Sizes) -> Store:
    """An empty store."""
    params, windows = wiring.params, sizes.windows
    wide: Any = object if sizes.unlimited else np.int64
    head = np.zeros(layout.HEAD_SIZE, dtype=np.int64)
    head[[layout.FREE, layout.SEEN]] = -1
    head[[layout.SPAN, layout.STEP]] = params[[layout.SIZE, layout.SLIDE]]
    head[layout.KLO] = 0 if params[layout.ON_OPEN] or params[layout.IN_EVENTS] else layout.NO_WINDOW
    head[layout.KHI] = layout.NO_WINDOW - 1
    slots = np.zeros((windows, layout.SLOT_SIZE), dtype=np.int64)
    slots[:, [layout.S_FIRST, layout.S_LAST, layout.S_SEQ]] = -1
    vertices = _smallest_arena(windows) if sizes.lists else 0
    entries, scratch = max(SMALLEST, 2 * windows), max(len(wiring.states), SIDES)
    by_key, slots_of_sums, more = (SMALLEST, sizes.totals, windows), windows, 0
    if sizes.cells:
        by_key, slots_of_sums, more = (SMALLEST, 1, sizes.cells), 1, 1
        scratch = 2 * len(wiring.states) + 1

    def numbers(*shape: int, more: int = 0) -> tuple[Ints, Smalls, Floats]:
        """Numbers, their scales, extremes, and `more` of those: [rows.., A (B), slots..]."""
        rows, rest = shape[:-1], (() if shape[-1] == 0 else (shape[-1],))
        return (
            np.zeros((*rows, sizes.numbers, *rest), dtype=wide),
            np.zeros((*rows, sizes.numbers, *rest), dtype=np.int32),
            np.zeros((*rows, sizes.extremes + more, *rest), dtype=np.float64),
        )

    return Store(
        head,
        np.zeros(2 * SMALLEST, dtype=np.int32),
        np.zeros(
            (
                SMALLEST,
                1 + params[layout.KEY_WIDTH] + layout.AFTER_LISTS + layout.LIST_SIZE * sizes.lists + sizes.trees,
            ),
            dtype=np.int64,
        ),
        *numbers(*by_key, more=more),
        np.zeros((SMALLEST, layout.PANE_SIZE if sizes.cells else 0), dtype=np.int64),
        np.zeros((SMALLEST, windows + 2 if sizes.cells else 0), dtype=np.int32),
        np.zeros(SMALLEST if sizes.cells else 0, dtype=np.int32),
        np.zeros((SMALLEST, sizes.negatives, layout.MARK_SIZE), dtype=np.int64),
        np.zeros((SMALLEST, sizes.negative_totals, layout.MARK_SIZE), dtype=np.int64),
        np.zeros(2 * SMALLEST, dtype=np.int32),
        np.zeros((SMALLEST, 1 + params[layout.GROUP_WIDTH] + 1), dtype=np.int64),
        np.zeros((SMALLEST, windows), dtype=np.int32),
        slots,
        np.zeros((entries, layout.ENTRY_SIZE), dtype=np.int64),
        *numbers(entries, 0),
        np.zeros((vertices, sizes.marks), dtype=np.int64),
        np.zeros((sizes.stored, vertices), dtype=np.float64),
        *numbers(vertices, windows),
        np.zeros(vertices, dtype=np.bool_),
        *numbers(scratch, slots_of_sums, more=more),
        np.zeros((scratch, 2), dtype=np.int64),
        np.zeros((SMALLEST, layout.O_WORDS + params[layout.GROUP_WIDTH]), dtype=np.int64),
        *numbers(SMALLEST, 0),
    )


def sized(array: NDArray[Any], rows: int, kept: int) -> NDArray[Any]:
    """The first `kept` rows of the array in one of `rows` rows, the others zero."""
    result = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    result[:kept] = array[:kept]
    return result


def grow_entries(store: Store) -> Store:
    """The store with twice the room for entries."""
    rows = 2 * len(store.entries) + len(store.slots)
    return _grown(store, ("entries", "entry_numbers", "entry_scales", "entry_extremes"), rows, len(store.entries))


def grow_out(store: Store) -> Store:
    """The store with room for all results of the window that closes next."""
    rows = max(2 * len(store.out), len(store.out) + int(store.head[layout.ROOM]))
    return _grown(store, ("out", "out_numbers", "out_scales", "out_extremes"), rows, len(store.out))


def _grown(store: Store, names: Sequence[str], rows: int, kept: int) -> Store:
    return store._replace(**{name: sized(getattr(store, name), rows, kept) for name in names})


def grow_windows(store: Store) -> tuple[Store, Ints, Ints]:
    """OPEN ON: the store with twice as many slots, and from which to which the open windows' numbers have moved."""
    old = len(store.slots)
    open_ones = np.arange(store.head[layout.KLO], store.head[layout.OPENED], dtype=np.int64)
    source, target = open_ones % old, open_ones % (2 * old)

    def wider(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((*array.shape[:-1], 2 * old), dtype=array.dtype)
        result[..., target] = array[..., source]
        return result

    slots = np.zeros((2 * old, layout.SLOT_SIZE), dtype=np.int64)
    slots[:, [layout.S_FIRST, layout.S_LAST, layout.S_SEQ]] = -1
    slots[target] = store.slots[source]
    moved = {name: wider(getattr(store, name)) for name in (*_BY_SLOT, "where")}
    return store._replace(slots=slots, **moved), source, target


def sweep(store: Store, wiring: Wiring, rehash: Rehash) -> Store:
    """The store without the keys, and groups, that no open window holds; rows are renumbered, arrays may shrink."""
    head = store.head
    head[layout.TOUCHED] = 0
    after = 1 + int(wiring.params[layout.KEY_WIDTH])
    keys = store.keys[: head[layout.KEYS]]
    live = np.flatnonzero(keys[:, after + layout.AFTER_LAST] >= head[layout.KLO])
    paned = bool(wiring.params[layout.PANED])
    listed = np.searchsorted(live, store.panes[: head[layout.LIVE], layout.PANE_ROW :])
    groups, numbers = np.unique(keys[live, after + layout.AFTER_GROUP], return_inverse=True)
    place = np.full(len(store.groups), -1, dtype=np.int64)
    place[groups] = np.arange(len(groups))
    store.entries[:, layout.E_GROUP] = place[store.entries[:, layout.E_GROUP]]
    store = store._replace(
        **{name: _taken(getattr(store, name), live) for name in (*_BY_KEY, *(() if paned else _TOTALS))},
        table=np.zeros(2 * _room(len(live)), dtype=np.int32),
        groups=_taken(store.groups, groups),
        where=_taken(store.where, groups),
        group_table=np.zeros(2 * _room(len(groups)), dtype=np.int32),
    )
    store.keys[: len(live), after + layout.AFTER_GROUP] = numbers
    store.panes[: len(listed), layout.PANE_ROW :] = listed
    head[layout.KEYS], head[layout.GROUPS] = len(live), len(groups)
    rehash(store.table, store.keys, len(live))
    rehash(store.group_table, store.groups, len(groups))
    return pack_matrices(store) if paned else store


def pack_matrices(store: Store) -> Store:
    """PANED: the store with the matrices of keys moved together, and room for half as many again and the needed
    ones.
    """
    head = store.head
    held = store.matrices > 0
    rows = store.matrices[held] - 1
    store.matrices[held] = np.arange(1, len(rows) + 1)
    head[[layout.MATRICES, layout.RELEASED]] = len(rows), 0
    room = (
        _MATRICES
        + len(rows)
        + len(rows) // 2
        + (int(head[layout.ROOM]) if head[layout.NEED] == layout.NEED_MATRICES else 0)
    )
    packed = {name: sized(getattr(store, name)[rows], room, len(rows)) for name in _TOTALS}
    return store._replace(**packed, released=np.zeros(room, dtype=np.int32))


def _room(rows: int) -> int:
    """The capacity for this many rows: a power of two with room for as many again."""
    return max(SMALLEST, 1 << (2 * rows - 1).bit_length()) if rows else SMALLEST


def _taken(array: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    result = np.zeros((_room(len(rows)), *array.shape[1:]), dtype=array.dtype)
    result[: len(rows)] = array[rows]
    return result


def repack(store: Store, wiring: Wiring) -> Store:
    """The store with its live vertices moved together, each list with room to grow; the arena is sized to them."""
    lists = _of_lists(store, wiring).reshape(-1, layout.LIST_SIZE)
    rows, owner = live_vertices(store, wiring)
    used = np.bincount(owner, minlength=len(lists))
    owned = np.where(used > 0, used + used // 2 + 4, 0)
    first = np.cumsum(owned) - owned
    top = int(owned.sum())
    capacity = max(_smallest_arena(len(store.slots)), 1 << (2 * (top + int(store.head[layout.ROOM])) - 1).bit_length())
    target = np.repeat(first - (np.cumsum(used) - used), used) + np.arange(len(rows))

    def moved(array: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
        result[target] = array[rows]
        return result

    values = np.zeros((len(store.values), capacity), dtype=np.float64)
    values[:, target] = store.values[:, rows]
    columns = _of_lists(store, wiring)
    columns[:] = _lists(first, used, owned, columns.shape[1])
    store.head[layout.ARENA] = top
    return store._replace(
        values=values,
        **{name: moved(getattr(store, name)) for name in _BY_VERTEX},
        chosen=np.zeros(capacity, dtype=np.bool_),
    )


def _of_lists(store: Store, wiring: Wiring) -> Ints:
    """The columns of the keys in which their lists are."""
    first = 1 + int(wiring.params[layout.KEY_WIDTH]) + layout.AFTER_LISTS
    return store.keys[: store.head[layout.KEYS], first : store.keys.shape[1] - len(wiring.trees)]


def _lists(first: Ints, used: Ints, owned: Ints, width: int) -> Ints:
    result = np.zeros((len(first), layout.LIST_SIZE), dtype=np.int64)
    result[:, layout.FIRST_ROW], result[:, layout.USED], result[:, layout.OWNED] = first, used, owned
    return result.reshape(-1, width) if width else result.reshape(0, 0)


def live_vertices(store: Store, wiring: Wiring) -> tuple[Ints, Ints]:
    """Rows of the vertices in open windows, list by list in time order, and the number of the list each is in."""
    lists = _of_lists(store, wiring).reshape(-1, layout.LIST_SIZE)
    number = lists[:, layout.USED] - lists[:, layout.EXPIRED]
    owner = np.repeat(np.arange(len(lists)), number)
    begin = lists[:, layout.FIRST_ROW] + lists[:, layout.EXPIRED]
    rows = np.repeat(begin - (np.cumsum(number) - number), number) + np.arange(len(owner))
    live = store.marks[rows, layout.M_LAST] >= store.head[layout.KLO]
    return rows[live], owner[live]
