"""Looking up one event's key from a step kernel (kernel helpers); the table is that of `keys`."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.jit import jitable


@jitable
def place_of(keys: Any, i: int, table: Any, held: Any) -> Any:
    """Where key keys[:, i] stands in the table, or the free place where it would."""
    mask = np.uint64(len(table) - 1)
    value = np.uint64(0x9E3779B97F4A7C15)
    for row in range(keys.shape[0]):
        value = (value ^ np.uint64(keys[row, i])) * np.uint64(0xFF51AFD7ED558CCD)
        value ^= value >> np.uint64(32)
    at = value & mask
    while table[at] >= 0:
        slot = table[at]
        same = True
        for row in range(keys.shape[0]):
            same &= held[row, slot] == keys[row, i]
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@jitable
def make_slot(keys: Any, i: int, at: int, table: Any, held: Any, free: Any, numbers: Any) -> Any:
    """A slot for a new key, to stand at a free place of the table; -1 if there is no room. `numbers`: see `keys`."""
    if 2 * numbers[2] >= len(table) or (numbers[0] == 0 and numbers[1] >= held.shape[1]):
        return -1
    if numbers[0] > 0:
        numbers[0] -= 1
        slot = free[numbers[0]]
    else:
        slot = numbers[1]
        numbers[1] += 1
    numbers[2] += 1
    for row in range(keys.shape[0]):
        held[row, slot] = keys[row, i]
    table[at] = slot
    return slot
