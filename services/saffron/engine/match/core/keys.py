"""Keys of [attr] to slots: a hash table over tuples of int64, with slots reused when a key is forgotten."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int64, void
from saffron.engine.match.core.key_table import FREE, NEXT, USED, hash_of, make_slot, place_of


@kernel(int64(int64[:, ::1], boolean[::1], int64, int64[::1], int64[:, ::1], int64[::1], int64[::1], int64[::1]))
def _lookup(keys, create, start, table, held, free, counters, slots):  # type: ignore[no-untyped-def]
    """Slots of keys[:, start:], -1 for a key that is unknown and not to be created; stops where the table is full."""
    for i in range(start, keys.shape[1]):
        at = place_of(keys, i, table, held)
        if table[at] < 0 and create[i] and make_slot(keys, i, at, table, held, free, counters) < 0:
            return i
        slots[i] = table[at]
    return keys.shape[1]


@kernel(void(int64[::1], int64[::1], int64[:, ::1], int64[::1], int64[::1]))
def _forget(slots, table, held, free, counters):  # type: ignore[no-untyped-def]
    """Free these slots, and take their keys out of the table; keys behind them move up, so that lookups find them."""
    mask = np.uint64(len(table) - 1)
    one = np.uint64(1)
    for slot in slots:
        at = hash_of(held, slot) & mask
        while table[at] != slot:
            at = (at + one) & mask
        free[counters[FREE]] = slot
        counters[FREE] += 1
        counters[USED] -= 1
        # Close the gap: move back every later entry of the cluster whose own place is not after the gap.
        table[at] = -1
        other = (at + one) & mask
        while table[other] >= 0:
            home = hash_of(held, table[other]) & mask
            if ((other - home) & mask) >= ((other - at) & mask):
                table[at] = table[other]
                table[other] = -1
                at = other
            other = (other + one) & mask


@kernel(void(int64[:, ::1], int64, int64[::1], int64[::1]))
def _rebuild(held, used, table, occupied):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(table) - 1)
    for slot in range(used):
        if occupied[slot]:
            at = hash_of(held, slot) & mask
            while table[at] >= 0:
                at = (at + np.uint64(1)) & mask
            table[at] = slot


class Keys:
    """The slots of a query's keys; keys are int64 [attributes, n] (codes of strings, bits of floats)."""

    def __init__(self, attributes: int) -> None:
        self._table = np.full(16, -1, np.int64)
        self._held = np.zeros((attributes, 8), np.int64)
        self._free = np.zeros(8, np.int64)
        self._counters = np.zeros(3, np.int64)

    @property
    def capacity(self) -> int:
        """Slots are below this."""
        return int(self._held.shape[1])

    @property
    def used(self) -> int:
        return int(self._counters[USED])

    def slots(self, keys: NDArray[np.int64], create: NDArray[np.bool_]) -> NDArray[np.int64]:
        """int64 [n]: the slot of each key; a new one where `create` says so, else -1."""
        slots = np.full(keys.shape[1], -1, np.int64)
        done = 0
        while True:
            done = _lookup(keys, create, done, self._table, self._held, self._free, self._counters, slots)
            if done == keys.shape[1]:
                return slots
            self.grow()

    def forget(self, slots: NDArray[np.int64]) -> None:
        """Free these slots."""
        _forget(slots, self._table, self._held, self._free, self._counters)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"table": self._table, "held": self._held, "free": self._free, "counters": self._counters}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Keys:
        keys = cls(0)
        keys._table, keys._held, keys._free, keys._counters = (
            np.array(arrays[name], np.int64, order="C") for name in ("table", "held", "free", "counters")
        )
        return keys

    def renamed(self, held: NDArray[np.int64]) -> Keys:
        """Keys in the same slots with other words: int64 [attributes, capacity]. Different keys must stay different."""
        keys = Keys(0)
        keys._held, keys._free, keys._counters = held, self._free, self._counters
        keys._table = np.full_like(self._table, -1)
        _rebuild(held, int(self._counters[NEXT]), keys._table, self._occupied())
        return keys

    def _occupied(self) -> NDArray[np.int64]:
        """[capacity] 1 for slots in use."""
        occupied = np.zeros(self.capacity, np.int64)
        occupied[: self._counters[NEXT]] = 1
        occupied[self._free[: self._counters[FREE]]] = 0
        return occupied

    def grow(self) -> None:
        """Room for more keys."""
        next_slot = int(self._counters[NEXT])
        occupied = self._occupied()
        if next_slot >= self.capacity:
            self._held = np.ascontiguousarray(np.pad(self._held, ((0, 0), (0, self.capacity))))
            self._free = np.concatenate([self._free, np.zeros_like(self._free)])
        if 2 * self.used >= len(self._table):
            self._table = np.full(2 * len(self._table), -1, np.int64)
            _rebuild(self._held, next_slot, self._table, occupied)
