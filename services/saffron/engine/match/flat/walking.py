"""Which plans run as a table that a kernel walks, whatever else is among their events; the others are flat."""

from __future__ import annotations

from saffron.engine.match.core.automaton import leaves
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.language.plan.plan import Aggregate, MatchPlan


def walks_table(plan: MatchPlan) -> bool:
    """Whether it is not flat, WITH TIMEOUTS, or asks conditions of a list by a function of the user's."""
    return plan.timeouts or not plan.flat or _uses_own_aggregates(plan)


def flat_states(plan: MatchPlan) -> int:
    """States of the transitions of a flat plan: nothing bound, then each component, the last being the match."""
    return len(plan.components) + 1


def _uses_own_aggregates(plan: MatchPlan) -> bool:
    found = (leaf for check in plan.checks for leaf in leaves(check.expr))
    return any(isinstance(leaf, Aggregate) and leaf.function not in BUILT_IN for leaf in found)
