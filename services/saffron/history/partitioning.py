"""The attributes by which a query's events can be partitioned over machines, from the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saffron.engine.operators.composition import reads
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.computed import Computed


@dataclass(frozen=True)
class Partitioning:
    """Events with equal values of `by` must be in one partition. `by` () puts all events into one, for a `reason`."""

    by: tuple[str, ...]
    reason: str = ""


def partitioning_of(plan: Plan, others: Sequence[Plan] = ()) -> Partitioning:
    """The partitioning of a plan's events that changes no result. `others`: plans of the queries beside it."""
    reason = _alone(plan, others)
    if reason:
        return Partitioning((), reason)
    return Partitioning(plan.key if isinstance(plan, MatchPlan) else plan.group)


def partitionings_of(plans: Sequence[Plan]) -> Mapping[str, Partitioning]:
    """Name -> partitioning, of plans that run beside each other."""
    return {plan.name: partitioning_of(plan, [one for one in plans if one is not plan]) for plan in plans}


def queries_by_key(partitionings: Mapping[str, Partitioning]) -> Mapping[tuple[str, ...], list[str]]:
    """Key attributes -> names of the queries that run in one engine.

    Queries that cannot be partitioned share one engine, so they can read each other's results.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for name, partitioning in partitionings.items():
        found.setdefault(partitioning.by, []).append(name)
    return found


def _alone(plan: Plan, others: Sequence[Plan]) -> str:
    """The reason why all events of a plan must be in one partition; "" without one."""
    if isinstance(plan, MatchPlan) and not plan.key:
        return "it has no [attribute] on which the events of a match agree"
    if isinstance(plan, TrendPlan) and not plan.group:
        return "it has no GROUP BY: one count is over all events"
    keys = plan.key if isinstance(plan, MatchPlan) else plan.group
    if computed := [attribute_shown(name) for name in keys if Computed.of_name(name) is not None]:
        return f"its key is computed, of several values of an attribute: {', '.join(computed)}"
    if Strategy.STRICT in _strategies(plan):
        return "strict-contiguity asks for neighbours among all events, whatever their key"
    if plan.window.opens is not None:
        return "its windows (OPEN ON) open at events of any key"
    if any(reads(plan, other) or reads(other, plan) for other in others):
        return "it is one of several queries that read each other's results (INTO)"
    return ""


def _strategies(plan: Plan) -> Iterable[Strategy]:
    """All strategies that a plan uses."""
    if isinstance(plan, MatchPlan):
        return (plan.strategy, *plan.begins, *plan.continues)
    templates = (plan.template, *plan.negatives, *plan.sides)
    return (plan.strategy, *(step.strategy for template in templates for step in template.transitions))
