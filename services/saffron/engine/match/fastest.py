"""Which of the ways to run a plan over exact times is taken: all give the same results."""

from __future__ import annotations

from saffron.engine.events.schema import Schema
from saffron.engine.match.automaton import Automaton
from saffron.engine.match.compressed.runs import GraphRuns, compile_graphs
from saffron.engine.match.compressed.shape import is_collapsible
from saffron.engine.match.program import compile_program
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.scan.runs import ScanRuns
from saffron.engine.strings import Strings
from saffron.language.plan import Edge, MatchPlan


def fastest(
    plan: MatchPlan,
    schema: Schema,
    strings: Strings,
    *,
    slot: int = 0,
    compiled: bool = True,
    sheds: bool = False,
    merges: bool = True,
) -> QueryRuns:
    """Graphs under skip-till-any-match where conditions allow it, else runs: such as pick their events where only some
    events begin any.

    `sheds`: runs are wanted, which can be dropped under load and observed for models; graphs have none.
    `merges`: equivalent runs go on as one (N7). SaffronError where nothing can run the plan.
    """
    if schema.derived:  # results of other queries among the events
        program = compile_program(plan, compiled=compiled, derived=schema.derived, merges=merges)
        return QueryRuns(program, schema, strings, slot=slot)
    if is_collapsible(plan) and not plan.timeouts and not sheds:  # graphs have no runs that could time out
        return GraphRuns(compile_graphs(plan, compiled=compiled), schema, strings, slot=slot)
    scans = plan.flat and not _all_begin(plan)
    program = compile_program(plan, compiled=compiled, merges=merges, scans=scans)
    if scans and program.flat:
        return ScanRuns(program, schema, strings, slot=slot)
    return QueryRuns(program, schema, strings, slot=slot)


def _all_begin(plan: MatchPlan) -> bool:
    """Whether any event that can matter begins a run: there is nothing to pass over."""
    automaton = Automaton(plan, ())
    chosen = any(automaton.is_local(condition) for condition in automaton.conditions(0, Edge.BEGIN))
    return not chosen and len({component.type for component in plan.components}) == 1
