"""Which aggregate queries one graph can serve: what a graph depends on, and what only reads it.

A graph follows from pattern, conditions, strategies, key, groups and windows. RETURN, HAVING, names of queries and of
variables only read it, so one graph with the aggregates of all of them answers them all. Windows of one length may
begin more or less often: the graph keeps those that begin most often, and each query reads its own, if that changes no
digit of what it would have alone. Other windows need graphs of their own: a vertex has an aggregate for each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from saffron.language.plan.plan import Plan, Template, TrendPlan
from saffron.language.trends.edge_index import Search
from saffron.language.trends.shared_panes import shares_panes
from saffron.language.trends.trend_graphs import trend_graphs

_FIELDS = {
    "stream": "another stream",
    "key": "another key",
    "group": "other groups",
    "strict": "another TIME",
    "exact": "only one is EXACT",
}


def united(one: TrendPlan, other: TrendPlan) -> TrendPlan | None:
    """The plan of a graph that serves what both plans serve, without RETURN; None where there is none."""
    if why_apart(one, other):
        return None
    slides = [plan.window.slide for plan in (one, other) if plan.window.slide is not None]
    window = replace(one.window, slide=min(slides)) if slides else one.window
    return replace(graph_of(one), aggregates=tuple(dict.fromkeys((*one.aggregates, *other.aggregates))), window=window)


def graph_of(plan: TrendPlan) -> TrendPlan:
    """The plan without what only reads its graph, but with its aggregates; plans of one graph differ in these alone."""
    components = tuple(replace(component, variable="") for component in plan.components)
    return replace(plan, name="", text="", components=components, returns=(), having=None)


def likeness(plan: TrendPlan) -> str:
    """The same text for plans that may share a graph, if their windows allow it."""
    window = replace(plan.window, slide=None)
    return repr(replace(graph_of(plan), aggregates=(), window=window))  # repr tells 1 from 1.0 and True


def why_apart(one: TrendPlan, other: TrendPlan) -> str:
    """Why no graph serves both; "" where one does."""
    for name, reason in _FIELDS.items():
        if getattr(one, name) != getattr(other, name):
            return reason
    if likeness(replace(one, window=other.window)) != likeness(other):
        return "another pattern" if _bare(one) != _bare(other) else "other conditions"
    return _windows_apart(one, other)


def sharing(plan: Plan, beside: Sequence[Plan]) -> str:
    """`one graph with a, b; not with c: other groups`, of other aggregate queries; "" where there are none."""
    others = [other for other in beside if isinstance(other, TrendPlan)]
    if not others or not isinstance(plan, TrendPlan):
        return ""
    reasons = {other.name: why_apart(plan, other) for other in others}
    together = ", ".join(name for name, reason in reasons.items() if not reason)
    apart = [f"not with {name}: {reason}" for name, reason in reasons.items() if reason]
    return "; ".join([f"one graph with {together}" if together else "a graph of its own", *apart])


def _windows_apart(one: TrendPlan, other: TrendPlan) -> str:
    first, second = one.window, other.window
    if replace(first, slide=None) != replace(second, slide=None):
        return "windows of another length or kind"
    if first.slide == second.slide:
        return ""
    assert first.slide is not None
    assert second.slide is not None
    low, high = sorted((first.slide, second.slide))
    if high % low:
        return "windows that begin at other times"
    return "" if in_order(one) and in_order(other) else "other windows: huge numbers would be rounded otherwise"


def in_order(plan: TrendPlan) -> bool:
    """Whether numbers of a window are added in the same order whatever other windows there are, or were."""
    return plan.exact or not (shares_panes(plan) or Search.TREE in trend_graphs(plan).searches)


def _bare(plan: TrendPlan) -> object:
    """The pattern and its strategies, without conditions."""

    def bare(template: Template) -> object:
        links = tuple(replace(link, conditions=()) for link in template.transitions)
        return template.states, links

    types = tuple(component.type for component in plan.components)
    return types, plan.strategy, tuple(map(bare, (plan.template, *plan.sides, *plan.negatives)))
