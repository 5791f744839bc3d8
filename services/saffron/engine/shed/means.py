"""The comparison of the two means of shedding, dropping events and partial matches, by their savings and losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.evenly import UNKNOWN
from saffron.engine.shed.drops.loss_curve import LossCurve
from saffron.engine.shed.drops.lossless import ENOUGH, LosslessShares
from saffron.engine.shed.drops.splits import Droppable, Splits
from saffron.engine.shed.drops.utility_tables import UtilityTables
from saffron.engine.shed.known import Known
from saffron.engine.shed.load.detector import READER

_LEAST_SHARE = 0.1
"""The least share of the time at which means are compared: curves of loss have points 1/64 apart, too few below it."""
_COARSE = 8
"""The step of a query's share of the time, about an eighth, at which means are compared again."""


@dataclass
class Means:
    """Curves, splits and lossless shares of one chain, kept while their inputs stay the same."""

    tables: UtilityTables
    _splits: Splits = field(default_factory=Splits)
    _lossless: dict[str, LosslessShares] = field(default_factory=dict)
    _curves: dict[str, LossCurve] = field(default_factory=dict)
    _follows: tuple[object, ...] = ()

    def use(self, known: Known) -> None:
        """Forget results of other models, costs, corrections or beliefs."""
        queries, events = known.queries, known.events
        self.tables.use(queries.models, {name: known.weight(name) for name in queries.traits})
        partial = ((name, one.query_version, one.version) for name, one in queries.models.items())
        learned = ((name, one.query_version, one.version) for name, one in events.models.items())
        costs = [round(_COARSE * cost) for own in known.costs.values() for cost in own.values()]
        measured = (*queries.corrections.items(), *known.believed.items(), *queries.lengths.items())
        evenly = ((events.even(name, own.by), known.errors(name)) for name, own in queries.traits.items())
        follows: tuple[object, ...] = (
            *partial, None, *learned, *measured, *queries.traits.items(), *costs, *evenly
        )  # fmt: skip
        if follows != self._follows:
            self._follows = follows
            self._curves.clear()
            self._splits.forget()
            self._lossless.clear()

    def split(self, known: Known, share: float) -> float:
        """The part (0 to 1) of the share to be saved that dropping events saves best, where both means are allowed."""
        self.use(known)
        return self._splits.split(
            max(_LEAST_SHARE, share), lambda: (self._candidates(known, READER), self._droppable(known))
        )

    def lossless(self, known: Known, reader: str, share: float) -> float:
        """The share of the reader's time that dropping events may save, without more loss than at this share.

        Where little is known it follows from what the queries cannot take. Baselines know of neither.
        """
        names = known.of(reader, known.queries.by_events)
        if not all(known.queries.traits[name].by.evenly for name in names):
            return share
        spare = sum(_spare_now(known, name) * known.costs[reader][name] for name in names)
        # Events that queries cannot take are worthless for certain, events that a model calls worthless by experience.
        if spare >= share or not all(_is_certain(known, name) for name in names):
            return max(share, spare)
        self.use(known)
        reach = known.share(reader, names)
        found = self._lossless.setdefault(reader, LosslessShares())
        return reach * found.share(min(1.0, share / reach), lambda: self._candidates(known, reader))

    def shares(self, known: Known, saved: Mapping[str, float]) -> dict[str, float]:
        """The share of events to drop of each query. `saved`: the share of its time that each reader is to save."""
        self.use(known)
        shares: dict[str, float] = {}
        for reader, share in saved.items():
            # Only what goes now depends on the last few events: all that is kept follows from the mean of many.
            candidates = {
                name: replace(one, spare=_spare_now(known, name))
                for name, one in self._candidates(known, reader).items()
            }
            shares |= allocate(candidates, min(1.0, share / sum(one.cost for one in candidates.values())))
        return shares

    def _droppable(self, known: Known) -> dict[str, Droppable]:
        """The matcher's queries whose partial matches may go, by name, as the split of both means compares them."""
        return {
            name: Droppable(
                self.tables.curve(name, order),
                known.worth(name),
                known.costs[READER][name],
                known.queries.correction(name).partial,
                known.believed[name].partial,
            )
            for name, order in known.droppable().items()
        }

    def _candidates(self, known: Known, reader: str) -> dict[str, Candidate]:
        """The reader's queries that may lose events, by name. `spare` is a mean of many events, not of the last few."""
        return {
            name: Candidate(
                self._curve(known, name),
                known.worth(name),
                known.costs[reader][name],
                known.queries.length(name),
                known.queries.correction(name).events,
                known.errors(name),
                self._not_begun(known, name),
                known.events.even(name, known.queries.traits[name].by).spare,
            )
            for name in known.of(reader, known.queries.by_events)
        }

    def _not_begun(self, known: Known, name: str) -> LossCurve | None:
        """The share of partial matches that do not begin, by the share of events that goes."""
        even = known.events.even(name, known.queries.traits[name].by)
        if even is UNKNOWN:
            return None
        learned = self._curve(known, name).of_each(known.queries.length(name))
        return even.not_begun.towards(learned, known.believed[name].events)

    def _curve(self, known: Known, name: str) -> LossCurve:
        """The loss curve of dropping a query's events, corrected by the measured losses of earlier promises."""
        if name not in self._curves:
            at_random = known.queries.correction(name).at_random
            self._curves[name] = promised(known, name).towards_random(at_random, known.queries.length(name))
        return self._curves[name]


def promised(known: Known, name: str) -> LossCurve:
    """The promised loss of dropping a query's events: by its model as far as it is believed, else by even dropping."""
    by = known.queries.traits[name].by
    length = known.queries.length(name)
    learned, evenly = known.events.curve(name, by, length), known.events.even(name, by).curve(length)
    return learned.towards(evenly, 1.0 - known.believed[name].events)


def _spare_now(known: Known, name: str) -> float:
    """The share of the last few events that go first, since the query cannot take them."""
    return known.events.spare_now(name, known.queries.traits[name].by)


def _is_certain(known: Known, name: str) -> bool:
    """True if enough matches taught the utilities of the query's events, and they are fully believed."""
    model = known.events.models.get(name)
    return model is not None and model.matches >= ENOUGH and known.believed[name].events == 1.0
