"""What dropping has lost so far, and what it let be found that is none: as expected, of events and of partial matches
together, and as a sample says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import hypot, log2
from types import MappingProxyType
from typing import Any

from saffron.engine.shed.losses.event_losses import EventLosses, Extent
from saffron.engine.shed.losses.expected import Expected
from saffron.engine.shed.losses.measured import Measured

_WRONG_EVENTS, _WRONG_PARTIAL = 0.3, 0.25
"""By how much, relative, a promised loss is off: that of events, and that of partial matches, of which some are spared
to tell."""
_WRONG_FALSE = 2.0
"""The same of promised false matches: of NOTs at most so many are to be expected, and of what takes the stead of what
was lost nothing is promised."""
_BESIDE = 0.02
"""Share of matches beside which losses of events are compared: what is small cannot be measured so well."""
_MOST_RATIO = 8.0
_GRAIN = 16
"""`Correction.at_random` is rounded to 1/16: less than half of that is not told from chance."""


@dataclass(frozen=True)
class Correction:
    """What was measured of promised losses. `events`, `partial`: matches lost to dropped events, and with dropped
    partial matches, for each one promised. More than promised is not a matter of scale where events are concerned: of
    those that are promised to be worth nothing any multiple is nothing. `at_random`: how far (0 to 1) what was lost to
    them lies between the promise and what would be lost if any event were as good as any other."""

    events: float = 1.0
    partial: float = 1.0
    at_random: float = 0.0


@dataclass
class Losses:
    """By query. `_results`: matches found, and lost with partial matches, as the reader counts; `_found`: found in all;
    `_lost_before`: lost as it had counted before it began again."""

    _queries: dict[str, EventLosses] = field(default_factory=dict)
    _too_many: dict[str, tuple[float, float]] = field(default_factory=dict)
    _results: dict[str, tuple[float, float]] = field(default_factory=dict)
    _found: dict[str, float] = field(default_factory=dict)
    _lost_before: dict[str, float] = field(default_factory=dict)
    _measured: dict[str, Measured] = field(default_factory=dict)
    _ratios: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        block: tuple[int, int],
        contributed: Mapping[str, float],
        alive: Mapping[str, int],
        gone: Mapping[str, float],
        extents: Mapping[str, Extent],
        masked: Mapping[str, float],
        promised: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """A block of events [begin, end); `contributed`: what they contribute to each query's matches, in means of all
        events; `gone`: the part that goes, `masked`: the share of events, none where a query is not named; `extents`:
        of a query's matches, where they are known; `promised`: the part that the choice of means counted with, as much
        as goes where a query is not named."""
        begin, end = block
        for query in contributed if end > begin else ():
            own = self._queries.setdefault(query, EventLosses())
            own.extent = extents.get(query, own.extent)
            parts = gone.get(query, 0.0), masked.get(query, 0.0), promised.get(query)
            own.add(block, contributed[query], alive.get(query, 0), *parts)

    def let_on(self, contributed: Mapping[str, float], false: Mapping[str, float]) -> None:
        """Of the same block: by query the matches too many that models expect for each true one, none where a query is
        not named."""
        for query, weight in contributed.items():
            sums = self._too_many.get(query, (0.0, 0.0))
            self._too_many[query] = sums[0] + weight * false.get(query, 0.0), sums[1] + weight

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        for known in (
            self._queries, self._too_many, self._results, self._found, self._lost_before, self._measured, self._ratios
        ):  # fmt: skip
            known.pop(query, None)

    def share(self, query: str) -> float:
        """Of its matches so far, the share that dropping events is expected to have lost; 0 before any event."""
        return self._queries[query].share if query in self._queries else 0.0

    def heard(self, load: Mapping[str, Any]) -> None:
        """A reader's load says which matches it `found` before which `position`, how many dropped partial matches cost,
        and what was missed of the `sampled`, and `false` of these, by query."""
        beside = [load.get(name, {}) for name in ("false", "compared", "found")]
        for query, numbers in load.get("sampled", {}).items():
            counts = [by_query.get(query, 0) for by_query in beside]
            self._measured.setdefault(str(query), Measured()).heard(tuple(map(float, (*numbers, *counts))))
        for query, ratio in load.get("loss_ratio", {}).items():
            self._ratios[str(query)] = float(ratio)
        found, loss, position = load.get("found"), load.get("loss"), load.get("position")
        if not isinstance(found, Mapping) or not isinstance(loss, Mapping):
            return
        for query, count in found.items():
            name = str(query)
            before, lost = self._results.get(name, (0.0, 0.0))
            begins_again = count < before
            self._found[name] = self._found.get(name, 0.0) + (count if begins_again else count - before)
            self._lost_before[name] = self._lost_before.get(name, 0.0) + (lost if begins_again else 0.0)
            self._results[name] = float(count), float(loss.get(query, 0.0))
            if name in self._queries and type(position) is int:
                self._queries[name].heard(position, float(count))

    def missed(self, query: str) -> float:
        """Of its matches, the share that dropped events and dropped partial matches together are expected to lose."""
        events, partial = min(1.0, self.share(query)), 1.0 - self._kept(query)
        promised = 1.0 - (1.0 - events) * (1.0 - partial)
        off = hypot(_WRONG_EVENTS * events, _WRONG_PARTIAL * partial)
        wrong = off / (events + partial) if promised > 0 else _WRONG_EVENTS
        return self._measured.get(query, Measured()).missed(promised, wrong)

    def false(self, query: str) -> float:
        """Of what was found, the share that is none, and would not be found if nothing had been dropped."""
        too_many, weight = self._too_many.get(query, (0.0, 0.0))
        each = too_many / weight if weight > 0 else 0.0
        promised = each / (1.0 - self.missed(query) + each) if each > 0 else 0.0
        return self._measured.get(query, Measured()).false(promised, _WRONG_FALSE)

    def expected(self, query: str) -> Expected:
        """The matches behind both shares: since the first event, or the query's version."""
        return Expected.of(self._found.get(query, 0.0), self.missed(query), self.false(query))

    def correction(self, query: str) -> Correction:
        """What was measured beside what models promised."""
        kept = self._kept(query)
        share = self._queries[query].promised if query in self._queries else 0.0
        lost = max(0.0, 1.0 - (1.0 - self.missed(query)) / kept) if kept > 0 else share
        by_events = _steps(min(1.0, (lost + _BESIDE) / (share + _BESIDE)))
        most = self._queries[query].at_random - share if query in self._queries else 0.0
        at_random = min(1.0, max(0.0, lost - share) / most) if most > 0 else 0.0
        return Correction(by_events, _steps(self._ratios.get(query, 1.0)), round(_GRAIN * at_random) / _GRAIN)

    def _kept(self, query: str) -> float:
        """The share of its matches that dropped partial matches left."""
        _, now = self._results.get(query, (0.0, 0.0))
        found, lost = self._found.get(query, 0.0), self._lost_before.get(query, 0.0) + now
        return found / (found + lost) if lost > 0 else 1.0


def _steps(ratio: float) -> float:
    """In steps, so that what rests on it seldom changes."""
    held = min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO)
    return float(2.0 ** (round(4 * log2(held)) / 4))
