"""Confidence of a match or prefix over imprecise time, from its own events (X2, X6; `match.uncertain` defines it).

Plain arrays: the weight of a prefix by the instant of its last event. An event in an order gives each of its instants
the weight of all earlier ones. Events without an order (`loose`) all happen after the prefix; the last of them decides
when all have happened. A window that can fail is asked for every instant at which a match can begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from saffron.engine.why.bindings import Span
from saffron.errors import InputError
from saffron.schema.schema import Distribution

Floats = NDArray[np.float64]

MOST_STEPS = 200_000_000
"""Instants times instants that one confidence may look at."""
_NOISE = 1e-15  # of a difference of two sums


@dataclass(frozen=True)
class Instants:
    """A distribution over instants. `weights` [n]: of lo, lo + 1, ..."""

    lo: int
    weights: Floats

    @property
    def hi(self) -> int:
        return self.lo + len(self.weights) - 1

    def within(self, low: int, high: int) -> Instants:
        """The part of the distribution from low to high, both included."""
        begin = max(low, self.lo)
        return Instants(begin, self.weights[begin - self.lo : max(high - self.lo + 1, 0)])

    def before(self, times: NDArray[np.int64]) -> Floats:
        """[n] the weight of all instants at or before these."""
        summed = np.concatenate([[0.0], np.cumsum(self.weights)])
        found: Floats = summed[np.clip(times - self.lo + 1, 0, len(self.weights))]
        return found


Parts = Sequence[Sequence[Instants]]


@lru_cache(maxsize=4096)
def instants_of(span: Span) -> Instants:
    """An event's time."""
    n = span.hi - span.lo + 1
    parts = np.arange(n + 1) / n
    return Instants(span.lo, np.diff(_below(span.law, parts)))


def _below(law: Distribution, part: Floats) -> Floats:
    """The cumulative distribution: the weight in the first `part` (0 to 1) of an interval."""
    if law == "uniform":
        return part
    if law == "triangular":
        return np.where(part <= 0.5, 2 * part**2, 1 - 2 * (1 - part) ** 2)
    assert not isinstance(law, str)
    bars = np.array([0.0, *accumulate(law)])
    found: Floats = np.interp(part, np.arange(len(bars)) / len(law), bars / bars[-1])
    return found


def chance(
    parts: Sequence[Sequence[Span]], loose: Sequence[bool], within: int, window: tuple[int, int] | None
) -> float:
    """The probability that the events' times fit. `parts`: by component, none empty, in the order of the match.

    `loose`: components whose events have no order. `within`: largest last - first, where `window` is None; `window`:
    [low, high) that holds all. InputError: intervals too long to look at every instant.
    """
    times = [[instants_of(span) for span in part] for part in parts]
    if window is not None:
        return _through(_cut(times, window[0], window[1] - 1), loose)
    every = [one for part in times for one in part]
    if max(one.hi for one in every) - min(one.lo for one in every) <= within:
        return _through(times, loose)
    first, rest = times[0], times[1:]
    if loose[0]:
        return sum(_by_minimum(first, rest, loose, within))
    begun, later = first[0], first[1:]
    _bounded(len(begun.weights) * sum(len(one.weights) for one in every))
    total = 0.0
    for x in range(begun.lo, begun.hi + 1):
        ahead = _cut([later, *rest], x, x + within)
        total += _through([[begun.within(x, x), *ahead[0]], *ahead[1:]], loose)
    return total


def _by_minimum(first: Sequence[Instants], rest: Parts, loose: Sequence[bool], within: int) -> Iterator[float]:
    """The terms of the probability, by the instant of the first of several unordered events.

    A term is the weight of 'none before the instant', less that of 'none at or before it'.
    """
    low, high = min(one.lo for one in first), min(one.hi for one in first)
    _bounded((high - low + 1) * sum(len(one.weights) for part in (first, *rest) for one in part))
    for x in range(low, high + 1):
        ahead = _cut(rest, x, x + within)
        from_x, beyond = (_cut([first], begin, x + within) for begin in (x, x + 1))
        here = _through([*from_x, *ahead], loose) - _through([*beyond, *ahead], loose)
        yield here if here > _NOISE else 0.0


def _cut(parts: Parts, low: int, high: int) -> list[list[Instants]]:
    return [[one.within(low, high) for one in part] for part in parts]


def _through(parts: Parts, loose: Sequence[bool]) -> float:
    """The weight of all times that are in order."""
    last: Instants | None = None
    for part, free in zip(parts, loose, strict=False):
        if not all(len(one.weights) for one in part):
            return 0.0
        if free:
            last = _all_after(last, part)
        else:
            for one in part:
                last = one if last is None else _after(last, one)
    return 0.0 if last is None else float(last.weights.sum())


def _after(last: Instants, one: Instants) -> Instants:
    return Instants(one.lo, one.weights * last.before(np.arange(one.lo - 1, one.hi)))


def _all_after(last: Instants | None, part: Sequence[Instants]) -> Instants:
    """The weight by the instant at which all events of a `loose` part have happened, each of them after `last`.

    `last`: of the parts before it; None: there are none. InputError: the intervals are too long.
    """
    low, high = min(one.lo for one in part), max(one.hi for one in part)
    times = np.arange(low, high + 1)
    upto = [one.before(times) for one in part]
    if last is None:
        return Instants(low, np.diff(np.prod(upto, axis=0), prepend=0.0))
    early = last.within(last.lo, low - 1).weights.sum()
    together = early * np.prod(upto, axis=0)
    reached = last.within(low, high)
    _bounded(len(reached.weights) * len(times))
    for number in np.flatnonzero(reached.weights).tolist():
        s = reached.lo + number
        ahead = [np.maximum(own - own[s - low], 0.0) for own in upto]
        together = together + reached.weights[number] * np.prod(ahead, axis=0)
    return Instants(low, np.maximum(np.diff(together, prepend=0.0), 0.0))


def _bounded(steps: int) -> None:
    if steps > MOST_STEPS:
        raise InputError("the intervals of time are too long to explain: every instant of them would be looked at")
