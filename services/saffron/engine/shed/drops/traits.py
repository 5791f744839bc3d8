"""What a query's record says of shedding: by which means, how much its matches weigh, and whether it aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.engine.match.planning.table import flat_states, walks_table
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.containment import is_of_query
from saffron.language import bind
from saffron.language.cost.shedding import AUTO, BY_EVENTS, BY_PARTIAL_MATCHES, NONE, SHEDDERS, has_partial_matches
from saffron.language.plan.plan import MatchPlan, Output, Plan, Strategy


@dataclass(frozen=True)
class Traits:
    """`shedder`: of SHEDDERS, as its record asks. `weight`: WEIGHT of its text, 1 without. `aggregate`: whether its
    results are sums over what passes, which dropped events make wrong rather than fewer. `slide`: of its windows, None
    where they begin with events; of positions if `counts`, else ms. `replaces`: whether another match may be found,
    that is none, in the stead of one that lost an event. `partial`: whether it has partial matches that an order can
    drop; what readers count of others are stored events (`cost.shedding`). `window`: its size; `states`: of a model
    of its transitions, where the text alone says; None: not known."""

    shedder: str = AUTO
    weight: float = 1.0
    aggregate: bool = False
    slide: int | None = None
    counts: bool = False
    replaces: bool = True
    partial: bool = True
    window: int | None = None
    states: int | None = None

    @property
    def by(self) -> str:
        """The shedder that acts on it. An aggregate query is exempt unless one that drops events is named for it, and
        any query is if one of partial matches is named for it that has none."""
        exempt = self.aggregate or (not self.partial and self.shedder in BY_PARTIAL_MATCHES)
        return NONE if exempt and self.shedder not in BY_EVENTS else self.shedder

    @property
    def errors(self) -> float:
        """How many errors a match is that dropped events lose: it is missed, and its substitute is false (G10)."""
        return 2.0 if self.replaces else 1.0

    @property
    def drops_events(self) -> bool:
        return self.by in (AUTO, *BY_EVENTS)

    @property
    def drops_partial_matches(self) -> bool:
        return self.partial and self.by in (AUTO, *BY_PARTIAL_MATCHES)

    def misfit(self, model: TransitionModel) -> str:
        """How a model differs from one of this query; "" where nothing says that it is of another."""
        return "" if self.window is None else model.misfit(self.states, (self.window, self.counts))


def traits_of(record: Mapping[str, Any]) -> Traits:
    """Those of a query's record (`text`, `shed`). A text that does not bind is no query that could be shed."""
    asked = str(record.get("shed", AUTO))
    shedder = asked if asked in SHEDDERS else AUTO
    try:
        bound = bind(str(record["text"]), None, name=str(record["name"]), aggregates=frozenset(registered()))
    except Exception as error:  # windowing says what is wrong with it
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
