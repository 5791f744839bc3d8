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
from saffron.engine.match.general.pending import close, reports

Due = tuple[int, int]
"""The arguments of `pending.close` on NOTs with a time."""


def sweep(pool: Pool, now: int, pending: int, found: NDArray[np.int64], matches: int, due: Due) -> int:
    """Close all keys' runs whose window is over at `now`; how many matches there are now."""
    return int(_sweep(pool.floats, pool.ints, pool.heads, pool.segments, now, pending, found, matches, *due))


def room(pool: Pool, now: int, pending: int, due: Due) -> int:
    """The most matches that a sweep reports, where each window ends once."""
    runs = int(pool.segments[:, LENGTH].sum())
    if due[1] == 0:
        return runs
    return runs + int(_reports(pool.ints, pool.segments, now, pending, *due))


def sweep_all(
    pool: Pool, now: int, pending: int, found: NDArray[np.int64], matches: int,
    nodes: Nodes, rows: tuple[NDArray[np.int64], NDArray[np.int64], int], openers: NDArray[np.int64], window: Closing,
    due: Due,
) -> int:  # fmt: skip
    """The `sweep` of a plan WITH TIMEOUTS. `rows`: stored events' instants and positions, and the ring's mask."""
    arrays = pool.floats, pool.ints, pool.heads, pool.segments
    return int(_sweep_all(*arrays, now, pending, found, matches, *nodes.arrays, *rows, openers, *window, *due))


@kernel(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64, int64, int64[:, ::1], int64, int64, int64
    )
)  # fmt: skip
def _sweep(floats, ints, heads, segments, now, pending, found, matches, due, period):  # type: ignore[no-untyped-def]
    for slot in range(len(segments)):
        if segments[slot, LENGTH] > 0 and segments[slot, OLDEST] < now:
            matches = close(floats, ints, heads, segments, slot, now, pending, found, matches, (due, period))
    return matches


@kernel(int64(int64[:, ::1], int64[:, ::1], int64, int64, int64, int64))
def _reports(ints, segments, now, pending, due, period):  # type: ignore[no-untyped-def]
    count = 0
    for slot in range(len(segments)):
        if segments[slot, LENGTH] > 0 and segments[slot, OLDEST] < now:
            count += reports(ints, segments, slot, now, pending, (due, period))
    return count


@kernel(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64, int64, int64[:, ::1], int64,
        uint32[::1], uint32[::1], uint8[::1], int64[::1], int64[::1], int64, int64[:, ::1],
        int64, int64, int64, int64, int64, int64, int64, int64,
    )
)  # fmt: skip
def _sweep_all(  # type: ignore[no-untyped-def]
    floats, ints, heads, segments, now, pending, found, matches,
    node_row, node_before, node_part, instants, positions, mask, openers, kind, size, slide, lowest, ordinal, reported,
    due, period,
):  # fmt: skip
    """Apply `close_all` to each key with a run whose window may be over at `now`; how many matches there are now."""
    for slot in range(len(segments)):
        if segments[slot, LENGTH] > 0 and segments[slot, OLDEST] < now:
            matches = close_all(
                floats, ints, heads, segments, slot, now, pending, found, matches,
                (node_row, node_before, node_part), (instants, positions, mask), openers,
                (kind, size, slide, lowest), ordinal, reported, (due, period),
            )  # fmt: skip
    return matches
