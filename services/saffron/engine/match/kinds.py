"""The two kinds of runs of a match query: over exact times, and over imprecise ones (`engine.uncertain`)."""

from __future__ import annotations

from saffron.engine.events.schema import Schema
from saffron.engine.match import snapshot
from saffron.engine.match.program import compile_program
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.render import Matches
from saffron.engine.operator import State
from saffron.engine.strings import Strings
from saffron.engine.uncertain import snapshot as uncertain_snapshot
from saffron.engine.uncertain.program import compile_uncertain, is_uncertain
from saffron.engine.uncertain.render import LikelyMatches
from saffron.engine.uncertain.runs import UncertainRuns
from saffron.language.plan import MatchPlan

Runs = QueryRuns | UncertainRuns


def start(plan: MatchPlan, schema: Schema, strings: Strings, *, slot: int, compiled: bool) -> Runs:
    """What runs a plan on a stream; SaffronError where nothing can."""
    if is_uncertain(plan, schema):
        return UncertainRuns(compile_uncertain(plan, schema, compiled=compiled), schema, strings, slot=slot)
    return QueryRuns(compile_program(plan, compiled=compiled), schema, strings, slot=slot)


def matches_of(runs: Runs, name: str, partition: int) -> Matches | LikelyMatches:
    """What it has found in the block at hand."""
    if isinstance(runs, UncertainRuns):
        return LikelyMatches(runs, name, partition)
    return Matches(runs, name, partition)


def save(runs: Runs) -> State:
    """Its state as flat arrays."""
    return uncertain_snapshot.save(runs) if isinstance(runs, UncertainRuns) else snapshot.save(runs)


def restore(runs: Runs, arrays: State) -> None:
    """Take over what `save` gave, into runs of the same plan and schema."""
    if isinstance(runs, UncertainRuns):
        uncertain_snapshot.restore(runs, arrays)
    else:
        snapshot.restore(runs, arrays)
