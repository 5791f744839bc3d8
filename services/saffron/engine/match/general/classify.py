"""What an event can be to a general query: a bit for each component."""

from __future__ import annotations

from collections.abc import Mapping

from saffron.engine.match.core.classify import OPENS, opening_test
from saffron.engine.match.general.automaton import GeneralAutomaton
from saffron.language.plan.plan import Expr, MatchPlan


def component_masks(plan: MatchPlan) -> Mapping[str, int]:
    """Event type -> the bits that its events have before any condition is asked."""
    masks: dict[str, int] = {}
    for index, component in enumerate(plan.components):
        masks[component.type] = masks.get(component.type, 0) | (1 << index)
    if plan.window.opens is not None:
        masks[plan.window.opens.type] = masks.get(plan.window.opens.type, 0) | OPENS
    return masks


def component_tests(automaton: GeneralAutomaton) -> Mapping[int, list[Expr]]:
    """Bit -> the conditions that an event of the component must meet by itself."""
    tests = {1 << component: [one.expr for one in asked] for component, asked in automaton.local.items()}
    return tests | opening_test(automaton.plan)
