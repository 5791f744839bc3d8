"""The share of events that can be dropped at no further loss, once there is a queue.

Load comes in bursts: at a load of 140 % most blocks have to lose a third of their events, and some nearly all. If half
of all events contribute to no match, time spent on such events earlier makes those blocks lose matches. So the share to
be dropped is raised as far as the loss does not grow: the queue stays short, and time is left for bursts. Nothing is
raised while hardly any events wait, or while too few matches were seen: before any match all events seem worthless.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor

from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.loss_curve import SHARES

LOST = 0.0005
"""The tolerated further loss, as a share of all matches by weight: a learned curve is hardly ever flat."""
ENOUGH = 100.0
"""The number of matches behind a model from which on events without a part in any match count as worthless."""
_STEPS = len(SHARES) - 1


@dataclass
class LosslessShares:
    """The greatest share at which no more is lost than at a given one, by steps of 1/64."""

    _known: dict[int, float] = field(default_factory=dict)

    def forget(self) -> None:
        """Forget all shares, as models have changed."""
        self._known.clear()

    def share(self, share: float, queries: Callable[[], Mapping[str, Candidate]]) -> float:
        """The greatest share without further loss, at least `share`. `queries`: those that may lose events."""
        place = floor(share * _STEPS)
        if place not in self._known:
            self._known[place] = lossless(place / _STEPS, queries())
        return max(share, self._known[place])


def lossless(share: float, queries: Mapping[str, Candidate]) -> float:
    """The greatest of `SHARES` whose loss exceeds that of `share` by at most `LOST`."""

    def lost(one: float) -> float:
        return sum(queries[name].worth * queries[name].lost(part) for name, part in allocate(queries, one).items())

    most = lost(share) + LOST * sum(query.worth for query in queries.values())
    return float(SHARES[bisect_right(SHARES.tolist(), most, key=lost) - 1])
