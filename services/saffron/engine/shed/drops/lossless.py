"""How many events may go for nothing, once there is a queue.

A plan follows the load, and the load comes in bursts: of an event stream at 140 % most blocks have to lose a third of
their events, and some nearly all. Where half of all events contribute to no match, those blocks lose matches for want
of time that was spent on such events before. So the share that is to go is raised as far as no more is lost: the queue
stays short, and time is left for the bursts. None go while hardly any wait, nor where too few matches were seen to know
what is worth nothing: of a query that has had none, all events seem to be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor

from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.loss_curve import SHARES

LOST = 0.0005
"""Of all matches, by weight: what may be lost more, since a curve that was learned is hardly ever flat."""
ENOUGH = 100.0
"""Matches that a model rests on, from which on it is believed that what has no part in any loses nothing."""
_STEPS = len(SHARES) - 1


@dataclass
class LosslessShares:
    """The greatest share at which no more is lost than at a given one, by steps of 1/64."""

    _known: dict[int, float] = field(default_factory=dict)

    def forget(self) -> None:
        """Models have changed."""
        self._known.clear()

    def share(self, share: float, queries: Callable[[], Mapping[str, Candidate]]) -> float:
        """Not below `share`; `queries`, those that may lose events, are asked for where it is not known yet."""
        place = floor(share * _STEPS)
        if place not in self._known:
            self._known[place] = lossless(place / _STEPS, queries())
        return max(share, self._known[place])


def lossless(share: float, queries: Mapping[str, Candidate]) -> float:
    """The greatest of `SHARES` at which no more than `LOST` is lost beyond what is at this one."""

    def lost(one: float) -> float:
        return sum(queries[name].worth * queries[name].lost(part) for name, part in allocate(queries, one).items())

    most = lost(share) + LOST * sum(query.worth for query in queries.values())
    return float(SHARES[bisect_right(SHARES.tolist(), most, key=lost) - 1])
