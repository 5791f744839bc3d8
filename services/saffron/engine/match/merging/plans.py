"""The choice of the way to read matches of merged runs (N7)."""

from __future__ import annotations

from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan


def deferring(plan: MatchPlan, component: int | None) -> bool:
    """True if matches of runs merged in this component's closure are read off their trunk, as they end with the single
    event behind it. Others need chains of their own, to go on from or to be put in order when they have waited."""
    single = component is not None and component == len(plan.components) - 2 and not plan.components[-1].closure
    return single and plan.output is not Output.LONGEST
