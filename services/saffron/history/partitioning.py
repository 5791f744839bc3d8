"""By what a query's events may be spread over machines: the rule, from the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saffron.engine.operators.composition import reads
from saffron.language.plan.plan import MatchPlan, Plan, Strategy, TrendPlan


@dataclass(frozen=True)
class Spread:
    """Events that agree on `by` must be together; of an empty `by` all events must, for the `reason` given."""

    by: tuple[str, ...]
    reason: str = ""


def spread_of(plan: Plan, others: Sequence[Plan] = ()) -> Spread:
    """How the plan's events may be spread so that no result changes. `others`: the plans asked beside it."""
    reason = _alone(plan, others)
    if reason:
        return Spread((), reason)
    return Spread(plan.key if isinstance(plan, MatchPlan) else plan.group)


def spreads_of(plans: Sequence[Plan]) -> Mapping[str, Spread]:
    """Of each plan by its name, each beside the others."""
    return {plan.name: spread_of(plan, [one for one in plans if one is not plan]) for plan in plans}


def together(spreads: Mapping[str, Spread]) -> Mapping[tuple[str, ...], list[str]]:
    """Names of the queries that go through one engine, by what their events are spread by: those whose events are all
    in one place do, so that whoever reads another's results has them."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, spread in spreads.items():
        found.setdefault(spread.by, []).append(name)
    return found


def _alone(plan: Plan, others: Sequence[Plan]) -> str:
    """Why all events must be in one place, or ""."""
    if isinstance(plan, MatchPlan) and not plan.key:
        return "it has no [attribute] on which the events of a match agree"
    if isinstance(plan, TrendPlan) and not plan.group:
        return "it has no GROUP BY: one count is over all events"
    if Strategy.STRICT in _strategies(plan):
        return "strict-contiguity asks for neighbours among all events, whatever their key"
    if plan.window.opens is not None:
        return "its windows (OPEN ON) open at events of any key"
    if any(reads(plan, other) or reads(other, plan) for other in others):
        return "it is one of several queries that read each other's results (INTO)"
    return ""


def _strategies(plan: Plan) -> Iterable[Strategy]:
    if isinstance(plan, MatchPlan):
        return (plan.strategy, *plan.begins, *plan.continues)
    templates = (plan.template, *plan.negatives, *plan.sides)
    return (plan.strategy, *(step.strategy for template in templates for step in template.transitions))
