"""The test whether a match plan runs as a table of states that a kernel walks; other plans are flat."""

from __future__ import annotations

from saffron.engine.match.core.automaton import leaves
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.language.plan.expressions import Aggregate, Attribute, Scope, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy


def table_reason(plan: MatchPlan) -> str:
    """Why runs of a plan walk a table of states, whatever its events are; "" where they need not."""
    if reads_numbered(plan):
        return "conditions read b[n], an event of a list by its number, or an aggregate over b[..i]"
    if not plan.flat:
        return "the pattern is no plain row of events and closures under one strategy"
    if plan.timeouts:
        return "WITH TIMEOUTS a run is reported in whatever state its window ends"
    own = _own_aggregates(plan)
    return f"conditions ask {own[0]}, a function of the user's, of a list" if own else ""


def walks_table(plan: MatchPlan) -> bool:
    """True if runs of a plan walk a table of states, whatever its events are."""
    return bool(table_reason(plan))


def counts_events(plan: MatchPlan) -> bool:
    """True if the query asks which events stand next to each other."""
    return bool({Strategy.STRICT, Strategy.PARTITION} & {plan.strategy, *plan.begins, *plan.continues})


def reads_numbered(plan: MatchPlan) -> bool:
    """True if a condition reads b[n], or an aggregate over b[..i]."""
    found = [leaf for check in plan.checks for leaf in leaves(check.expr)]
    nth = any(isinstance(leaf, Attribute) and leaf.which is Which.NTH for leaf in found)
    return nth or any(isinstance(leaf, Aggregate) and leaf.scope is Scope.THROUGH for leaf in found)


def flat_states(plan: MatchPlan) -> int:
    """States of the transitions of a flat plan: nothing bound, then each component, the last being the match."""
    return len(plan.components) + 1


def _own_aggregates(plan: MatchPlan) -> list[str]:
    found = (leaf for check in plan.checks for leaf in leaves(check.expr))
    return [leaf.function for leaf in found if isinstance(leaf, Aggregate) and leaf.function not in BUILT_IN]
