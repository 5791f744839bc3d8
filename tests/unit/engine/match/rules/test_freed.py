"""Runs that nobody holds are freed at once, with all their arrays: they are in no cycle of references."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.sequences import sequences
from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.transitions import FlatTransitions
from saffron.engine.operators.engine_choice import Engine
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match.cases import RUNS, SCHEMA, columns

ANY = "WHERE skip-till-any-match"
EVENTS = [
    {"seq": seq, "ts": seq, "type": kind, "x": seq, "f": 0.5, "s": "a", "t": True, "k": 0, "g": "b"}
    for seq, kind in enumerate("ABBC")
]


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    ("engine", "text", "shed"),
    [
        (Engine.SCAN, "SEQ(A a, B+ b[], C c)", RUNS),
        (Engine.FLAT, "SEQ(B+ a[], B b) WHERE [k]", RUNS),
        (Engine.TABLE, "SEQ(A a, B? b, C c)", RUNS),
        (Engine.GRAPHS, f"SEQ(A a, B+ b[], C c) {ANY}", "none"),
        (Engine.COLLAPSED, f"SEQ(A a, B+ b[], C c) {ANY}", "none"),
    ],
)
def test_runs_are_freed_without_the_collector(engine: Engine, text: str, shed: str) -> None:
    ending = "OUTPUT COMPRESSED" if engine is Engine.COLLAPSED else ""
    plan = compile_query(f"PATTERN {text} WITHIN 10 ms {ending}", SCHEMA, name="q")
    assert isinstance(plan, MatchPlan)
    assert engine_of(plan, SCHEMA, shed=shed).engine is engine
    matching(plan, shed)  # frames of the compiler may hold the first runs
    freed = ref(matching(plan, shed))
    assert freed() is None


def matching(plan: MatchPlan, shed: str) -> QueryRuns:
    """Runs that have found matches."""
    runs = fastest(plan, SCHEMA, Strings(), compiled=False, shed=shed)
    part = columns(EVENTS)
    runs.begin_block(0)
    runs.advance(Range(part, 0, len(part)), None)
    counts, _ = sequences(runs)
    assert len(counts)
    return runs


def test_a_part_is_not_used_without_its_runs() -> None:
    plan = compile_query("PATTERN SEQ(A a, B b) WITHIN 10 ms", SCHEMA, name="q")
    assert isinstance(plan, MatchPlan)
    runs = fastest(plan, SCHEMA, Strings(), compiled=False, shed=RUNS)
    counted = runs.transitions
    assert isinstance(counted, FlatTransitions)
    del runs
    with pytest.raises(AssertionError, match="after its runs were freed"):
        counted.take()
