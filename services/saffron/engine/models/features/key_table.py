"""Utilities by key: a hash table (gSPICE-H, papers G4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import float64, int32, uint64, void
from saffron.engine.kernels.slot_table import place_of, table_of

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeyTable:
    """A hash table from keys to values.

    `keys` [n], all different. `values` [n + 1]: the last one, NaN, is for all other keys. `table`: slot -> index of the
    key, -1 if free.
    """

    keys: Keys
    values: Floats
    table: NDArray[np.int32]

    def utilities(self, keys: Keys) -> Floats:
        """float64 [n]: the value of each key, NaN for one that is not in the table."""
        found = np.empty(len(keys))
        look_up(keys, self.keys, self.values, self.table, found)
        return found


def key_table(keys: Keys, values: Floats) -> KeyTable:
    """The table of different keys and their values."""
    return KeyTable(keys, np.append(values, np.nan), table_of(keys, len(keys)))


@kernel(void(uint64[::1], uint64[::1], float64[::1], int32[::1], float64[::1]), _nrt=False)
def look_up(asked, keys, values, table, found):  # type: ignore[no-untyped-def]
    """Write the value of each key of `asked` into `found`; the last value for a key that is not in the table."""
    last = len(values) - 1
    for i in range(len(asked)):
        slot = table[place_of(table, keys, asked[i])]
        found[i] = values[slot if slot >= 0 else last]
