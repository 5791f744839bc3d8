"""Drop orders (P8): keep at most n partial matches of some queries together, those of the highest utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, hashes_of, unit
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.candidates import Candidates, candidates
from saffron.engine.match.shedding.orders import Order, Worth
from saffron.engine.match.shedding.removal import remove
from saffron.engine.match.shedding.retained import Retained, chances, drawn
from saffron.engine.match.shedding.tracked import alike, are_tracked
from saffron.engine.match.shedding.worst import least
from saffron.engine.models.transitions.ages import ages

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_MOSTLY = 0.5
"""Share drawn evenly from which on those that go are alike, whatever is expected of them."""


@dataclass(frozen=True)
class RetainedRuns:
    """The partial matches of one query that an order retained, [n] each (see `retained.Note`).

    `gone`: first events of those that earlier orders retained and this one dropped.
    """

    first: Ints
    last: Ints
    until: Ints
    expected: Floats
    weight: Floats
    alike: Ints
    gone: Ints


@dataclass(frozen=True)
class Dropped:
    """The effects of one drop order, by query: number of partial matches dropped (`counts`), matches expected of them
    (`losses`), and partial matches retained (`spared`)."""

    counts: Mapping[str, int]
    losses: Mapping[str, float]
    spared: Mapping[str, RetainedRuns] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """All queries together."""
        return sum(self.counts.values())


def keep_best(standing: Mapping[str, QueryRuns], order: Order, known: Mapping[str, Retained] | None = None) -> Dropped:
    """Carry out a drop order at the position that its queries have reached. Queries that do not run are left out.

    The least partial matches of all queries are dropped, by (utility, position of the first event, name of the query,
    state, rank). A share `evenly` of the number to drop is drawn at random from the others. Runs whose window is over
    do not count. Partial matches that are tracked or retained, now or by an earlier order (`known`), are dropped last.
    """
    names = sorted(set(order.queries) & set(standing))
    if sum(standing[name].live for name in names) <= order.keep:
        return Dropped({}, {})
    found = [candidates(standing[name]) for name in names]
    excess = sum(map(len, found)) - order.keep
    if excess <= 0:
        return Dropped({}, {})
    worths = [order.queries[name] for name in names]
    utility = [utilities(one, worth, standing[name]) for name, one, worth in zip(names, found, worths, strict=True)]
    expected = [_expected(one, worth, standing[name]) for name, one, worth in zip(names, found, worths, strict=True)]
    sizes = [len(one) for one in found]
    places = [
        np.concatenate([one.first for one in found]),
        np.repeat(np.arange(len(names)), sizes),
        np.concatenate([one.state for one in found]),
        np.concatenate([one.rank for one in found]),
    ]
    ways = _Ways([np.concatenate(utility), *places], [np.concatenate(_drawn(found, order)), *places], order.evenly)
    cuts = np.cumsum(sizes)[:-1]
    held = [_held(name, one, known, order) for name, one in zip(names, found, strict=True)]
    gone = ways.gone(np.concatenate(held), excess)
    new = [np.zeros(size) for size in sizes]
    if order.exempt > 0:
        parts = zip(names, found, expected, np.split(gone, cuts), held, strict=True)
        new = [_spared(order, name, one, own, goes & ~old, known) for name, one, own, goes, old in parts]
        gone = ways.gone(np.concatenate(held) | (np.concatenate(new) > 0), excess)
    counts, losses, spared = {}, {}, {}
    for name, one, own, goes, weight, old in zip(names, found, expected, np.split(gone, cuts), new, held, strict=True):
        stays = (weight > 0) & ~goes
        if stays.any() or old.any():
            spared[name] = _noted(one, own, standing[name].clock, stays, weight, one.first[goes & old])
        if goes.any():
            counts[name] = int(np.count_nonzero(goes))
            losses[name] = float(own[goes].sum())
            remove(standing[name], one, goes)
    return Dropped(counts, losses, spared)


@dataclass(frozen=True)
class _Ways:
    """Two orders of the same candidates, each by several keys [n]: by utility, and by a draw.

    The draw chooses the share `evenly` of those that go.
    """

    by_worth: list[NDArray[Any]]
    by_draw: list[NDArray[Any]]
    evenly: float

    def gone(self, held: Flags, count: int) -> Flags:
        """[n] the `count` that go, held ones behind all others."""
        gone = np.zeros(len(held), np.bool_)
        for group in (np.flatnonzero(~held), np.flatnonzero(held)):
            some = min(count, len(group))
            drawn_ones = round(self.evenly * some)
            for keys, number in ((self.by_worth, some - drawn_ones), (self.by_draw, drawn_ones)):
                left = group[~gone[group]]
                if number:
                    gone[left[least([key[left] for key in keys], number)]] = True
            count -= some
        return gone


def _drawn(found: Sequence[Candidates], order: Order) -> list[Floats]:
    """A number for each candidate, by which some are drawn; of all queries together."""
    return [_hashed(one, order.seed) if order.evenly > 0 else np.zeros(len(one)) for one in found]


def _held(name: str, found: Candidates, known: Mapping[str, Retained] | None, order: Order) -> Flags:
    """[n] which of a query's candidates are tracked, or an order before has retained."""
    followed = are_tracked(found.first, order.followed)
    if known is None or name not in known:
        return followed
    return followed | known[name].are_known(found.first, found.last)


