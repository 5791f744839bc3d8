"""Queries whose conditions are postponed (SASE++ X3, X4): graphs and runs have the definition's matches and ids."""

from __future__ import annotations

import random
from typing import Any

import pytest

from saffron.engine.match.compressed.asked import Held
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.match_operator import MatchOperator
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases
from tests.unit.engine.match.compressed.test_graphs import blocks, graph_runs, listed, source, wanted

# Of each pattern and condition the class (X4); `slots`: the most that a node has.
QUERIES = [
    ("SEQ(A a, B+ b[], C c)", "a.k = c.k AND a.f <= c.f AND b[i].x >= b[i-1].x", 0),
    ("SEQ(A a, B+ b[], C c)", "a.k = c.k AND b[i].x >= max(b[..i-1].x)", 1),
    ("SEQ(C z, A a, B+ b[], A d, C e)", "a.k = d.k", 1),
    ("SEQ(A a, B+ b[], C c)", "c.x < max(b[].x)", 1),
    ("SEQ(A a, B+ b[], C c)", "c.x < max(b[].x) AND c.f > min(b[].f)", 2),
    ("SEQ(A a, B+ b[], A c, C d)", "c.f <= min(b[].f) AND d.x > a.x", 1),
    ("SEQ(A a, B+ b[], C c)", "b[i].x > a.x AND c.x + a.x > 2", 1),
    ("SEQ(A a, B+ b[])", "b[i].x > b[i-2].x AND b[last].x > a.x", 1),
    ("SEQ(A+ a[], B+ b[])", "b[i].f >= a[1].f AND a.len + b.len = 4", 3),
    ("SEQ(A+ a[], B b, C+ c[])", "c[last].x > b.x AND count(a[].f) = 2 AND c[1].k = a[last].k", 1),
    ("SEQ(A a, B+ b[], C c)", "c.x > max(b[].x) AND min(b[].f) >= a.f", 3),
    ("SEQ(A a, B+ b[], A+ c[], C d)", "d.f < a.f + max(c[].f) AND c[i].x >= min(b[].x)", 3),
    ("SEQ(A a, B+ b[])", "b[last].x < max(b[].x) AND b[last].f > a.f", 1),
    ("SEQ(A a, B+ b[], C c)", "b.len != 2 AND 3 >= count(b[].x) AND c.x > a.x", 2),
    ("SEQ(A a, B+ b[], C c)", "c.x != first(b[].x) AND c.f > a.f", 0),
    ("SEQ(B+ b[])", "b[last].x = b[1].x AND max(b[].x) > b[1].x AND b.len >= 3", 3),
]


def plan_of(pattern: str, conditions: str, more: str = "WITHIN 18 ms") -> MatchPlan:
    made = compile_query(
        f"PATTERN {pattern} WHERE skip-till-any-match {{ {conditions} }} {more}", cases.SCHEMA, name="q"
    )
    assert isinstance(made, MatchPlan)
    return made


def streams(number: int) -> list[list[dict[str, Any]]]:
    rng = random.Random(number)
    return [cases.stream(rng, rng.randrange(6, 13), "AABBBCC") for _ in range(30)]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_graphs_have_the_matches_of_the_definition(number: int) -> None:
    pattern, conditions, slots = QUERIES[number]
    made, matched = plan_of(pattern, conditions), 0
    assert Slots(made).most == slots
    for events in streams(number):
        runs = graph_runs(made)
        found = [match for after in blocks(made, events, [len(events) // 2], runs) for match in listed(after)]
        assert found == [parts for _, parts in wanted(made, events)]
        matched += len(found)
    assert matched


@pytest.mark.parametrize("number", range(len(QUERIES)))
@pytest.mark.parametrize("output", ["", "OUTPUT NON-OVERLAP", "OUTPUT LONGEST", "CONSUME b"])
def test_results_are_those_of_runs(number: int, output: str) -> None:
    pattern, conditions, _ = QUERIES[number]
    made = plan_of(pattern, conditions, f"WITHIN 18 ms {output}")
    for events in streams(number)[:4]:
        results = []
        for shed in (cases.RUNS, "auto", "none"):
            run = MatchOperator(partition=3, compiled=False, compiler=lambda *_: made)
            controls = (cases.schema_control(), cases.query_control("add", shed=shed))
            results.append(cases.results(run, cases.blocks(events, [3], {"q": ()}, controls)))
        assert results[0] == results[1] == results[2]


def test_counts_are_told_apart_as_far_as_conditions_do() -> None:
    """A graph of n events has n nodes for each length up to the one from which on all are alike."""
    made = plan_of("SEQ(B+ b[])", "b.len >= 2.5 AND 4 != count(b[].x) AND b.len != 3")
    (slots,) = Slots(made).of
    assert [Slots(made).cap(slot) for slot in slots] == [4, 5]
    unlimited = plan_of("SEQ(B+ b[])", "b.len >= 3 AND b.len > b[1].x")
    assert [Slots(unlimited).cap(slot) for slot in Slots(unlimited).of[0] if slot.held is Held.LENGTH] == [None]


def test_a_graph_outgrows_the_room_that_it_was_given() -> None:
    """More nodes than events: each B once for each A before it."""
    made = plan_of("SEQ(A a, B+ b[], A c, C d)", "a.x = c.x AND b[i].f > b[i-1].f", "WITHIN 2000 ms")
    events = [
        {"seq": n, "ts": n, "type": kind, "x": n % 140, "f": -n, "s": None, "t": None, "k": None, "g": None}
        for n, kind in enumerate("A" * 60 + "B" * 80 + "A" * 60 + "C")
    ]
    runs = graph_runs(made)
    *_, after = blocks(made, events, [], runs)
    graphs = source(after).graphs()
    assert graphs.counts() == [60 * 80]
    assert len(graphs.place) == 60 + 60 * 80 + 60 + 1
