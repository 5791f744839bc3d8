"""The partial matches of a query that an order may drop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64
from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.rows import SEQ, TS
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, LENGTH, START
from saffron.engine.match.general.pending import STATE_ROW
from saffron.engine.match.runs.matched import have_matched
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.retained import ANY_LAST

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Runs whose window is not over, int64 [n] each.

    `pool`, `lane`: where a run is. `state`: as observed (0: nothing bound yet). `first`: position of the first event.
    `rank`: its place among the runs of its key, which none shares that is equal in `first` and `state`. `left`: what is
    left of its window, in ms or events. `last`: position of the event bound last, ANY_LAST where runs merge, of which
    no two have a first event in common. `waited`: ms or events since the event bound last, or where that is not known
    since the first one. `matched`: whether a match began as it does.
    """

    pool: Ints
    lane: Ints
    state: Ints
    first: Ints
    rank: Ints
    left: Ints
    last: Ints
    waited: Ints
    matched: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.lane)


def candidates(runs: QueryRuns) -> Candidates:
    """Those of a query, at the position that it has reached; ranks depend on nothing but the events."""
    parts = [_of_pool(runs, number, pool) for number, pool in enumerate(runs.pools)]
    if not parts:
        return Candidates(*(np.zeros(0, np.int64),) * 8, np.zeros(0, np.bool_))
    pool, lane, state, start, rank, left, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    seqs, instants = (runs.rows.columns[name] for name in (SEQ, SEQ if runs.plan.window.events else TS))
    first = seqs[start & runs.rows.mask].astype(np.int64)
    waited = runs.clock - instants[np.where(last < 0, start, last) & runs.rows.mask].astype(np.int64)
    matched = have_matched(runs.rows, start)
    last = np.where(last < 0, ANY_LAST, seqs[last & runs.rows.mask].astype(np.int64))
    return Candidates(pool, lane, state, first, rank, left, last, waited, matched)


def _of_pool(runs: QueryRuns, number: int, pool: Pool) -> tuple[Ints, ...]:
    size = int(pool.segments[:, LENGTH].sum())
    lanes, rank = np.empty(size, np.int64), np.empty(size, np.int64)
    count = int(_live(pool.ints, pool.segments, runs.clock, lanes, rank))
    lanes, rank = lanes[:count], rank[:count]
    merging = runs.program.merging
    followers = merging is not None and number == len(runs.pools) - 1
    if not runs.program.flat:
        state = pool.ints[STATE_ROW, lanes]
    else:
        state = np.full(count, (merging or 0) + 1 if followers else number + 1)
    if followers or number == merging:  # there a run is its first event, wherever it lies
        rank = np.zeros(count, np.int64)
    left = pool.ints[DEADLINE, lanes] - runs.clock
    row = runs.nodes.row
    last = row[pool.heads[lanes] & np.uint32(len(row) - 1)].astype(np.int64)
    if merging is not None and number >= merging:
        last = np.full(count, ANY_LAST)
    return np.full(count, number), lanes, state, pool.ints[START, lanes], rank, left, last


@kernel(int64(int64[:, ::1], int64[:, ::1], int64, int64[::1], int64[::1]))
def _live(ints, segments, now, lanes, ranks):  # type: ignore[no-untyped-def]
    """The lanes of runs whose window is not over, key by key, and how many of those stand before each in its key."""
    count = 0
    for slot in range(len(segments)):
        base = segments[slot, BASE] + segments[slot, BEGIN]
        rank = 0
        for lane in range(base, base + segments[slot, LENGTH]):
            if ints[DEADLINE, lane] >= now:
                lanes[count], ranks[count] = lane, rank
                count += 1
                rank += 1
    return count
