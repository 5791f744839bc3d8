"""Windows that share the matrices of panes give what windows each by itself give, and what the definition says."""

from __future__ import annotations

import random

import pytest

from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends import shared_panes
from tests.reference.trends import generate, walk
from tests.reference.trends.asked import ask
from tests.reference.trends.results import answers
from tests.unit.engine.trends.language import SCHEMA, Case, blocks, found_lines, near, run, same

PATTERNS = (
    "A+ v",
    "SEQ(A+ v, B+ w)",
    "(SEQ(A+ v, B w))+",
    "SEQ(A v, B? u, A+ w)",
    "(A v OR B w)+",
    "SEQ(A{2,} v, C? w)",
)
ITEMS = (
    "COUNT(*)",
    "COUNT(*), COUNT(v), SUM(v.x)",
    "COUNT(*), MIN(v.x), AVG(v.f), MAX(v.f)",
    "COUNT(*), SUM(v.f) / 2 AS z",
)
WHERE = ("", "", "WHERE [k]", "WHERE [g] AND v.x > 1")
GROUPS = ("", "", "GROUP BY k", "GROUP BY g")
NEVER = 10**9


def made(seed: int, *, long: bool) -> Case:
    rng = random.Random(seed)
    unit, size = rng.choice(["ms", "EVENTS"]), rng.randrange(20, 90) if long else rng.randrange(2, 14)
    parts = [rng.choice(ITEMS), "PATTERN", rng.choice(PATTERNS), rng.choice(WHERE), rng.choice(GROUPS)]
    window = f"WITHIN {size} {unit} SLIDE {rng.randrange(1, size)} {unit}"
    text = " ".join(["RETURN", *parts, window, rng.choice(["", "", "", "EXACT"])])
    plan = compile_query(text, SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    assert shared_panes.shares_panes(plan)
    events = generate.stream(rng, text, rng.randrange(40, 130) if long else rng.randrange(4, 10))
    return Case(seed, text, ask(text), plan, events, rng)


def cut(one: Case) -> list[int]:
    return [one.rng.randrange(len(one.events)) for _ in range(3)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few windows an event lies in."""
    monkeypatch.setattr(shared_panes, "WORTH", 0)


@pytest.mark.usefixtures("always")
def test_short_streams_give_what_the_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(120):
        one = made(seed, long=False)
        found = run(one, blocks(one))
        assert same(found_lines(found), answers(one.asked, one.events)), str(one)
        pieces = blocks(one, cut(one))
        assert run(one, pieces, restart=one.rng.randrange(len(pieces))) == found, str(one)
        if seed % 4 == 0:
            with monkeypatch.context() as context:
                context.setattr(shared_panes, "WORTH", NEVER)
                assert run(one, blocks(one)) == found, str(one)


@pytest.mark.usefixtures("always")
def test_long_streams_give_what_their_graphs_add_up_to() -> None:
    for seed in range(1000, 1016):
        one = made(seed, long=True)
        found = run(one, blocks(one))
        expected = walk.answers(one.plan, one.asked, one.events)
        sizes = walk.answers(one.plan, one.asked, one.events, absolute=True)
        assert near(found_lines(found), expected, sizes), str(one)
        pieces = blocks(one, cut(one))
        assert run(one, pieces, restart=one.rng.randrange(len(pieces))) == found, str(one)


@pytest.mark.usefixtures("always")
def test_compiled_kernels_give_the_same() -> None:
    text = "RETURN COUNT(*), SUM(v.f) PATTERN (SEQ(A+ v, B w))+ GROUP BY k WITHIN 37 ms SLIDE 5 ms"
    plan = compile_query(text, SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    for seed in range(25):
        rng = random.Random(seed)
        one = Case(seed, text, ask(text), plan, generate.stream(rng, text, 60), rng)
        assert run(one, blocks(one, cut(one)), compiled=True) == run(one, blocks(one)), str(one)
