"""Room in the arrays of a trend query: made where its kernel stops for want of it, given back where rows lie idle."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Store, Wiring
from saffron.engine.trends.ordered import tree_pool
from saffron.engine.trends.ordered.ordered import Index
from saffron.engine.trends.store import store as stores
from saffron.engine.trends.store.store import Rehash

Trees: TypeAlias = Index | tuple[()]
"""The index of a query that has trees, or () for one that has none."""

_GROWN = {
    layout.NEED_ENTRIES: stores.grow_entries,
    layout.NEED_MATRICES: stores.pack_matrices,
    layout.NEED_OUT: stores.grow_out,
}
_SWEEP = 4096


def with_room(store: Store, index: Trees, wiring: Wiring, rehash: Rehash) -> tuple[Store, Trees]:
    """Store and index, grown by the array for which the kernel stopped (`NEED`)."""
    need = int(store.head[layout.NEED])
    if need in (layout.NEED_KEYS, layout.NEED_GROUPS):
        return stores.sweep(store, wiring, rehash), index
    if need in _GROWN:
        return _GROWN[need](store), index
    if need == layout.NEED_ARENA:
        return stores.repack(store, wiring), index
    if need == layout.NEED_WINDOWS:
        return with_slots(store, index)
    if need == layout.NEED_NODES:
        assert isinstance(index, Index)
        return store, tree_pool.with_room(index, int(store.head[layout.ROOM]))
    return store, index


def with_slots(store: Store, index: Trees) -> tuple[Store, Trees]:
    """OPEN ON: store and index with twice as many slots for windows."""
    store, source, target = stores.grow_windows(store)
    if isinstance(index, Index):
        index = tree_pool.widened(index, source, target, len(store.slots))
    return store, index


def reopened(store: Store, index: Trees, low: int, seq: int) -> tuple[Store, Trees]:
    """OPEN ON: store and index with a window that begins at `low`, opened by event `seq`."""
    if store.head[layout.OPENED] - store.head[layout.KLO] >= len(store.slots):
        store, index = with_slots(store, index)
    slot = store.head[layout.OPENED] % len(store.slots)
    store.slots[slot, [layout.S_LOW, layout.S_SEQ]] = low, seq
    store.head[layout.OPENED] += 1
    return store, index


def swept(store: Store, wiring: Wiring, rehash: Rehash) -> Store:
    """The store without keys that no open window holds, once enough events have come since that was done last."""
    head = store.head
    idle = head[layout.KEYS] > 0 and head[layout.KLO] > head[layout.KHI]
    if not idle and head[layout.TOUCHED] <= max(_SWEEP, len(store.keys)):
        return store
    if idle or len(store.keys) > stores.SMALLEST:  # else there is nothing to be had
        store = stores.sweep(store, wiring, rehash)
    head[layout.TOUCHED] = 0
    if len(store.marks):
        rows, _ = stores.live_vertices(store, wiring)
        if len(store.marks) > 16 * (len(rows) + 64):
            store = stores.repack(store, wiring)
    return store


def statistics(store: Store, index: Trees, wiring: Wiring) -> dict[str, int]:
    """Stored vertices, windows in which a trend has begun, keys, bytes of state."""
    vertices, size = len(stores.live_vertices(store, wiring)[0]), sum(array.nbytes for array in store)
    if isinstance(index, Index):
        vertices, size = vertices + tree_pool.entries(index, store, wiring), size + tree_pool.size(index)
    return {
        "vertices": vertices,
        "open_windows": int(np.count_nonzero(store.slots[:, layout.S_ENTRIES])),
        "keys": int(store.head[layout.KEYS]),
        "state_bytes": size,
    }
