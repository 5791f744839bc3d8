"""What dropping events has lost so far, as expected: an average over blocks of the loss promised for each share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Losses:
    """By query. A block weighs as many matches as are due in it: its events times the partial matches that wait for
    them (and one, which every event may begin); more is dropped when there are many, and more matches too."""

    _lost: dict[str, float] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)
    _results: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, events: int, queries: Iterable[str], alive: Mapping[str, int], lost: Mapping[str, float]) -> None:
        """A block of so many events; `lost`: share of the matches of a query, none where it is not named."""
        for query in queries:
            due = events * (1.0 + alive.get(query, 0))
            self._due[query] = self._due.get(query, 0.0) + due
            self._lost[query] = self._lost.get(query, 0.0) + due * lost.get(query, 0.0)

    def share(self, query: str) -> float:
        """Of its matches so far, the share that is expected to be lost; 0 before any event."""
        return self._lost.get(query, 0.0) / self._due[query] if self._due.get(query) else 0.0

    def heard(self, load: Mapping[str, Any]) -> None:
        """A reader's load says which matches it `found`, and how many dropped partial matches cost, by query."""
        found, loss = load.get("found"), load.get("loss")
        if isinstance(found, Mapping) and isinstance(loss, Mapping):
            for query, count in found.items():
                self._results[str(query)] = float(count), float(loss.get(query, 0.0))

    def missed(self, query: str) -> float:
        """Of its matches, the share that dropped events and dropped partial matches together are expected to lose."""
        found, loss = self._results.get(query, (0.0, 0.0))
        kept = found / (found + loss) if loss > 0 else 1.0
        return 1.0 - (1.0 - min(1.0, self.share(query))) * kept
