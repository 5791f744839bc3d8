"""A plan over exact times started on the engine that is chosen for it."""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.events.strings import Strings
from saffron.engine.match.output.graph_results import Collapsing
from saffron.engine.match.output.reporting import Listing
from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.runs.graph import Linking, compile_graphs
from saffron.engine.match.runs.parts import Reporter, Source
from saffron.engine.match.runs.program import compile_program
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.scan import Scanning
from saffron.engine.match.runs.stepping import Stepping
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.language.cost.shedders import NONE
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import exact_match
from saffron.schema.schema import Schema

_SOURCES: dict[Engine, Callable[[QueryRuns], Source]] = {
    Engine.SCAN: Scanning,
    Engine.FLAT: Stepping,
    Engine.TABLE: Stepping,
    Engine.GRAPHS: Linking,
    Engine.COLLAPSED: Linking,
}


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
    return started(exact_match(plan), choice, schema, strings, slot=slot, compiled=compiled)


def started(
    plan: MatchPlan, choice: EngineChoice, schema: Schema, strings: Strings, *, slot: int = 0, compiled: bool = True
) -> QueryRuns:
    """Runs of a plan on an engine that can run it. The plan is exact (`plan.pairs`)."""
    source = _SOURCES[choice.engine]
    if source is Linking:
        program = compile_graphs(plan, compiled=compiled)
    else:
        program = compile_program(plan, choice, compiled=compiled, derived=schema.derived)
    reporter: Callable[[QueryRuns], Reporter] = Collapsing if choice.engine is Engine.COLLAPSED else Listing
    return QueryRuns(program, schema, strings, slot=slot, source=source, reporter=reporter)
