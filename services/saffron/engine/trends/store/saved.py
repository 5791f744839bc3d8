"""Snapshots of a store: its arrays by name; under EXACT integers of any size are text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.codegen.prepare import row_hashes
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Store, Wiring
from saffron.engine.trends.ordered import tree_pool
from saffron.engine.trends.ordered.ordered import Index
from saffron.engine.trends.store.store import Rehash
from saffron.errors import SaffronError

WIDE = ("totals", "counts", "sums", "entry_numbers", "out_numbers", *tree_pool.WIDE)
"""The arrays that hold integers of any size under EXACT."""
_WIDTHS = {
    **dict.fromkeys(("keys", "groups", "marks", "totals", "counts", "count_extremes"), 1),
    **dict.fromkeys(("entry_numbers", "entry_extremes", "absent", "latest", "out"), 1),
    "values": 0,
}
"""The axis of an array whose length the query decides."""


def saved(store: Store, index: Index | tuple[()]) -> dict[str, NDArray[np.generic]]:
    """The arrays of store and trees by name, none of them of Python objects."""
    arrays = {**store._asdict(), **(tree_pool.arrays(index) if isinstance(index, Index) else {})}
    return {name: _as_text(array) if array.dtype == object else array.copy() for name, array in arrays.items()}


def restored(
    state: Mapping[str, NDArray[Any]], wiring: Wiring, rehash: Rehash, empty: Store, *, unlimited: bool, trees: bool
) -> tuple[Store, Index | tuple[()]]:
    """The store from which `saved` was made. Hashes are computed anew, since hashing may have changed.

    `empty`: a store of the query. SaffronError if the arrays are no rows of it: kernels would read beyond them.
    """
    wide = WIDE if unlimited else ()
    arrays = {name: _from_text(array) if name in wide else array.copy() for name, array in state.items()}
    store = Store(**{name: arrays[name] for name in Store._fields})
    for name, axis in _WIDTHS.items():
        has, needs = (getattr(one, name).shape[axis] for one in (store, empty))
        if has != needs:
            raise SaffronError(f"its snapshot is of another version of Saffron: {name} has {has} columns, not {needs}")
    for table, rows, used, width in (
        (store.table, store.keys, store.head[layout.KEYS], wiring.params[layout.KEY_WIDTH]),
        (store.group_table, store.groups, store.head[layout.GROUPS], wiring.params[layout.GROUP_WIDTH]),
    ):
        rows[:used, 0] = row_hashes(np.ascontiguousarray(rows[:used, 1 : 1 + width].T))
        table[:] = 0
        rehash(table, rows, int(used))
    return store, tree_pool.index_of(arrays) if trees else ()


def _as_text(array: NDArray[Any]) -> NDArray[np.uint8]:
    text = json.dumps([array.shape, [format(number, "x") for number in array.ravel().tolist()]])
    return np.frombuffer(text.encode(), np.uint8).copy()


def _from_text(text: NDArray[np.uint8]) -> NDArray[Any]:
    shape, numbers = json.loads(text.tobytes())
    array = np.empty(len(numbers), dtype=object)
    array[:] = [int(number, 16) for number in numbers]
    return array.reshape(shape)
