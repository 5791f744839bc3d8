"""Which plans have their matches in a graph: those of whose conditions each reads few values of a path (X3, X4)."""

from __future__ import annotations

from saffron.engine.match.compressed.slots import Slots
from saffron.language.plan import MatchPlan, Strategy


def is_collapsible(plan: MatchPlan) -> bool:
    """Whether `compressed.build` takes the plan: flat, under skip-till-any-match, and no condition folds a closure into
    a sum, mean, deviation, or by a function of the user's.

    Without a closure there are no more runs than nodes: where these must hold slots, it is left to runs.
    """
    if not plan.flat or plan.strategy is not Strategy.ANY:
        return False
    slots = Slots(plan)
    return slots.possible and (not slots.most or any(component.closure for component in plan.components))
