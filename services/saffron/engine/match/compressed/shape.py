"""Which plans have their matches in a graph: those whose conditions never look past the neighbouring event (X4)."""

from __future__ import annotations

from saffron.engine.match.automaton import Automaton, leaves
from saffron.language.plan import Attribute, Condition, Edge, MatchPlan, Strategy, Which


def is_collapsible(plan: MatchPlan) -> bool:
    """Whether any path of bindings that are pairwise allowed is a match: then `compressed.build` takes the plan.

    The pattern is flat and under skip-till-any-match; each condition reads the event being bound and the one bound
    just before it, or only one of both.
    """
    if not plan.flat or plan.strategy is not Strategy.ANY:
        return False
    automaton = Automaton(plan, ())
    return all(automaton.is_local(condition) or _pairwise(condition, plan) for condition in plan.conditions)


def _pairwise(condition: Condition, plan: MatchPlan) -> bool:
    return all(
        isinstance(leaf, Attribute) and (is_current(leaf, condition) or _is_neighbour(leaf, condition, plan))
        for leaf in leaves(condition.expr)
    )


def is_current(leaf: Attribute, condition: Condition) -> bool:
    """Whether it reads the event that the edge is being asked about, rather than the one before it."""
    if condition.edge is Edge.PROCEED or leaf.component != condition.component:
        return False
    return condition.edge is Edge.BEGIN or leaf.which is Which.CURRENT


def _is_neighbour(leaf: Attribute, condition: Condition, plan: MatchPlan) -> bool:
    if condition.edge is Edge.TAKE:
        return leaf.component == condition.component and leaf.which is Which.PREVIOUS and leaf.back == 1
    before = condition.component - (condition.edge is Edge.BEGIN)
    wanted = Which.LAST if plan.components[before].closure else Which.SINGLE
    return leaf.component == before and leaf.which is wanted
