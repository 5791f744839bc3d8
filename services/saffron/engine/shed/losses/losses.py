"""The estimated losses of a chain, true matches missed and false ones found, from a sample and from models."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from math import hypot, log2
from types import MappingProxyType
from typing import Any

from saffron.engine.shed.losses.event_losses import EventLosses, Extent
from saffron.engine.shed.losses.expected import Expected
from saffron.engine.shed.losses.measured import Measured

_WRONG_EVENTS, _WRONG_PARTIAL = 0.3, 0.25
"""Relative errors of promised losses: of events, and of partial matches, which retained ones measure."""
_WRONG_FALSE = 2.0
"""The relative error of promised false matches: the most that NOTs let pass, without substitutes of lost matches."""
_BESIDE = 0.02
"""The share of matches added to losses before they are compared: small losses are measured badly."""
_MOST_RATIO = 8.0
_GRAIN = 16
"""`Correction.at_random` is rounded to 1/16: less than half of that may be chance."""


@dataclass(frozen=True)
class Correction:
    """Ratios of measured to promised losses.

    `events`, `partial`: matches lost to dropped events, and with dropped partial matches, for each one promised.
    `events` is at most 1: no multiple mends a promise of no loss. Greater losses are in `at_random`, 0 to 1: the place
    of the measured loss between the promise and the loss of random dropping.
    """

    events: float = 1.0
    partial: float = 1.0
    at_random: float = 0.0


@dataclass
class _Query:
    """The sums of one query.

    `events`: None before any event. `too_many`: matches that models expect too many, and the matches among which they
    expect them. `reported`: the reader's last counts of matches found, and of matches lost with partial matches, which
    restart with the reader; None before its first report. `found`, `lost`: the same in all, since the shedder of this
    query began. `ratio`: matches that partial matches have lost for each one promised.
    """

    events: EventLosses | None = None
    too_many: tuple[float, float] = (0.0, 0.0)
    reported: tuple[float, float] | None = None
    found: float = 0.0
    lost: float = 0.0
    measured: Measured = field(default_factory=Measured)
    ratio: float = 1.0

    @property
    def kept(self) -> float:
        """The share of its matches that dropped partial matches left."""
        return self.found / (self.found + self.lost) if self.lost > 0 else 1.0

    @property
    def missed(self) -> float:
        """The share of its matches that dropped events and dropped partial matches together are expected to lose."""
        events, partial = min(1.0, 0.0 if self.events is None else self.events.share), 1.0 - self.kept
        promised = 1.0 - (1.0 - events) * (1.0 - partial)
        off = hypot(_WRONG_EVENTS * events, _WRONG_PARTIAL * partial)
        wrong = off / (events + partial) if promised > 0 else _WRONG_EVENTS
        return self.measured.missed(promised, wrong)

    @property
    def false(self) -> float:
        """The share of its found matches that would not be found if nothing had been dropped."""
        too_many, weight = self.too_many
        each = too_many / weight if weight > 0 else 0.0
        promised = each / (1.0 - self.missed + each) if each > 0 else 0.0
        return self.measured.false(promised, _WRONG_FALSE)

    @property
    def correction(self) -> Correction:
        """The ratios of measured losses to those that models promised."""
        share, kept = 0.0 if self.events is None else self.events.promised, self.kept
        lost = max(0.0, 1.0 - (1.0 - self.missed) / kept) if kept > 0 else share
        by_events = _steps(min(1.0, (lost + _BESIDE) / (share + _BESIDE)))
        most = 0.0 if self.events is None else self.events.at_random - share
        at_random = min(1.0, max(0.0, lost - share) / most) if most > 0 else 0.0
        return Correction(by_events, _steps(self.ratio), round(_GRAIN * at_random) / _GRAIN)

    def counted(self, found: float, lost: float, position: object, *, earlier: bool) -> None:
        """Take the reader's counts: matches found before a position, and matches lost with partial matches.

        `earlier`: the reader may have counted before this shedder began, so that its first counts are only a base.
        """
        before = self.reported or ((found, lost) if earlier else (0.0, 0.0))
        if found < before[0]:
            before = 0.0, 0.0
        self.found += found - before[0]
        self.lost = max(0.0, self.lost + lost - before[1])
        self.reported = found, lost
        if self.events is not None and type(position) is int:
            self.events.heard(position, found)


@dataclass
class Losses:
    """The estimated losses of one chain, by query.

    A reader's sample of first events says what was missed and what is false (`measured`). Where the sample is small or
    missing, promises count: those of models for dropped events (`event_losses`), and the reader's estimate from
    retained partial matches (`loss` in its load).
    """

    _queries: dict[str, _Query] = field(default_factory=dict)

    def add(
        self,
        block: tuple[int, int],
        contributed: Mapping[str, float],
        alive: Mapping[str, int],
        gone: Mapping[str, float],
        extents: Mapping[str, Extent],
        fitting: Mapping[str, float],
        promised: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Add a block of events [begin, end), and its drops by query.

        A query without an entry loses nothing.

        `contributed`: contribution of the events to the query's matches, in means of all events. `alive`: number of
        partial matches. `gone`: the dropped part (0 to 1) of the contributions; `promised`: the same, as the choice of
        means assumed it. `extents`: of matches, where known. `fitting`: the share that goes of the
        events that the query can take.
        """
        begin, end = block
        for query in contributed if end > begin else ():
            own = self._of(query)
            own.events = own.events or EventLosses()
            own.events.extent = extents.get(query, own.events.extent)
            part, dropped = gone.get(query, 0.0), fitting.get(query, 0.0)
            own.events.add(block, contributed[query], alive.get(query, 0), part, dropped, promised.get(query))

    def let_on(self, contributed: Mapping[str, float], false: Mapping[str, float]) -> None:
        """Add the false matches that models expect of the same block, for each true match, by query; 0 without an
        entry."""
        for query, weight in contributed.items():
            own = self._of(query)
            too_many, whole = own.too_many
            own.too_many = too_many + weight * false.get(query, 0.0), whole + weight

    def forget(self, query: str) -> None:
        """Forget a query that is removed, or added again."""
        self._queries.pop(query, None)

    def heard(self, load: Mapping[str, Any], earlier: Container[str] = ()) -> None:
        """Take a reader's load report (schemas/load.yaml): the sums of its sample, and its matches found and lost,
        by query.

        `earlier`: the queries that were in force before this shedder began. What their readers counted until their
        first report here is not the loss of this shedder's drops.
        """
        beside = [load.get(name, {}) for name in ("false", "compared", "found")]
        for query, numbers in load.get("sampled", {}).items():
            counts = [by_query.get(query, 0) for by_query in beside]
            self._of(str(query)).measured.heard(tuple(map(float, (*numbers, *counts))))
        for query, ratio in load.get("loss_ratio", {}).items():
            self._of(str(query)).ratio = float(ratio)
        found, loss = load.get("found"), load.get("loss")
        if not isinstance(found, Mapping) or not isinstance(loss, Mapping):
            return
        for query, count in found.items():
            lost, before = float(loss.get(query, 0.0)), query in earlier
            self._of(str(query)).counted(float(count), lost, load.get("position"), earlier=before)

    def missed(self, query: str) -> float:
        """The share of a query's matches that dropped events and dropped partial matches are expected to lose."""
        return self._known(query).missed

    def false(self, query: str) -> float:
        """The share of a query's found matches that are expected to be false."""
        return self._known(query).false

    def expected(self, query: str) -> Expected:
        """The matches behind both shares: since this shedder began, or the query's version."""
        own = self._known(query)
        return Expected.of(own.found, own.missed, own.false)

    def correction(self, query: str) -> Correction:
        """The ratios of measured losses to those that models promised."""
        return self._known(query).correction

    def _of(self, query: str) -> _Query:
        return self._queries.setdefault(query, _Query())

    def _known(self, query: str) -> _Query:
        """The sums of a query; an unknown query has lost nothing."""
        return self._queries.get(query) or _Query()


def _steps(ratio: float) -> float:
    """A ratio rounded to steps of 2^(1/4), so that its dependents seldom change."""
    held = min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO)
    return float(2.0 ** (round(4 * log2(held)) / 4))
