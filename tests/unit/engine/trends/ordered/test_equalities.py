"""Edge predicates by equality, of strings or of two values, in ordered trees: beside the definition, beside keys."""

from __future__ import annotations

import random

import orjson
import pytest

from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from tests.reference.trends import generate, walk
from tests.reference.trends.asked import ask
from tests.reference.trends.results import answers
from tests.unit.engine.trends.language import SCHEMA, Case, blocks, found_lines, near, run, same
from tests.unit.engine.trends.test_memory import blocks as ever_new_keys

CONDITIONS = (
    "v.s = NEXT(v).s",
    "v.s = NEXT(v).g",
    "v.s != NEXT(v).s",
    "v.t != NEXT(v).t",
    "v.x = NEXT(v).x AND v.s = NEXT(v).s",
    "v.s = NEXT(v).s AND v.g = NEXT(v).g",
    "v.t = NEXT(v).t AND v.x = NEXT(v).x",
    "v.s = NEXT(v).s AND v.x < NEXT(v).x",
    "v.f = NEXT(v).f AND v.s != NEXT(v).s",
    "v.s = NEXT(v).s AND v.x >= NEXT(v).x - 1 AND v.x <= NEXT(v).x + 1",
)
WINDOWS = ("WITHIN {0} ms", "WITHIN {0} ms SLIDE {1} ms", "WITHIN {0} EVENTS SLIDE {1} EVENTS")


def made(seed: int, condition: str, *, long: bool) -> Case:
    rng = random.Random(seed)
    size = rng.randrange(20, 90) if long else rng.randrange(2, 14)
    window = rng.choice(WINDOWS).format(size, rng.randrange(1, size))
    where = f"WHERE {rng.choice(['', '', '[k] AND '])}{condition}"
    parts = ["RETURN COUNT(*), SUM(v.x) PATTERN", rng.choice(["A+ v", "SEQ(A+ v, B?)"]), where, window]
    text = " ".join([*parts, rng.choice(["", "", "TIME STRICT", "EXACT"])])
    plan = compile_query(text, SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    assert graphs_of(plan).trees, text
    return Case(seed, text, ask(text), plan, generate.stream(rng, text, rng.randrange(40, 90) if long else 8), rng)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_short_streams_give_what_the_definition_says(condition: str) -> None:
    for seed in range(12):
        one = made(seed, condition, long=False)
        found = run(one, blocks(one))
        assert same(found_lines(found), answers(one.asked, one.events)), str(one)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_long_streams_give_what_their_graphs_add_up_to(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, few in ((100, ordered.SHORT), (101, 2)):
        monkeypatch.setattr(ordered, "SHORT", few)
        one = made(seed, condition, long=True)
        found = run(one, blocks(one))
        expected = walk.answers(one.plan, one.asked, one.events)
        sizes = walk.answers(one.plan, one.asked, one.events, absolute=True)
        assert near(found_lines(found), expected, sizes), str(one)
        pieces = blocks(one, [one.rng.randrange(len(one.events)) for _ in range(3)])
        assert run(one, pieces, restart=one.rng.randrange(len(pieces))) == found, str(one)


@pytest.mark.parametrize("condition", ["A.k = NEXT(A).k", "A.x = NEXT(A).x AND A.k = NEXT(A).k"])
def test_strings_that_only_trees_hold_keep_their_numbers(condition: str) -> None:
    """6,000 keys, each of four events: trends of events with equal keys are those of each key by itself."""
    found = []
    for where in ("[k, x]" if "x" in condition else "[k]", condition):
        operator = TrendOperator(partition=0)
        lines: list[bytes] = []
        for block in ever_new_keys(f"RETURN COUNT(*) PATTERN A+ WHERE {where} WITHIN 7 ms SLIDE 2 ms", 24, 1000, 25):
            results = operator.apply(block)
            lines += results.json(0, len(results))
        assert len(operator.snapshot()["0.strings"]) < 60_000
        found.append([(one["window"], one["return"]) for one in map(orjson.loads, lines)])
    assert len(found[0]) > 100
    assert found[0] == found[1]
