"""Counting trends the two ways that Saffron does not: GRETA's scan of all earlier events, and building every trend.

Both over one window of values, for A+ where the value falls; counts are float64 (a bound on speed, not on truth).
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from saffron.engine.kernels.jit import kernel


@kernel(float64(float64[::1]))
def scanned(values):  # type: ignore[no-untyped-def]
    """The number of falling trends, by a look at every earlier event (the paper's O(n^2))."""
    n = len(values)
    counts = np.empty(n, np.float64)
    total = 0.0
    for i in range(n):
        count = 1.0
        for j in range(i):
            if values[j] > values[i]:
                count += counts[j]
        counts[i] = count
        total += count
    return total


@kernel(int64(float64[::1], int64))
def built(values, most):  # type: ignore[no-untyped-def]
    """The same, each trend being walked through by itself (two-step engines); it gives up after `most` trends."""
    n = len(values)
    path = np.empty(n, np.int64)
    found = 0
    for first in range(n):
        depth, path[0], at = 1, first, first + 1
        found += 1
        while depth > 0 and found < most:
            while at < n and values[at] >= values[path[depth - 1]]:
                at += 1
            if at < n:
                path[depth] = at
                depth += 1
                found += 1
                at += 1
            else:
                depth -= 1
                at = path[depth] + 1
    return found
