"""What of a query may be shed under load, by the name of its shedder; and whether it has partial matches at all.

Matches are found by partial matches (runs), which a shedder can drop one by one, or as graphs of events, which have
none (X3): there only events can be shed.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.carets import quoted
from saffron.language.cost.complexity import match_complexity
from saffron.language.plan.consistency import is_collapsible
from saffron.language.plan.plan import MatchPlan, Output, Plan
from saffron.language.syntax.hints import suggestion
from saffron.records.query import SUCCESSORS

NONE, AUTO = "none", "auto"
BY_PARTIAL_MATCHES = ("pspice",)
"""Shedders of partial matches: by U = w P / tau (pSPICE, algorithm 2)."""
BY_EVENTS = ("gspice-h", "gspice-tree", "gspice-forest")
"""Shedders of events: by a hash table, a tree or a forest over features (gSPICE)."""
SHEDDERS = (NONE, AUTO, *BY_PARTIAL_MATCHES, *BY_EVENTS)
"""`none`: nothing is ever shed for the query. `auto`: what the system chooses. The others are the papers' systems."""


def refusal(name: object) -> str:
    """Why this is no name of a shedder, with what may have been meant; "" where it is one."""
    if name in SHEDDERS:
        return ""
    said = quoted(name) if isinstance(name, str) else repr(name)
    if name in SUCCESSORS:
        return f"{said} is a baseline of experiments, no shedder: choose {SUCCESSORS[name]}"
    hint = suggestion(name, SHEDDERS) if isinstance(name, str) else ""
    return f"there is no shedder {said}; there are {', '.join(SHEDDERS)}. {hint}".rstrip()


@dataclass(frozen=True)
class PartialMatches:
    """`kept`: whether there are any. `reason`: a sentence, either way."""

    kept: bool
    reason: str


def partial_matches(plan: MatchPlan, shed: str = AUTO, *, imprecise: bool = False) -> PartialMatches:
    """Of a query over events of the stream alone, whose setting is `shed`; results are the same either way.

    `imprecise`: times of the stream are intervals, so that all its match queries run as those with CONFIDENCE do."""
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
    """Whether a shedder that drops partial matches finds any, where times are exact."""
    return isinstance(plan, MatchPlan) and partial_matches(plan, BY_PARTIAL_MATCHES[0]).kept


def cannot_act(plan: Plan, shedder: str, *, imprecise: bool = False) -> str:
    """Why this shedder can drop nothing of the query, with those that can; "" where it can, or is to drop nothing.

    `imprecise`: see `partial_matches`."""
    return lacks_partial_matches(plan, shedder, imprecise=imprecise) if shedder in BY_PARTIAL_MATCHES else ""


def lacks_partial_matches(plan: Plan, shedder: str, *, imprecise: bool = False) -> str:
    """Why this shedder of partial matches finds none in the query, with those that can act; "" where there are some."""
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
    """Whether results are graphs of all matches that end with an event (X5), none of which is ever listed."""
    chosen = bool(plan.consume) or plan.timeouts
    return plan.output is Output.COMPRESSED and not chosen and is_collapsible(plan)
