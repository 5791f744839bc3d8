"""The processing time of an event by query, measured on blocks with masked events.

The time counts for the events that the query saw: a masked event takes next to nothing. Otherwise a query that is shed
would seem cheap, and another one would be shed instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.shed.load.fading import Fading
from saffron.engine.shed.load.pace import TELLING

_LEAST_NS = 1e-9


@dataclass
class Taken:
    """The recent ns of an event, by query."""

    _by_query: dict[str, Fading] = field(default_factory=dict)

    def measured(self, query: str, nanoseconds: float, seen: float, events: int, kept: float) -> None:
        """Add a measured time. `seen`: how many of the `events` were not masked.

        `kept`: the factor (0 to 1) of earlier sums.
        """
        if seen >= TELLING * events:
            self._by_query.setdefault(query, Fading()).add(nanoseconds, seen, kept=kept)

    def forget(self, query: str) -> None:
        """Forget a query that is removed, or added again."""
        self._by_query.pop(query, None)

    def of(self, query: str) -> float:
        """The ns of an event for a query: the mean of the other queries before it is measured, 1 without any."""
        known = self._by_query.get(query)
        if known is not None:
            return max(known.ratio, _LEAST_NS)
        others = [one.ratio for one in self._by_query.values()]
        return max(sum(others) / len(others), _LEAST_NS) if others else 1.0
