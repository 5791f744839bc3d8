"""The knowledge behind a decision: queries in force, their costs, and the belief in their models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.belief.beliefs import Believed
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.shedders import EXEMPT, PartialOrder
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.load.detector import READER, Detector
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.losses.event_losses import EVENTS_A_MATCH
from saffron.engine.shed.losses.losses import Correction
from saffron.language.patterns.shapes import least_events
from saffron.language.plan.match_plan import MatchPlan

_AS_PROMISED = Correction()
"""The correction of a query whose losses were not measured."""


@dataclass(frozen=True)
class Queries:
    """The queries in force that are not paused, by name.

    `slots`: in `Columns.dropped` (-1: none). `models`: of transitions. `corrections`: measured losses beside promised
    ones, where they are known. `lengths`: events of a match (`length_of`), where they are known.
    """

    traits: Mapping[str, Traits]
    slots: Mapping[str, int]
    models: Mapping[str, TransitionModel]
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    lengths: Mapping[str, float] = field(default_factory=dict)

    @property
    def by_events(self) -> list[str]:
        """Names of the queries that may lose events."""
        return [name for name, own in self.traits.items() if own.drops_events and self.slots[name] >= 0]

    @property
    def by_partial(self) -> dict[str, PartialOrder]:
        """Names of the queries that may lose partial matches, with the order of dropping."""
        orders = {name: own.partial_order for name, own in self.traits.items()}
        return {name: order for name, order in orders.items() if order is not None}

    @property
    def at_all(self) -> list[str]:
        """Names of the queries that may lose anything, hence a whole backlog."""
        return [name for name, own in self.traits.items() if own.by is not EXEMPT and self.slots[name] >= 0]

    def length(self, name: str) -> float:
        """Events of a match."""
        return self.lengths.get(name, EVENTS_A_MATCH)

    def correction(self, name: str) -> Correction:
        """The measured losses of a query beside those that its models promise."""
        return self.corrections.get(name, _AS_PROMISED)


def length_of(events: EventModel | None, transitions: TransitionModel | None, plan: MatchPlan | None) -> float:
    """The number of events of a match: the observed mean, else the least number.

    The least number is far too low where a component repeats. It follows from the transitions, or from the plan.
    """
    if events is not None and events.length > 0:
        return events.length
    if transitions is not None:
        return float(transitions.length)
    return EVENTS_A_MATCH if plan is None else float(max(1, least_events(plan.pattern)))


@dataclass(frozen=True)
class Known:
    """The knowledge of one chain at one block. `costs`: shares of a reader's time, by reader and query. `believed`: by
    query."""

    settings: Overload
    detector: Detector
    events: EventDrops
    queries: Queries
    costs: Mapping[str, Mapping[str, float]]
    believed: Mapping[str, Believed]

    def of(self, reader: str, names: Iterable[str]) -> list[str]:
        """The names of the queries that this reader runs, out of `names`."""
        return [name for name in names if name in self.costs.get(reader, {})]

    def share(self, reader: str, names: Iterable[str]) -> float:
        """The share of the reader's time that these queries take."""
        costs = self.costs.get(reader, {})
        return min(1.0, sum(costs.get(name, 0.0) for name in names))

    def weight(self, name: str) -> float:
        """The weight of a query's matches beside those of others."""
        return self.settings.weights.get(name, self.queries.traits[name].weight)

    def worth(self, name: str) -> float:
        """The weight of a query's matches, times its matches an event where they are known."""
        model = self.events.models.get(name)
        rate = model.matches / model.observations if model is not None and model.observations else 1.0
        return self.weight(name) * rate

    def errors(self, name: str) -> float:
        """Errors for each match that dropped events lose (G10): 1 where no other match can take its place."""
        errors = self.queries.traits[name].errors
        return 1.0 + (errors - 1.0) * self.events.taking.replaced(name)

    def droppable(self) -> dict[str, PartialOrder]:
        """Queries of the matcher whose partial matches may go, of which some are alive, with their orders."""
        alive, orders = self.detector.partial_matches.get(READER, {}), self.queries.by_partial
        return {name: orders[name] for name in self.of(READER, orders) if alive.get(name, 0) > 0}

    @property
    def within(self) -> int:
        """Partial matches of the mean cost that take as long as all that may go."""
        return round(self.detector.alive_of(READER) * self.share(READER, self.droppable()))


def known_of(
    settings: Overload, detector: Detector, events: EventDrops, queries: Queries, believed: Mapping[str, Believed]
) -> Known:
    """The knowledge behind a decision. Before any reader reports, all queries count as the matcher's, at equal cost."""
    if readers := detector.readers:
        costs = {reader: detector.costs(reader, queries.traits) for reader in readers}
    else:
        costs = {READER: dict.fromkeys(queries.traits, 1 / max(1, len(queries.traits)))}
    return Known(settings, detector, events, queries, costs, believed)
