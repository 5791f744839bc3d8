"""What dropping has lost so far, as expected, of events and of partial matches together, and as a sample says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot, log2
from typing import Any

from saffron.engine.shed.event_losses import EventLosses, Extent

_WRONG_EVENTS, _WRONG_PARTIAL = 0.3, 0.25
"""By how much, relative, a promised loss is off: that of events, and that of partial matches, of which some are spared
to tell."""
_SURE = 2.0
"""Standard errors of a sample beyond which it is not chance by which it differs."""
_CLUMPED = 3.0
"""First events of a sample that stand or fall together, and count as one."""
_BESIDE = 0.02
"""Share of matches beside which losses of events are compared: what is small cannot be measured so well."""
_MOST_RATIO = 8.0


@dataclass
class _Measured:
    """What a reader's sample says: matches that were to be found, those missed of them, first events that they came of,
    and of these the sum of squared weights; matches that the reader found while it took a sample, and in all; since the
    first one. `told`: as the reader counts, which begins anew when it does."""

    sums: tuple[float, ...] = (0.0,) * 6
    told: tuple[float, ...] | None = None

    def heard(self, numbers: tuple[float, ...]) -> None:
        if self.told is None:
            self.told = numbers
        anew = any(now < before for now, before in zip(numbers, self.told, strict=True))
        grown = numbers if anew else tuple(now - before for now, before in zip(numbers, self.told, strict=True))
        self.sums = tuple(one + more for one, more in zip(self.sums, grown, strict=True))
        self.told = numbers

    def corrected(self, promised: float, wrong: float) -> float:
        """The share missed: both weighted by the inverse of their variance. What is promised may be off by `wrong`,
        relative, or by what it must be where chance alone would hardly have the two so far apart. A sample that covers
        only some of the time is mostly of times when much was dropped, and counts for less."""
        true, missed, begun, squares, compared, found = self.sums
        if true <= 0 or squares <= 0:
            return promised
        covered = min(1.0, compared / found) if found > 0 else 1.0
        seen = covered**2 * begun**2 / squares / _CLUMPED
        share = missed / true
        middle = (share + promised) / 2
        if middle <= 0 or seen <= 0:
            return promised
        drawn = middle * (1.0 - middle) / seen
        off = max((wrong * middle) ** 2, (share - promised) ** 2 - _SURE**2 * drawn)
        return promised + off / (off + drawn) * (share - promised)


@dataclass
class Losses:
    """By query."""

    _queries: dict[str, EventLosses] = field(default_factory=dict)
    _results: dict[str, tuple[float, float]] = field(default_factory=dict)
    _measured: dict[str, _Measured] = field(default_factory=dict)
    _ratios: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        block: tuple[int, int],
        contributed: Mapping[str, float],
        alive: Mapping[str, int],
        gone: Mapping[str, float],
        extents: Mapping[str, Extent],
    ) -> None:
        """A block of events [begin, end); `contributed`: what they contribute to each query's matches, in means of all
        events; `gone`: the part that goes, none where a query is not named; `extents`: of a query's matches, where they
        are known."""
        begin, end = block
        for query in contributed if end > begin else ():
            own = self._queries.setdefault(query, EventLosses())
            own.extent = extents.get(query, own.extent)
            own.add(block, contributed[query], alive.get(query, 0), gone.get(query, 0.0))

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        for known in (self._queries, self._results, self._measured, self._ratios):
            known.pop(query, None)

    def share(self, query: str) -> float:
        """Of its matches so far, the share that dropping events is expected to have lost; 0 before any event."""
        return self._queries[query].share if query in self._queries else 0.0

    def heard(self, load: Mapping[str, Any]) -> None:
        """A reader's load says which matches it `found` before which `position`, how many dropped partial matches cost,
        and what was missed of the `sampled`, by query."""
        compared = load.get("compared", {})
        for query, numbers in load.get("sampled", {}).items():
            counts = compared.get(query, 0), load.get("found", {}).get(query, 0)
            self._measured.setdefault(str(query), _Measured()).heard(tuple(map(float, (*numbers, *counts))))
        for query, ratio in load.get("loss_ratio", {}).items():
            self._ratios[str(query)] = float(ratio)
        found, loss, position = load.get("found"), load.get("loss"), load.get("position")
        if not isinstance(found, Mapping) or not isinstance(loss, Mapping):
            return
        for query, count in found.items():
            name = str(query)
            self._results[name] = float(count), float(loss.get(query, 0.0))
            if name in self._queries and type(position) is int:
                self._queries[name].heard(position, float(count))

    def missed(self, query: str) -> float:
        """Of its matches, the share that dropped events and dropped partial matches together are expected to lose."""
        events, partial = min(1.0, self.share(query)), 1.0 - self._kept(query)
        promised = 1.0 - (1.0 - events) * (1.0 - partial)
        off = hypot(_WRONG_EVENTS * events, _WRONG_PARTIAL * partial)
        wrong = off / (events + partial) if promised > 0 else _WRONG_EVENTS
        return self._measured.get(query, _Measured()).corrected(promised, wrong)

    def ratios(self, query: str) -> tuple[float, float]:
        """Matches that dropping lost for each one that models promised: of events, and of partial matches."""
        share, kept = self.share(query), self._kept(query)
        by_events = 1.0
        if kept > 0:
            lost = max(0.0, 1.0 - (1.0 - self.missed(query)) / kept)
            by_events = (lost + _BESIDE) / (share + _BESIDE)
        return _steps(by_events), _steps(self._ratios.get(query, 1.0))

    def _kept(self, query: str) -> float:
        """The share of its matches that dropped partial matches left."""
        found, loss = self._results.get(query, (0.0, 0.0))
        return found / (found + loss) if loss > 0 else 1.0


def _steps(ratio: float) -> float:
    """In steps, so that what rests on it seldom changes."""
    held = min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO)
    return float(2.0 ** (round(4 * log2(held)) / 4))
