"""Latency histograms, filled by a kernel one block at a time (`histogram_kernel.py`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

BOUNDS_MS = np.array([0.1 * 2**k for k in range(18)], dtype=np.float64)
"""[18] upper bounds in ms, inclusive: powers of 2 from 0.1 ms to 13.1 s. One more bucket holds larger values."""


class Buckets:
    """One histogram: counts by bucket, and the sum in ms."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(len(BOUNDS_MS) + 1, dtype=np.int64)
        self.total_ms = 0.0

    def observe(self, milliseconds: NDArray[np.float64]) -> None:
        """Adds observations: [n] float64, ms."""
        from saffron.runtime.telemetry.histogram_kernel import fill  # Numba, which only those who observe wait for

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
