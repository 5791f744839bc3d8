"""The decision whether overlapping windows share the counts of their panes (T5)."""

from __future__ import annotations

from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import TrendPlan

WORTH = 4
"""The number of windows, for each row of a pane's matrix, from which panes are faster than separate windows."""


def shares_panes(plan: TrendPlan) -> bool:
    """True if counts are kept once by pane instead of once by window (engine/trends/kernels/panes.py).

    The effect of an event on the counts must be linear, and the same in each of its windows. So there must be no
    condition on adjacent events, no NOT, AND or TIME STRICT, and skip-till-any-match; and enough windows to pay off.
    """
    window, template = plan.window, plan.template
    if window.overlapping is None or plan.strict or plan.sides or plan.negatives:
        return False
    free = all(not link.conditions and not link.ends and link.strategy is Strategy.ANY for link in template.transitions)
    return free and window.overlapping >= WORTH * (len(template.states) + 1)