def unlistable(standing: Mapping[str, QueryRuns], order: Order) -> list[str]:
    """The queries of a failed drop order whose partial matches cannot be listed: they made it fail."""
    found = []
    for name in sorted(set(order.queries) & set(standing)):
        try:
            candidates(standing[name])
        except Exception:
            found.append(name)
    return found


def _spared(
    order: Order, name: str, found: Candidates, expected: Floats, goes: Flags, known: Mapping[str, Retained] | None
) -> Floats:
    """[n] weights of the dropped candidates that are retained (1 / chance), 0 for others. `expected` [n]: matches of
    each.
    """
    share = (known or {}).get(name, Retained()).share(order.exempt)
    alike = order.queries[name].random or order.evenly >= _MOSTLY
    chance = chances(expected[goes], share, alike=alike)
    taken = drawn(order.seed, name, found.first[goes]) < chance
    weight = np.zeros(len(found))
    weight[np.flatnonzero(goes)[taken]] = 1 / chance[taken]
    return weight


def _noted(found: Candidates, expected: Floats, clock: int, stays: Flags, weight: Floats, gone: Ints) -> RetainedRuns:
    until, same = clock + found.left[stays], alike(found.first, found.last, np.flatnonzero(stays))
    return RetainedRuns(found.first[stays], found.last[stays], until, expected[stays], weight[stays], same, gone)


def _expected(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    """[n] matches expected of each."""
    return worth.loss.at(found.state, _remaining(found, worth, runs)) * _lift(found, worth, runs)


def _remaining(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    """[n] events expected in what is left of each run's window."""
    remaining: Floats = found.left.astype(np.float64) * (1.0 if runs.plan.window.events else worth.per_ms)
    return remaining


def _lift(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    """[n] the learned lift of each candidate's expected matches, by its state and age."""
    if not len(worth.lift):
        return np.ones(len(found))
    age = ages(found.left, found.waited, found.matched, runs.plan.window.size)
    own: Floats = worth.lift[np.minimum(found.state, len(worth.lift) - 1), age]
    return own


def utilities(found: Candidates, worth: Worth, runs: QueryRuns) -> Floats:
    """[n] by which candidates of a query go, the least first."""
    if worth.random:
        return _hashed(found, worth.seed)
    return worth.utility.at(found.state, _remaining(found, worth, runs)) * _lift(found, worth, runs)


def _hashed(found: Candidates, seed: int) -> Floats:
    """[n] a number for each, the same at every order."""
    numbers: Floats = unit(hashes_of(np.stack([found.first, found.state, found.rank]), (seed + GOLDEN) % 2**64))
    return numbers
