"""Which plans' runs merge (N7), and how their matches are read."""

from __future__ import annotations

from saffron.language.plan.merging import merging
from saffron.language.plan.plan import MatchPlan, Output


def mergeable(plan: MatchPlan) -> int | None:
    """The component of a flat plan in whose closure equivalent runs merge; None where they stay as they are."""
    return merging(plan).component


def deferring(plan: MatchPlan, component: int | None) -> bool:
    """Whether matches of runs merged in this component's closure are read off their trunk, as they end with the single
    event behind it. Others need chains of their own, to go on from or to be put in order when they have waited."""
    single = component is not None and component == len(plan.components) - 2 and not plan.components[-1].closure
    return single and plan.output is not Output.LONGEST
