"""How long a query takes of an event that it is given: what it does not see for shedding takes next to nothing.

Measured is the time of blocks of which some events were masked. Taken as the time of all of them, a query that is shed
seems cheap, and another would be shed in its stead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.shed.load.fading import Fading
from saffron.engine.shed.load.pace import TELLING

_LEAST_NS = 1e-9


@dataclass
class Taken:
    """ns of an event, by query, of late."""

    _by_query: dict[str, Fading] = field(default_factory=dict)

    def measured(self, query: str, nanoseconds: float, seen: float, events: int, kept: float) -> None:
        """It took so long over so many events, of which it saw so many; of what was known before a share is `kept`."""
        if seen >= TELLING * events:
            self._by_query.setdefault(query, Fading()).add(nanoseconds, seen, kept=kept)

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        self._by_query.pop(query, None)

    def of(self, query: str) -> float:
        """The mean of others where it has told nothing yet, 1 of none."""
        known = self._by_query.get(query)
        if known is not None:
            return max(known.ratio, _LEAST_NS)
        others = [one.ratio for one in self._by_query.values()]
        return max(sum(others) / len(others), _LEAST_NS) if others else 1.0
