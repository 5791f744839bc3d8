"""The complexity of a query, from its plan alone (X7, table 3; N, corollary 4.3; T, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.cost.run_factors import run_factors
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends.edge_index import Search, edge_index
from saffron.language.trends.shared_panes import shares_panes
from saffron.language.trends.trend_graphs import TrendGraphs, trend_graphs


@dataclass(frozen=True)
class Complexity:
    """A complexity class. `name`: linear, linearithmic, polynomial or exponential.

    `bound`: in the number of events of a window and key. `reason`: a sentence.
    """

    name: str
    bound: str
    reason: str


def match_complexity(plan: MatchPlan) -> Complexity:
    """The number of runs as a function of W, the number of events of one window and key."""
    return _flat_complexity(plan) if plan.flat else _general_complexity(plan)


def _flat_complexity(plan: MatchPlan) -> Complexity:
    """The complexity of a flat plan, from its numbers of components and closures and its strategy."""
    length = len(plan.components)
    closures = sum(component.closure for component in plan.components)
    skipping = plan.strategy is Strategy.ANY
    if not closures and (not skipping or length == 1):
        why = "one event is looked for" if length == 1 else f"under {plan.strategy.value} a run never splits"
        return Complexity("linear", "O(W)", f"no Kleene closure, and {why}: at most one run for each first event")
    if not closures:
        reason = (
            f"{plan.strategy.value} may take or skip each event at each of {length} components, none a Kleene closure"
        )
        return Complexity("polynomial", _power(length), reason)
    if skipping:
        reason = f"{plan.strategy.value} may take or skip each event of a Kleene closure: every subset can be a match"
        return Complexity("exponential", _exponential(length - closures, closures), reason)
    states = length + closures
    reason = (
        f"a Kleene closure under {plan.strategy.value}: a run splits only where it leaves the closure; {states} states"
    )
    return Complexity("polynomial", _power(states), reason)


def _general_complexity(plan: MatchPlan) -> Complexity:
    """The complexity of any pattern, from its shape and the strategies of its steps."""
    found = run_factors(plan)
    if found.doubling and found.free:
        reason = "skip-till-any-match may take or skip each event of a repetition: every subset can be a match"
        return Complexity("exponential", _exponential(found.outside, found.doubling), reason)
    if found.doubling:
        reason = "a repeated group has a choice, an AND or a repetition inside: each iteration may split a run"
        return Complexity("exponential", _exponential(found.outside, found.doubling), reason)
    if found.loops:
        states = found.events + found.loops
        reason = f"repetitions under which a run splits only where it leaves one; {states} states"
        return Complexity("polynomial", _power(states), reason)
    if found.skipped:
        reason = (
            f"skip-till-any-match may take or skip each event at {found.skipped + 1} places, no repetition without end"
        )
        return Complexity("polynomial", _power(found.skipped + 1), reason)
    return Complexity(
        "linear", "O(W)", "no repetition, and no strategy that splits runs: some runs for each first event"
    )


def trend_complexity(plan: TrendPlan) -> Complexity:
    """The time as a function of n, the number of events of one window and key. Trends are never built one by one."""
    graphs = trend_graphs(plan)
    searches = set(graphs.searches)
    windows, shared = plan.window.overlapping, ""
    if windows != 1:
        shared = "; each event keeps an aggregate for each of its "
        shared += "windows, k of them" if windows is None else f"k = {windows} windows"
    if shares_panes(plan):
        shared = f"; its pane keeps that once for all {windows} windows, whose results are products of panes"
    k = "" if windows == 1 or shares_panes(plan) else "k "
    if Search.SCAN in searches:
        reason = f"{_why_scanned(graphs)}: each event is compared with those before"
        return Complexity("polynomial", f"O({k}n^2)", reason + shared)
    if Search.TREE in searches:
        reason = "each event finds its predecessors as a range of those before it, kept in order with their subtotals"
        return Complexity("linearithmic", f"O({k}n log n)", reason + shared)
    reason = "no condition on adjacent events: each event adds the running count of the states before it"
    if any(link.conditions for link in plan.template.transitions):
        reason = "each event has one predecessor to look at, or adds the running count of the states before it"
    return Complexity("linear", f"O({k}n)", reason + shared)


def _why_scanned(graphs: TrendGraphs) -> str:
    """Why a transition needs a scan: the first reason found that is not only due to another transition."""
    for number, step in enumerate(graphs.steps):
        if graphs.searches[number] is not Search.SCAN:
            continue
        if graphs.waits(number):
            return "under skip-till-next-match, events wait until they are taken, one by one"
        if step.transition.conditions and edge_index(step.transition).search is Search.SCAN:
            return "a condition on adjacent events that no order of them serves"
        if step.transition.conditions and step.negative is not None:
            return "a condition on adjacent events inside a NOT"
    return "a NOT of several events between two others"


def _power(exponent: int) -> str:
    return "O(W)" if exponent == 1 else f"O(W^{exponent})"


def _exponential(singles: int, closures: int) -> str:
    """O(W^singles 2^(closures W)): an event for each single component, a subset of W for each closure."""
    factors = ([_power(singles)[2:-1]] if singles else []) + ["2^W" if closures == 1 else f"2^({closures}W)"]
    return f"O({' '.join(factors)})"
