"""The partial matches of a query that an order may drop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.rows import SEQ, SLOT, TS
from saffron.engine.match.core.runs import DEADLINE, START
from saffron.engine.match.general.pending import STATE_ROW
from saffron.engine.match.runs.matched import have_matched
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.retained import ANY_LAST

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """The partial matches that an order may drop, int64 [n] each.

    `pool`, `lane`: the place of a run. `state`: as observed (0: nothing bound yet). `first`: position of the first
    event. `rank`: the place among the key's runs, unique for each `first` and `state`. `left`: the rest of its window,
    in ms or events. `last`: position of the event bound last; ANY_LAST for merged runs, which differ by first event.
    `waited`: ms or events since the event bound last, or, where that is unknown, since the first. `matched`: a match
    has the same beginning.
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
    """The partial matches of a query that an order may drop, at its position. Their ranks depend on the events only."""
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
    """The partial matches of pool `number`: pool, lane, state, first row, rank, left and last row, int64 [n] each.

    The last row is known modulo 2^32. It is ANY_LAST for merged runs, and for all runs in later states.
    """
    lanes = runs.alive(number)
    count, start = len(lanes), pool.ints[START, lanes]
    rank = _ranks(runs.rows.columns[SLOT][start & runs.rows.mask].astype(np.int64))
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
    return np.full(count, number), lanes, state, start, rank, left, last


def _ranks(slots: Ints) -> Ints:
    """[n] how many of the same key stand before each; keys stand one behind the other."""
    begins = np.flatnonzero(np.diff(slots, prepend=-1))
    return np.arange(len(slots)) - np.repeat(begins, np.diff(begins, append=len(slots)))
