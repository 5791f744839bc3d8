"""Which of the ways to run a plan over exact times is taken: all give the same results."""

from __future__ import annotations

from saffron.engine.events.schema import Schema
from saffron.engine.match.compressed.runs import GraphRuns, compile_graphs
from saffron.engine.match.compressed.shape import is_collapsible
from saffron.engine.match.program import compile_program
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.scan.runs import ScanRuns, scanning
from saffron.engine.strings import Strings
from saffron.language.plan import MatchPlan


def fastest(plan: MatchPlan, schema: Schema, strings: Strings, *, slot: int = 0, compiled: bool = True) -> QueryRuns:
    """Graphs under skip-till-any-match where conditions allow it, else runs: of flat plans such as pick their events.

    SaffronError where nothing can run the plan.
    """
    if schema.derived:  # results of other queries among the events
        return QueryRuns(compile_program(plan, compiled=compiled, derived=schema.derived), schema, strings, slot=slot)
    if is_collapsible(plan):
        return GraphRuns(compile_graphs(plan, compiled=compiled), schema, strings, slot=slot)
    program = compile_program(plan, compiled=compiled)
    if program.flat:
        return ScanRuns(scanning(program, compiled=compiled), schema, strings, slot=slot)
    return QueryRuns(program, schema, strings, slot=slot)
