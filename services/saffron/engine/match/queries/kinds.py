"""A plan started on the kind of runs that can run it: over exact times, or over imprecise ones."""

from __future__ import annotations

from saffron.engine.events.strings import Strings
from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.uncertain.program import compile_uncertain
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.engine.operators.engine_choice import Engine
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema


def start(
    plan: MatchPlan,
    schema: Schema,
    strings: Strings,
    *,
    slot: int,
    compiled: bool,
    shed: str,
    merges: bool = True,
) -> Runs:
    """The runs of a plan on a stream; SaffronError if no engine can run it. `shed`, `merges`: see `engine_of`."""
    if engine_of(plan, schema, shed=shed, merges=merges).engine is Engine.IMPRECISE:
        return UncertainRuns(compile_uncertain(plan, compiled=compiled), schema, strings, slot=slot)
    return fastest(plan, schema, strings, slot=slot, compiled=compiled, shed=shed, merges=merges)
