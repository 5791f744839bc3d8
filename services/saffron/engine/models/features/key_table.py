"""Utilities by key: an open-addressing hash table (gSPICE-H, papers G4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import float64, uint64, void

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeyTable:
    """`cells`, `values`: [a power of two], a key and its value side by side; NaN where a cell is empty."""

    cells: Keys
    values: Floats

    def utilities(self, keys: Keys) -> Floats:
        """float64 [n]: the value of each key, NaN for one that is not in the table."""
        found = np.empty(len(keys))
        look_up(keys, self.cells, self.values, found)
        return found


def key_table(keys: Keys, values: Floats) -> KeyTable:
    """The table of different keys and their values (no NaN), at most half full."""
    size = 1 << max(1, 2 * len(keys)).bit_length()
    table = KeyTable(np.zeros(size, dtype=np.uint64), np.full(size, np.nan))
    _fill(keys, values, table.cells, table.values)
    return table


@kernel(void(uint64[::1], float64[::1], uint64[::1], float64[::1]), _nrt=False)
def _fill(keys, values, cells, held):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(cells) - 1)
    for i in range(len(keys)):
        at = keys[i] & mask
        while not np.isnan(held[at]):
            at = (at + np.uint64(1)) & mask
        cells[at] = keys[i]
        held[at] = values[i]


@kernel(void(uint64[::1], uint64[::1], float64[::1], float64[::1]), _nrt=False)
def look_up(keys, cells, values, found):  # type: ignore[no-untyped-def]
    """An empty cell has NaN, which is what a key without a value gets."""
    mask = np.uint64(len(cells) - 1)
    for i in range(len(keys)):
        at = keys[i] & mask
        while cells[at] != keys[i] and not np.isnan(values[at]):
            at = (at + np.uint64(1)) & mask
        found[i] = values[at] if cells[at] == keys[i] else np.nan
