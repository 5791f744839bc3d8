"""Conditions that look back in a list and read another component too, in patterns of every shape, by the definition."""

from __future__ import annotations

import random

import pytest

from tests.reference.match import generate
from tests.reference.match.random_conditions import AGGREGATES
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import described, wanted

QUERIES = [
    "SEQ(A a, A* b[]) WHERE b[i].x > b[i-1].x - a.x",
    "SEQ(A a, A* b[]) WHERE sum(b[..i-1].x) < b[i].x + a.x",
    "SEQ(A? p, A+ b[]) WHERE b[i].x > b[i-1].x - p.x",
    "SEQ(A a, A+ b[], A? c) WHERE b[i].x > b[i-1].x - a.x",
    "SEQ(A a, A+ b[], A? c) WHERE b[i].x > b[i-2].x - a.x",
    "SEQ(A a, (B b OR A b2), A+ c[]) WHERE c[i].x > c[i-1].x OR b.x > 1",
    "SEQ(A a, (A b, A c)+) WHERE b[i].x > c[i-1].x",
    "SEQ(A+ a[], A* b[], A c) WHERE b[i].x > b[i-1].x - a[last].x",
    "SEQ(A a, NOT C c, B b)+ WHERE c[i].x > a[i-1].x",
    "SEQ(A a, NOT C c, B b)+ WHERE c[i].x > b[i-1].x + a[i].x",
    "SEQ(A a, NOT C c, B b)+ WHERE c[i].x > sum(a[..i-1].x) OR count(b[..i-1]) > 1",
    *(f"SEQ(A a, B b)+ WHERE b[i].x >= {f}(a[..i-1].x)" for f in AGGREGATES),
    "SEQ(A a, B b)+ WHERE b[i].x >= count(a[..i-1])",
    "SEQ(A a, B? b, C c)+ WHERE c[i].x > a[i-1].x + b[i-1].x",
    "(A a AND B b)+ WHERE a[i].x > b[i-1].x",
]


@pytest.mark.parametrize("query", QUERIES)
def test_results_are_those_of_the_definition(query: str) -> None:
    text = f"PATTERN {query} WITHIN 20 ms"
    plan = cases.plan_of(text)
    matches = 0
    for seed in range(12):
        rng = random.Random(seed)
        events = generate.stream(rng, 9, "ABABC")
        asked, found = wanted(text, events)
        expected = [described(plan, asked, match) for match in found]
        assert close(cases.parsed(cases.engine(plan, events, cuts=[rng.randrange(9)])), expected), events
        matches += len(expected)
    assert matches > 10
