"""The least of many by several keys, in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def least(keys: Sequence[NDArray[Any]], count: int) -> NDArray[np.bool_]:
    """[n] the `count` least, 0 < count <= n, by the first key, where that ties by the second, and so on.

    Introselect by one key after the other, each among what the keys before it leave undecided: O(keys * n). Where all
    keys tie those that stand first are taken.
    """
    chosen = np.zeros(len(keys[0]), np.bool_)
    undecided = np.arange(len(keys[0]))
    for key in keys:
        if count == len(undecided):
            break
        values = key[undecided]
        bound = _smallest(values, count)
        below = values < bound
        chosen[undecided[below]] = True
        count -= int(np.count_nonzero(below))
        undecided = undecided[values == bound]
    chosen[undecided[:count]] = True
    return chosen


def _smallest(values: NDArray[Any], count: int) -> Any:
    """The `count`-th smallest value.

    Where it is the least or the greatest, it is found without selecting. NumPy's selection takes ten times as long for
    few distinct values.
    """
    low, high = values.min(), values.max()
    if int(np.count_nonzero(values == low)) >= count:
        return low
    if int(np.count_nonzero(values < high)) < count:
        return high
    return np.partition(values, count - 1)[count - 1]
