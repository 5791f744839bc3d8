"""Closing the windows of all keys at once, at the end of a block: a key may be silent from then on."""

from __future__ import annotations

import numpy as np
from numba import float64, int64, uint32
from numpy.typing import NDArray

from saffron.engine.jit import kernel
from saffron.engine.match.general.pending import close
from saffron.engine.match.pools import Pool
from saffron.engine.match.runs import LENGTH, OLDEST


def sweep(pool: Pool, now: int, pending: int, found: NDArray[np.int64], matches: int) -> int:
    """Close all keys' runs whose window is over at `now`; how many matches there are now."""
    return int(_sweep(pool.floats, pool.ints, pool.heads, pool.segments, now, pending, found, matches))


@kernel(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64, int64, int64[:, ::1], int64
    )
)  # fmt: skip
def _sweep(floats, ints, heads, segments, now, pending, found, matches):  # type: ignore[no-untyped-def]
    for slot in range(len(segments)):
        if segments[slot, LENGTH] > 0 and segments[slot, OLDEST] < now:
            matches = close(floats, ints, heads, segments, slot, now, pending, found, matches)
    return matches
