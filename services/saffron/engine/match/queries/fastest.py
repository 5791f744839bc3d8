"""Which of the ways to run a plan over exact times is taken: all give the same results."""

from __future__ import annotations

from saffron.engine.events.strings import Strings
from saffron.engine.match.core.automaton import Automaton
from saffron.engine.match.output.graph_results import CollapsedRuns
from saffron.engine.match.runs.graph import GraphRuns, compile_graphs
from saffron.engine.match.runs.program import compile_program
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.scan import ScanRuns
from saffron.language.cost.shedding import NONE, is_collapsed, partial_matches
from saffron.language.plan.pairs import exact_match
from saffron.language.plan.plan import Edge, MatchPlan
from saffron.schema.schema import Schema


def fastest(
    plan: MatchPlan,
    schema: Schema,
    strings: Strings,
    *,
    slot: int = 0,
    compiled: bool = True,
    shed: str = NONE,
    merges: bool = True,
) -> QueryRuns:
    """Graphs where the plan is to have no partial matches, else runs: such as pick their events where only some events
    begin any.

    `shed`: the query's shedder (`cost.shedding`), which may need runs, to drop them and to observe them for models.
    `merges`: equivalent runs go on as one (N7). SaffronError where nothing can run the plan.
    """
    graphs = not schema.derived and not partial_matches(plan, shed).kept
    scans = plan.flat and not _all_begin(plan)
    plan = exact_match(plan)  # only then: which way is taken does not depend on the kinds of numbers
    if schema.derived:  # results of other queries among the events
        program = compile_program(plan, compiled=compiled, derived=schema.derived, merges=merges)
        return QueryRuns(program, schema, strings, slot=slot)
    if graphs:
        kind = CollapsedRuns if is_collapsed(plan) else GraphRuns
        return kind(compile_graphs(plan, compiled=compiled), schema, strings, slot=slot)
    program = compile_program(plan, compiled=compiled, merges=merges, scans=scans)
    if scans and program.flat:
        return ScanRuns(program, schema, strings, slot=slot)
    return QueryRuns(program, schema, strings, slot=slot)


def _all_begin(plan: MatchPlan) -> bool:
    """Whether any event that can matter begins a run: there is nothing to pass over."""
    automaton = Automaton(plan, ())
    chosen = any(automaton.is_local(condition) for condition in automaton.conditions(0, Edge.BEGIN))
    return not chosen and len({component.type for component in plan.components}) == 1
