"""Overlapping windows that do not each keep a count of every event: for which aggregate queries (T5)."""

from __future__ import annotations

from saffron.language.plan.plan import Strategy, TrendPlan

WORTH = 4
"""From how many windows for each row of a pane's matrix on panes are faster than windows each by itself."""


def shares_panes(plan: TrendPlan) -> bool:
    """Whether what an event adds is kept once for all windows, pane by pane (engine/trends/kernels/panes.py).

    What an event does to the counts must be linear in them, and the same in each of its windows: no condition on
    adjacent events, skip-till-any-match, no NOT, no AND, no TIME STRICT; and there must be windows enough.
    """
    window, template = plan.window, plan.template
    if window.slide is None or plan.strict or plan.sides or plan.negatives:
        return False
    free = all(not link.conditions and not link.ends and link.strategy is Strategy.ANY for link in template.transitions)
    return free and -(-window.size // window.slide) >= WORTH * (len(template.states) + 1)
