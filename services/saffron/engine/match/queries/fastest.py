"""A plan over exact times started on the engine that is chosen for it."""

from __future__ import annotations

from saffron.engine.events.strings import Strings
from saffron.engine.match.output.graph_results import CollapsedRuns
from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.runs.graph import GraphRuns, compile_graphs
from saffron.engine.match.runs.program import compile_program
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.scan import ScanRuns
from saffron.engine.operators.engine_choice import Engine
from saffron.language.cost.shedding import NONE
from saffron.language.plan.pairs import exact_match
from saffron.language.plan.plan import MatchPlan
from saffron.schema.schema import Schema

_OF_GRAPHS = {Engine.GRAPHS: GraphRuns, Engine.COLLAPSED: CollapsedRuns}
_OF_RUNS = {Engine.SCAN: ScanRuns, Engine.FLAT: QueryRuns, Engine.TABLE: QueryRuns}


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
    """Runs, or graphs, of a plan over exact times. `shed`, `merges`, and what is refused: see `engine_of`."""
    choice = engine_of(plan, schema, shed=shed, merges=merges)
    plan = exact_match(plan)  # only now: the choice does not depend on the kinds of numbers
    if choice.engine in _OF_GRAPHS:
        return _OF_GRAPHS[choice.engine](compile_graphs(plan, compiled=compiled), schema, strings, slot=slot)
    program = compile_program(plan, choice, compiled=compiled, derived=schema.derived)
    return _OF_RUNS[choice.engine](program, schema, strings, slot=slot)
