"""The shedding properties of a query's record: its means, the weight of its matches, and whether it aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.engine.match.planning.flat_or_table import flat_states, walks_table
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.containment import is_of_query
from saffron.engine.shed.drops.shedders import AUTOMATIC, EXEMPT, SHEDDERS, PartialOrder, Shedder
from saffron.language import bind
from saffron.language.cost.shedding import has_partial_matches
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.plan import Plan
from saffron.records.query import shedder_of


@dataclass(frozen=True)
class Traits:
    """The properties of a query that shedding depends on.

    `shedder`: the one that its record names. `weight`: its WEIGHT, 1 without. `aggregate`: whether its results are
    sums, which dropped events make wrong rather than fewer. `slide`: of its windows, in positions if `counts`, else in
    ms; None if windows begin with events. `replaces`: whether a false match may be found in place of one that lost an
    event. `partial`: whether an order can drop its partial matches; for other queries, readers count stored events
    (`cost.shedding`). `window`: the window's size. `states`: number of states of its transition model, if the text
    determines it. None: not known.
    """

    shedder: Shedder = AUTOMATIC
    weight: float = 1.0
    aggregate: bool = False
    slide: int | None = None
    counts: bool = False
    replaces: bool = True
    partial: bool = True
    window: int | None = None
    states: int | None = None

    @property
    def by(self) -> Shedder:
        """The shedder that acts on the query.

        It is EXEMPT for an aggregate query, unless one that drops events is named for it, and for a query without
        partial matches for which a shedder of partial matches is named.
        """
        if self.shedder.partial is None:
            return self.shedder
        exempt = self.aggregate or (not self.partial and not self.shedder.events)
        return EXEMPT if exempt else self.shedder

    @property
    def errors(self) -> float:
        """The number of errors of a match that loses an event: it is missed, and a substitute is false (G10)."""
        return 2.0 if self.replaces else 1.0

    @property
    def drops_events(self) -> bool:
        return bool(self.by.events)

    @property
    def partial_order(self) -> PartialOrder | None:
        """The order in which its partial matches go; None: they stay."""
        return self.by.partial if self.partial else None

    def misfit(self, model: TransitionModel) -> str:
        """The difference between a model and this query, as text; "" where none is known."""
        return "" if self.window is None else model.misfit(self.states, (self.window, self.counts))


def traits_of(record: Mapping[str, Any], shedders: Mapping[str, Shedder] = SHEDDERS) -> Traits:
    """The traits of a query, from its record (`text`, `shed`).

    A text that does not bind gives a query that is never shed.
    """
    shedder = shedders.get(shedder_of(record), AUTOMATIC)
    try:
        bound = bind(str(record["text"]), None, name=str(record["name"]), aggregates=frozenset(registered()))
    except Exception as error:  # windowing reports the error
        if not is_of_query(error):
            raise
        return Traits(shedder)
    plan, window = bound.plan, bound.plan.window
    return Traits(
        shedder,
        bound.weight,
        aggregate=not isinstance(plan, MatchPlan),
        slide=window.slide,
        counts=window.events,
        replaces=_replaces(plan),
        partial=has_partial_matches(plan),
        window=window.size,
        states=flat_states(plan) if isinstance(plan, MatchPlan) and not walks_table(plan) else None,
    )


def _replaces(plan: Plan) -> bool:
    """Not if all matches are found whatever else is: then those found without an event were to be found with it."""
    if not isinstance(plan, MatchPlan):
        return True
    chosen = {plan.strategy, *plan.begins, *plan.continues} != {Strategy.ANY} or plan.output is not Output.ALL
    return chosen or bool(plan.consume or plan.absences)
