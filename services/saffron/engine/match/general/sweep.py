"""Closing the windows of all keys at once, at the end of a block: a key may be silent from then on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import float64, int64, uint8, uint32
from saffron.engine.match.core.nodes import Nodes
from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.runs import LENGTH, OLDEST
from saffron.engine.match.general.closing import Closing
from saffron.engine.match.general.expiry import close_all
from saffron.engine.match.general.pending import close


def sweep(pool: Pool, now: int, pending: int, found: NDArray[np.int64], matches: int) -> int:
    """Close all keys' runs whose window is over at `now`; how many matches there are now."""
    return int(_sweep(pool.floats, pool.ints, pool.heads, pool.segments, now, pending, found, matches))


def sweep_all(
    pool: Pool, now: int, pending: int, found: NDArray[np.int64], matches: int,
    nodes: Nodes, rows: tuple[NDArray[np.int64], NDArray[np.int64], int], openers: NDArray[np.int64], window: Closing,
) -> int:  # fmt: skip
    """The same of a plan WITH TIMEOUTS. `rows`: instants and positions of the stored events, and the ring's mask."""
    arrays = pool.floats, pool.ints, pool.heads, pool.segments
    return int(_sweep_all(*arrays, now, pending, found, matches, *nodes.arrays, *rows, openers, *window))


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


@kernel(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64, int64, int64[:, ::1], int64,
        uint32[::1], uint32[::1], uint8[::1], int64[::1], int64[::1], int64, int64[:, ::1],
        int64, int64, int64, int64, int64, int64,
    )
)  # fmt: skip
def _sweep_all(  # type: ignore[no-untyped-def]
    floats, ints, heads, segments, now, pending, found, matches,
    node_row, node_before, node_part, instants, positions, mask, openers, kind, size, slide, lowest, ordinal, reported,
):  # fmt: skip
    for slot in range(len(segments)):
        if segments[slot, LENGTH] > 0 and segments[slot, OLDEST] < now:
            matches = close_all(
                floats, ints, heads, segments, slot, now, pending, found, matches,
                (node_row, node_before, node_part), (instants, positions, mask), openers,
                (kind, size, slide, lowest), ordinal, reported,
            )  # fmt: skip
    return matches
