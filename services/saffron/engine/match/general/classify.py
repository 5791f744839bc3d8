"""The classification of events for a general query: a bit for each component that an event can be."""

from __future__ import annotations

from collections.abc import Mapping

from saffron.engine.match.core.classify import TypeMasks, masks_of, opening_test
from saffron.engine.match.general.automaton import GeneralAutomaton
from saffron.language.plan.expressions import Expr
from saffron.language.plan.match_plan import MatchPlan


def component_masks(plan: MatchPlan) -> TypeMasks:
    """The masks of a general plan."""
    return masks_of(plan, [1 << index for index in range(len(plan.components))])


def component_tests(automaton: GeneralAutomaton) -> Mapping[int, list[Expr]]:
    """Bit -> the conditions that an event of the component must meet by itself."""
    tests = {1 << component: [one.expr for one in asked] for component, asked in automaton.local.items()}
    return tests | opening_test(automaton.plan)
