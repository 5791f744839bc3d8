"""A store as arrays for snapshots, and back: integers of any size (EXACT) are written as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.layout import Store

WIDE = ("totals", "counts", "sums", "entry_numbers", "out_numbers")
"""The arrays that hold integers of any size under EXACT."""


def saved(store: Store) -> dict[str, NDArray[np.generic]]:
    """The store's arrays by name, none of them of Python objects."""
    return {name: _as_text(array) if array.dtype == object else array.copy() for name, array in store._asdict().items()}


def restored(state: Mapping[str, NDArray[Any]], *, unlimited: bool) -> Store:
    """What `saved` was made from."""
    arrays = {name: state[name] for name in Store._fields}
    if unlimited:
        arrays |= {name: _from_text(arrays[name]) for name in WIDE}
    return Store(**{name: array.copy() for name, array in arrays.items()})


def _as_text(array: NDArray[Any]) -> NDArray[np.uint8]:
    text = json.dumps([array.shape, [format(number, "x") for number in array.ravel().tolist()]])
    return np.frombuffer(text.encode(), np.uint8).copy()


def _from_text(text: NDArray[np.uint8]) -> NDArray[Any]:
    shape, numbers = json.loads(text.tobytes())
    array = np.empty(len(numbers), dtype=object)
    array[:] = [int(number, 16) for number in numbers]
    return array.reshape(shape)
