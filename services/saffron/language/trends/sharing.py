"""The decision which aggregate queries can share one graph.

A graph depends on pattern, conditions, strategies, key, groups and windows. RETURN, HAVING, PUBLISH and names only read
it, so one graph with the aggregates of several queries serves them all. Windows of one length may have different
slides: the graph keeps those with the shortest slide, and each query reads its own, if that changes no digit of its
results. Other windows need graphs of their own, as a vertex has an aggregate for each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from saffron.language.plan.delivery import USUAL
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import Template, TrendPlan
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
    """The plan of a graph that serves both plans, without RETURN; None if they cannot share one."""
    if why_not_shared(one, other):
        return None
    slides = [plan.window.slide for plan in (one, other) if plan.window.slide is not None]
    window = replace(one.window, slide=min(slides)) if slides else one.window
    return replace(graph_of(one), aggregates=tuple(dict.fromkeys((*one.aggregates, *other.aggregates))), window=window)


def graph_of(plan: TrendPlan) -> TrendPlan:
    """The plan without names, RETURN, HAVING and PUBLISH.

    Plans that share a graph differ only in the remaining aggregates.
    """
    components = tuple(replace(component, variable="") for component in plan.components)
    return replace(plan, name="", text="", components=components, returns=(), having=None, delivery=USUAL)


def sharing_key(plan: TrendPlan) -> str:
    """A text that is equal for plans that may share a graph, if their windows allow it."""
    window = replace(plan.window, slide=None)
    return repr(replace(graph_of(plan), aggregates=(), window=window))  # repr distinguishes 1, 1.0 and True


def why_not_shared(one: TrendPlan, other: TrendPlan) -> str:
    """The reason why two plans cannot share a graph; "" if they can."""
    for name, reason in _FIELDS.items():
        if getattr(one, name) != getattr(other, name):
            return reason
    if sharing_key(replace(one, window=other.window)) != sharing_key(other):
        return "another pattern" if _bare(one) != _bare(other) else "other conditions"
    return _why_windows_differ(one, other)


def sharing(plan: Plan, beside: Sequence[Plan]) -> str:
    """`one graph with a, b; not with c: other groups`, for the aggregate queries `beside`; "" if there are none."""
    others = [other for other in beside if isinstance(other, TrendPlan)]
    if not others or not isinstance(plan, TrendPlan):
        return ""
    reasons = {other.name: why_not_shared(plan, other) for other in others}
    shared = ", ".join(name for name, reason in reasons.items() if not reason)
    others_own = [f"not with {name}: {reason}" for name, reason in reasons.items() if reason]
    return "; ".join([f"one graph with {shared}" if shared else "a graph of its own", *others_own])


def _why_windows_differ(one: TrendPlan, other: TrendPlan) -> str:
    """The reason why the windows of two plans need two graphs; "" if they do not."""
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
    """True if the order of additions in a window is independent of other windows, so that rounding is too."""
    return plan.exact or not (shares_panes(plan) or Search.TREE in trend_graphs(plan).searches)


def _bare(plan: TrendPlan) -> object:
    """The pattern with its strategies and without its conditions, for comparisons."""

    def bare(template: Template) -> object:
        links = tuple(replace(link, conditions=()) for link in template.transitions)
        return template.states, links

    types = tuple(component.types for component in plan.components)
    return types, plan.strategy, tuple(map(bare, (plan.template, *plan.sides, *plan.negatives)))
