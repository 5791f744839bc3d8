"""Queries of a replay under a bound of which its shedder can drop nothing."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.shed.drops.shedders import Shedder
from saffron.errors import InputError
from saffron.language.cost.shedders import AUTO, BY_EVENTS, NONE
from saffron.language.cost.shedding import lacks_partial_matches
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.schema.schema import Schema


def exempt(plans: Sequence[Plan], schema: Schema, shedder: Shedder, *, aggregates: bool) -> dict[str, str]:
    """Their names, and why. `aggregates`: aggregate queries may lose events where a shedder of events is named.

    InputError where a shedder is named that can act on none of the queries: the bound would break without a word.
    """
    if shedder.name == NONE:
        return {}
    reasons = {plan.name: _reason(plan, schema, shedder, aggregates) for plan in plans}
    found = {name: why for name, why in reasons.items() if why}
    if plans and len(found) == len(plans) and shedder.name != AUTO:
        raise InputError(f"nothing would be shed: {'; '.join(found.values())}")
    return found


def _reason(plan: Plan, schema: Schema, shedder: Shedder, aggregates: bool) -> str:
    if isinstance(plan, MatchPlan):
        return "" if shedder.events else lacks_partial_matches(plan, shedder.name, imprecise=bool(schema.times))
    if aggregates and shedder.partial is None:
        return ""
    able = ", ".join(BY_EVENTS)
    return (
        f"query {plan.name} aggregates: with --shed-aggregates a shedder of events can act on it, --shed one of {able}"
    )
