"""Drop orders (P8): keep at most n partial matches of a query, those of the highest utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.layout import LIVE, NODE, place
from saffron.engine.match.merging.apart import unmerge
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.rows import SEQ
from saffron.engine.match.runs import BASE, BEGIN, DEADLINE, LENGTH, OLDEST, START

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many runs an order dropped, and how many of them would have completed (their utilities, summed).

    Without a model nothing is known of the second: it is 0.
    """

    count: int
    loss: float


def keep_best(runs: QueryRuns, order: Mapping[str, Any]) -> Dropped:
    """Carry out a "keep" record at the position that the query has reached.

    Ordered by (utility, first seq, state, the node of the event bound last), the lowest go first. Runs whose window is
    over do not count. A run's utility is that of its state (1 + the component bound last) and of the events left in
    its window, linear between bins and from 0 below the first (P3); without a table all are equal.
    """
    if runs.live > int(order["n"]):
        unmerge(runs)
    lanes = [_live_lanes(runs, index) for index in range(len(runs.program.states))]
    excess = sum(len(found) for found in lanes) - int(order["n"])
    if excess <= 0:
        return Dropped(0, 0.0)
    state = np.repeat(np.arange(len(lanes)), [len(found) for found in lanes])
    lane = np.concatenate(lanes)
    utility = np.concatenate([_utility(runs, index, found, order) for index, found in enumerate(lanes)])
    start = np.concatenate([pool.ints[START, found] for pool, found in zip(runs.pools, lanes, strict=False)])
    first = runs.rows.columns[SEQ][start & runs.rows.mask]
    heads = np.concatenate([pool.heads[found] for pool, found in zip(runs.pools, lanes, strict=False)]).astype(np.int64)
    # Node numbers are kept modulo 2^32: count them from the newest one.
    age = (runs.counters[NODE] - heads) & 0xFFFFFFFF
    dropped = np.lexsort((-age, state, first, utility))[:excess]
    for index in range(len(lanes)):
        _remove(runs, index, lane[dropped[state[dropped] == index]])
    return Dropped(excess, float(utility[dropped].sum()))


def _live_lanes(runs: QueryRuns, index: int) -> Ints:
    """The lanes of a state's runs whose windows are not over."""
    pool = runs.pools[index]
    lanes = _lanes(pool.segments)
    live: Ints = lanes[pool.ints[DEADLINE, lanes] >= runs.clock]
    return live


def _lanes(segments: Ints) -> Ints:
    """The lanes of all segments, key by key."""
    lengths = segments[:, LENGTH]
    begins = np.repeat(segments[:, BASE] + segments[:, BEGIN] - (np.cumsum(lengths) - lengths), lengths)
    lanes: Ints = begins + np.arange(int(lengths.sum()))
    return lanes


def _utility(runs: QueryRuns, index: int, lanes: Ints, order: Mapping[str, Any]) -> NDArray[np.float64]:
    table: Sequence[Sequence[float]] = order.get("utility") or []
    if not table:
        return np.zeros(len(lanes))
    left = (runs.pools[index].ints[DEADLINE, lanes] - runs.clock).astype(np.float64)
    if not runs.plan.window.events:
        left *= float(order.get("per_ms", 0.0))
    column = np.array([0.0, *(row[min(index + 1, len(row) - 1)] for row in table)])
    worth: NDArray[np.float64] = np.interp(left / int(order.get("bin", 1)), np.arange(len(column)), column)
    return worth


def _remove(runs: QueryRuns, index: int, lanes: Ints) -> None:
    """Take runs out of a state's segments, keeping the order of the others."""
    if not len(lanes):
        return
    pool = runs.pools[index]
    gone = np.zeros(len(pool.heads), np.bool_)
    gone[lanes] = True
    for slot in np.flatnonzero(pool.segments[:, LENGTH]).tolist():
        segment = pool.segments[slot]
        begin = int(segment[BASE] + segment[BEGIN])
        own = np.arange(begin, begin + int(segment[LENGTH]))
        kept = own[~gone[own]]
        if len(kept) < len(own):
            into = slice(begin, begin + len(kept))
            for array in (pool.floats, pool.ints):
                array[:, into] = array[:, kept]
            pool.heads[into] = pool.heads[kept]
            segment[LENGTH] = len(kept)
            segment[OLDEST] = pool.ints[DEADLINE, into].min() if len(kept) else 0
    runs.counters[place(index, LIVE)] -= len(lanes)
