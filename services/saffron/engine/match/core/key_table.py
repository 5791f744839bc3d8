"""The open-addressing table of `keys`: lookups and new slots, in kernels of its own and in step kernels (helpers).

Unlike `kernels.slot_table` it frees slots again, and hashes anew instead of storing hashes: snapshots hold its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.hashing import GOLDEN, chained
from saffron.engine.kernels.jit import jitable

FREE, NEXT, USED = range(3)  # counters: length of the stack of free slots, first slot never used, slots in use


@jitable(forceinline=True, _nrt=False)
def hash_of(keys: Any, column: int) -> Any:
    """The hash of keys[:, column]."""
    value = np.uint64(GOLDEN)
    for row in range(keys.shape[0]):
        value = chained(value, np.uint64(keys[row, column]))
    return value


@jitable(forceinline=True, _nrt=False)
def place_of(keys: Any, i: int, table: Any, held: Any) -> Any:
    """The place of key keys[:, i] in the table, or the free place where it belongs."""
    mask = np.uint64(len(table) - 1)
    at = hash_of(keys, i) & mask
    while table[at] >= 0:
        slot = table[at]
        same = True
        for row in range(keys.shape[0]):
            same &= held[row, slot] == keys[row, i]
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@jitable(_nrt=False)
def make_slot(keys: Any, i: int, at: int, table: Any, held: Any, free: Any, counters: Any) -> Any:
    """A slot for a new key, to stand at a free place of the table; -1 if there is no room."""
    if 2 * counters[USED] >= len(table) or (counters[FREE] == 0 and counters[NEXT] >= held.shape[1]):
        return -1
    if counters[FREE] > 0:
        counters[FREE] -= 1
        slot = free[counters[FREE]]
    else:
        slot = counters[NEXT]
        counters[NEXT] += 1
    counters[USED] += 1
    for row in range(keys.shape[0]):
        held[row, slot] = keys[row, i]
    table[at] = slot
    return slot
