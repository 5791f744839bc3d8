"""The shedders that can act on a query, which depends on whether it has partial matches.

The engine finds matches by partial matches (runs), which a shedder can drop one by one, or as graphs of events (X3),
which have none: there a shedder can only drop events.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.cost.complexity import match_complexity
from saffron.language.cost.shedders import AUTO, BY_EVENTS, BY_PARTIAL_MATCHES, NONE
from saffron.language.plan.clauses import Output
from saffron.language.plan.consistency import is_collapsible
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan


@dataclass(frozen=True)
class PartialMatches:
    """`kept`: the engine keeps partial matches of a query. `reason`: a sentence on why."""

    kept: bool
    reason: str


def partial_matches(plan: MatchPlan, shed: str = AUTO, *, imprecise: bool = False) -> PartialMatches:
    """The answer whether the engine keeps partial matches of a query under `shed`, which never changes results.

    The query reads the stream's own events, not results of other queries.
    `imprecise`: the stream's times are intervals, so all its match queries run like those with CONFIDENCE.
    """
    if imprecise or plan.confidence is not None:
        return PartialMatches(False, "none, events with intervals of time; sheds events only")
    if plan.timeouts or not is_collapsible(plan):
        return PartialMatches(True, "runs")
    if is_collapsed(plan):
        return PartialMatches(False, "none, graphs, which are its results; sheds events only")
    if shed == NONE:
        return PartialMatches(False, "none, graphs; nothing is shed")
    if shed == AUTO and match_complexity(plan).name == "exponential":
        return PartialMatches(False, "none, graphs; sheds events only, for there could be exponentially many runs")
    return PartialMatches(True, f"runs; with --shed {NONE}, as in a replay, graphs, which have none")


def has_partial_matches(plan: Plan) -> bool:
    """True if a shedder of partial matches finds any, over a stream with exact times."""
    return isinstance(plan, MatchPlan) and partial_matches(plan, BY_PARTIAL_MATCHES[0]).kept


def cannot_act(plan: Plan, shedder: str, *, imprecise: bool = False) -> str:
    """The error of a shedder that can drop nothing of the query, with those that can; "" if there is none.

    `imprecise`: see `partial_matches`.
    """
    return lacks_partial_matches(plan, shedder, imprecise=imprecise) if shedder in BY_PARTIAL_MATCHES else ""


def lacks_partial_matches(plan: Plan, shedder: str, *, imprecise: bool = False) -> str:
    """The error for a shedder of partial matches and a query that has none, with those that can act; "" if it has."""
    able: tuple[str, ...] = BY_EVENTS
    found = PartialMatches(False, "none, for it aggregates; sheds events only")
    if isinstance(plan, MatchPlan):
        able = (AUTO, *BY_EVENTS)
        found = partial_matches(plan, shedder, imprecise=imprecise)
    if found.kept:
        return ""
    drops = f"{shedder} drops partial matches, of which query {plan.name} has {found.reason}"
    return f"{drops}. Those that can act on it are {', '.join(able)}"


def is_collapsed(plan: MatchPlan) -> bool:
    """True if each result is a graph of all matches that end with one event (X5), without listing them."""
    chosen = bool(plan.consume) or plan.timeouts
    return plan.output is Output.COMPRESSED and not chosen and is_collapsible(plan)
