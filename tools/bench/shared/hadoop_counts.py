"""The numbers of matches of the exponential Hadoop queries over exact times, counted without pattern matching."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bench.shared.hadoop_log import TYPES, Ints

from saffron.engine.events.columns import Columns

_WITHIN = 600_000


def query_5(columns: Columns) -> int:
    """The sum over reducers: subsets of the Imbalance meanwhile, times pairs of Balance around it in ten minutes."""
    balance, imbalance = _of(columns, "Balance"), _of(columns, "Imbalance")
    total = 0
    for start, end in _reducers(columns):
        between = int(np.searchsorted(imbalance, end) - np.searchsorted(imbalance, start))
        if not between:
            continue
        before = columns.ts[balance[: np.searchsorted(balance, start)]]
        after = columns.ts[balance[np.searchsorted(balance, end) :]]
        after = after[after <= columns.ts[start] + _WITHIN]
        pairs = len(before) - np.searchsorted(before, after - _WITHIN, side="left")
        total += (2**between - 1) * int(pairs.sum())
    return total


def query_6(columns: Columns) -> int:
    """The sum over reducers of at most ten minutes: sets of LoadStd meanwhile that never fall."""
    loads = _of(columns, "LoadStd")
    val = np.asarray(columns.attributes["val"].data)[loads]
    total = 0
    for start, end in _reducers(columns):
        if columns.ts[end] - columns.ts[start] <= _WITHIN:
            total += _rising(val[np.searchsorted(loads, start) : np.searchsorted(loads, end)])
    return total


def _rising(values: np.ndarray) -> int:
    """The number of nonempty subsets that never fall."""
    ending: list[int] = []
    for k, value in enumerate(values):
        ending.append(1 + sum(ending[other] for other in np.flatnonzero(values[:k] <= value)))
    return sum(ending)


def _reducers(columns: Columns) -> Iterator[tuple[int, int]]:
    """The places in the log at which each reducer starts and ends."""
    key = np.asarray(columns.attributes["job"].data, np.int64) << 32 | np.asarray(columns.attributes["task"].data)
    begun = {int(key[at]): int(at) for at in _of(columns, "ReduceStart")}
    for end in _of(columns, "ReduceEnd"):
        start = begun.get(int(key[end]))
        if start is not None and start < end:
            yield start, int(end)


def _of(columns: Columns, name: str) -> Ints:
    """The positions of a type's events."""
    return np.flatnonzero(columns.type.data == tuple(TYPES).index(name))
