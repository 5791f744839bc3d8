"""Queries of a replay under a bound of which its shedder can drop nothing."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.errors import InputError
from saffron.language.cost.shedding import AUTO, BY_EVENTS, NONE, cannot_act
from saffron.language.plan.plan import MatchPlan, Plan
from saffron.schema.schema import Schema


def exempt(plans: Sequence[Plan], schema: Schema, shedder: str, *, aggregates: bool) -> dict[str, str]:
    """Their names, and why. `aggregates`: aggregate queries may lose events where a shedder of events is named.

    InputError where a shedder is named that can act on none of the queries: the bound would break without a word.
    """
    if shedder == NONE:
        return {}
    reasons = {plan.name: _reason(plan, schema, shedder, aggregates) for plan in plans}
    found = {name: why for name, why in reasons.items() if why}
    if plans and len(found) == len(plans) and shedder != AUTO:
        raise InputError(f"nothing would be shed: {'; '.join(found.values())}")
    return found


def _reason(plan: Plan, schema: Schema, shedder: str, aggregates: bool) -> str:
    if isinstance(plan, MatchPlan):
        return cannot_act(plan, shedder, imprecise=bool(schema.times))
    if aggregates and shedder in BY_EVENTS:
        return ""
    able = ", ".join(BY_EVENTS)
    return (
        f"query {plan.name} aggregates: with --shed-aggregates a shedder of events can act on it, --shed one of {able}"
    )
