"""The choice of the engine that runs a match plan: all engines that can run it give the same results."""

from __future__ import annotations

from saffron.engine.match.core.automaton import Automaton
from saffron.engine.match.planning.flat_or_table import counts_events, table_reason
from saffron.engine.match.planning.imprecise import is_uncertain, refusal
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.errors import SaffronError
from saffron.language.cost.shedders import NONE
from saffron.language.cost.shedding import is_collapsed, partial_matches
from saffron.language.plan.clauses import Output
from saffron.language.plan.limits import MAX_COMPONENTS
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.merging import merging
from saffron.language.plan.pairs import exact_match
from saffron.language.plan.pattern import Edge
from saffron.schema.schema import Schema


def engine_of(plan: MatchPlan, schema: Schema, *, shed: str = NONE, merges: bool = True) -> EngineChoice:
    """The engine of a plan over events of a schema. SaffronError where none can run it.

    Graphs where the plan is to have no partial matches, else runs.
    `shed`: the query's shedder (`cost.shedding`), which may need runs, to drop them and to observe them for models.
    `merges`: equivalent runs may go on as one (N7).
    """
    if is_uncertain(plan, schema):
        if why := refusal(plan, schema):
            raise SaffronError(f"query {plan.name}: {why}")
        asked = plan.confidence is not None
        return EngineChoice(Engine.IMPRECISE, "CONFIDENCE is asked for" if asked else "times are intervals")
    if schema.derived:
        if plan.output is Output.COMPRESSED:
            message = "a query that reads results of others cannot collapse its own: leave OUTPUT COMPRESSED out"
            raise SaffronError(f"query {plan.name}: {message}")
        return engine_of_runs(plan, schema, merges=merges)
    if partial_matches(plan, shed).kept:
        return engine_of_runs(plan, schema, merges=merges)
    if is_collapsed(plan):
        return EngineChoice(Engine.COLLAPSED, "OUTPUT COMPRESSED: each result is a graph of matches")
    return EngineChoice(Engine.GRAPHS, "skip-till-any-match, and no partial match is needed to decide a condition")


def engine_of_runs(plan: MatchPlan, schema: Schema, *, merges: bool = True) -> EngineChoice:
    """The engine of a plan that is matched by runs over exact times. SaffronError where the pattern is too long."""
    if len(plan.components) > MAX_COMPONENTS:
        message = f"a pattern has at most {MAX_COMPONENTS} components, this one {len(plan.components)}"
        raise SaffronError(f"query {plan.name}: {message}")
    if why := table_reason(plan):
        return EngineChoice(Engine.TABLE, why)
    if schema.derived and counts_events(plan):
        return EngineChoice(Engine.TABLE, "results of other queries are not counted where events are to be adjacent")
    component = merging(exact_match(plan)).component if merges else None
    if schema.derived:
        return EngineChoice(Engine.FLAT, "results of other queries come between the stream's events", component)
    if _all_begin(plan):
        why = "every event that fits may begin a run, so that there is none to pass over"
        return EngineChoice(Engine.FLAT, why, component)
    return EngineChoice(Engine.SCAN, "only some events begin a run: others are passed over while none lives", component)


def _all_begin(plan: MatchPlan) -> bool:
    """True if any event that can matter begins a run: there is nothing to pass over."""
    automaton = Automaton(plan, ())
    chosen = any(automaton.is_local(condition) for condition in automaton.conditions(0, Edge.BEGIN))
    first = plan.components[0].types
    return not chosen and all(first.holds(component.types) for component in plan.components)
