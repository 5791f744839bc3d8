"""Drop orders (P8): keep at most n partial matches of some queries together, those of the highest utility."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.query import QueryRuns
from saffron.engine.match.shedding.candidates import Candidates, candidates
from saffron.engine.match.shedding.orders import Order, Worth
from saffron.engine.match.shedding.removal import remove
from saffron.engine.match.shedding.worst import least

Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_SHIFT = np.uint64(11)


@dataclass(frozen=True)
class Dropped:
    """By query: how many partial matches an order dropped, and how many matches they would have made, as expected."""

    counts: Mapping[str, int]
    losses: Mapping[str, float]

    @property
    def count(self) -> int:
        """All queries together."""
        return sum(self.counts.values())


def keep_best(standing: Mapping[str, QueryRuns], order: Order) -> Dropped:
    """Carry out an order at the position that the queries have reached; those of its queries that do not run count not.

    Of all their partial matches together the least go, by (utility, position of the first event, name of the query,
    state, place among the key's runs). Runs whose window is over do not count.
    """
    names = sorted(set(order.queries) & set(standing))
    if sum(standing[name].live for name in names) <= order.keep:
        return Dropped({}, {})
    found = [candidates(standing[name]) for name in names]
    excess = sum(map(len, found)) - order.keep
    if excess <= 0:
        return Dropped({}, {})
    worths = [order.queries[name] for name in names]
    utility = [_utility(one, worth, standing[name]) for name, one, worth in zip(names, found, worths, strict=True)]
    sizes = [len(one) for one in found]
    keys = [
        np.concatenate(utility),
        np.concatenate([one.first for one in found]),
        np.repeat(np.arange(len(names)), sizes),
        np.concatenate([one.state for one in found]),
        np.concatenate([one.rank for one in found]),
    ]
    parts = np.split(least(keys, excess), np.cumsum(sizes)[:-1])
    counts, losses = {}, {}
    for name, one, worth, gone in zip(names, found, worths, parts, strict=True):
        if gone.any():
            counts[name] = int(np.count_nonzero(gone))
            remaining = _remaining(one, worth, standing[name])
            losses[name] = float(worth.loss.at(one.state[gone], remaining[gone]).sum())
            remove(standing[name], one, gone)
    return Dropped(counts, losses)


def _remaining(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    """[n] events expected in what is left of each run's window."""
    remaining: Floats = found.left.astype(np.float64) * (1.0 if runs.plan.window.events else worth.per_ms)
    return remaining


def _utility(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    if not worth.random:
        return worth.utility.at(found.state, _remaining(found, worth, runs))
    mixed = np.full(len(found), np.uint64(worth.seed & 0xFFFFFFFFFFFFFFFF) + _GOLDEN)
    for part in (found.first, found.state, found.rank):
        mixed = (mixed ^ part.view(np.uint64)) * _FACTOR
        mixed ^= mixed >> _HALF
    return (mixed >> _SHIFT).astype(np.float64)
