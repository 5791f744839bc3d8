"""Taking runs out of their pools; the others keep their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, float64, int64, uint32
from saffron.engine.match.core.kernel_layout import LIVE, place
from saffron.engine.match.core.merged import FOLLOWER_GROUP, GROUP
from saffron.engine.match.core.rows import SLOT
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, DUE, LENGTH, OLDEST, STALE, START, move
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.unmerge import unmerge
from saffron.engine.match.shedding.candidates import Candidates

Flags = NDArray[np.bool_]


def remove(runs: QueryRuns, found: Candidates, gone: Flags) -> None:
    """Drop the candidates of a query that are `gone` [n]."""
    merging = runs.program.merging
    merged = () if merging is None else (merging, len(runs.pools) - 1)
    for number, pool in enumerate(runs.pools):
        lanes = found.lane[gone & (found.pool == number)]
        if number not in merged and len(lanes):
            _take_out(runs, number, _marked(lanes, len(pool.heads)))
    if merging is not None:
        _remove_merged(runs, merging, found, gone & np.isin(found.pool, merged))


def _remove_merged(runs: QueryRuns, merging: int, found: Candidates, gone: Flags) -> None:
    """Drop the marked candidates of a pool of merging runs and of its followers. Their first events identify them."""
    if not gone.any():
        return
    numbers = (merging, len(runs.pools) - 1)
    leaders, followers = (runs.pools[number].ints for number in numbers)
    here, there = (found.lane[gone & (found.pool == number)] for number in numbers)
    rows = np.zeros(runs.rows.capacity, np.bool_)
    rows[np.concatenate([leaders[START, here], followers[START, there]]) & runs.rows.mask] = True
    led = runs.pools[-1].lanes()
    stay = led[~rows[followers[START, led] & runs.rows.mask]]
    groups = leaders[GROUP, here]
    headless = here[(groups != 0) & np.isin(groups, followers[FOLLOWER_GROUP, stay])]
    if len(headless):
        slots = runs.rows.columns[SLOT][leaders[START, headless] & runs.rows.mask]
        unmerge(runs, merging, slots.astype(np.int64))
    for number in numbers:
        pool = runs.pools[number]
        lanes = pool.lanes()
        ours = lanes[rows[pool.ints[START, lanes] & runs.rows.mask]]
        if len(ours):
            _take_out(runs, number, _marked(ours, len(pool.heads)))


def _marked(lanes: NDArray[np.int64], size: int) -> Flags:
    marked = np.zeros(size, np.bool_)
    marked[lanes] = True
    return marked


def _take_out(runs: QueryRuns, number: int, gone: Flags) -> None:
    pool = runs.pools[number]
    runs.counters[place(number, LIVE)] -= _compact(pool.floats, pool.ints, pool.heads, pool.segments, gone)


@kernel(int64(float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], boolean[::1]))
def _compact(floats, ints, heads, segments, gone):  # type: ignore[no-untyped-def]
    """Take marked lanes out of all segments, and stale ones (see `due`), which never are; how many were marked.

    OLDEST stays: it may be earlier than the oldest.
    """
    count = 0
    for slot in range(len(segments)):
        length, stale = segments[slot, LENGTH], segments[slot, STALE]
        base = segments[slot, BASE] + segments[slot, BEGIN]
        kept = 0
        for lane in range(base, base + length):
            if not gone[lane] and (stale == 0 or ints[DEADLINE, lane] >= segments[slot, OLDEST]):
                if base + kept != lane:
                    move(floats, ints, heads, lane, base + kept)
                kept += 1
        count += length - stale - kept
        segments[slot, LENGTH] = kept
        segments[slot, STALE] = segments[slot, DUE] = 0
        if kept == 0:
            segments[slot, BEGIN] = 0
    return count
