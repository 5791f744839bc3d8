"""How long a query takes of an event that it is given: what it does not see for shedding takes next to nothing.

Measured is the time of blocks of which some events were masked. Taken as the time of all of them, a query that is shed
seems cheap, and another would be shed in its stead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.engine.shed.fading import Fading
from saffron.engine.shed.pace import MOST_BLOCKS, TELLING

_LEAST_NS = 1e-9


@dataclass
class Given:
    """Events that were forwarded, less those masked, and not yet reported to be done: (next_seq, by query)."""

    _ahead: deque[tuple[int, Mapping[str, float]]] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))

    def forwarded(self, next_seq: int, seen: Mapping[str, float]) -> None:
        """A block goes out that reaches to `next_seq`, of which each query sees so many events."""
        self._ahead.append((next_seq, seen))

    def done(self, position: int) -> dict[str, float]:
        """By query the events of blocks up to `position` that it saw, since the last call; of blocks that were not
        forwarded here nothing is known."""
        total: dict[str, float] = {}
        while self._ahead and self._ahead[0][0] <= position:
            for query, events in self._ahead.popleft()[1].items():
                total[query] = total.get(query, 0.0) + events
        return total


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
