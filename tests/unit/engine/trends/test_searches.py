"""What explain says of predecessors is where the engine looks for them."""

from __future__ import annotations

from collections import Counter

import pytest

from saffron.engine.trends.codegen import conditions
from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.core.layout import LIST, SOURCE, STRATEGY, SUM, TREE
from saffron.engine.trends.core.layout import PARTITION as BY_PARTITION
from saffron.engine.trends.core.measures import measures_of
from saffron.engine.trends.store.wiring import wiring_of
from saffron.language import compile_query, explain_json
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends.edge_index import Search
from tests.unit.engine.trends.language import Case, case

WIDE = "WITHIN 1 h RETURN COUNT(*)"
OF_THEIR_OWN = [
    ("A+ WHERE A.x > NEXT(A).x", "tree"),
    ("A+ WHERE A.x > NEXT(A).x WITHIN 1 h TIME STRICT", "tree"),
    ("A+ a WHERE a[i-1].x > 2", "tree"),
    ("A+ WHERE A.x = NEXT(A).x AND A.y = NEXT(A).y", "tree"),
    ("A+ WHERE A.x = NEXT(A).x AND A.y = NEXT(A).y AND A.z = NEXT(A).z", "scan"),
    ("SEQ(A, NOT C, B) WHERE A.x > NEXT(B).x", "tree"),
    ("SEQ(A, NOT C+, B) WHERE A.x > NEXT(B).x", "tree"),
    ("SEQ(A, NOT SEQ(C, D), B) WHERE A.x > NEXT(B).x", "scan"),
    ("SEQ(A, NOT SEQ(C, D), B)", "scan"),
    ("SEQ(A, NOT C, B)", "total"),
    ("SEQ(A+, NOT SEQ(C, D)) WHERE A.x > NEXT(A).x WITHIN 1 h TIME STRICT", "tree"),
    ("A+ WHERE skip-till-next-match { A.x > NEXT(A).x }", "scan"),
    ("A+ WHERE skip-till-next-match", "total"),
    ("A+ WHERE strict-contiguity { A.x > NEXT(A).x }", "last"),
]
"""(pattern and conditions, where the predecessors along the first transition are looked for)."""


def kept(plan: TrendPlan) -> list[Search]:
    """By step: which way the kernels' arrays lead."""
    graphs, measures = graphs_of(plan), measures_of(plan)
    needs = conditions.reads(graphs, measures)
    wiring = wiring_of(graphs, measures, needs.attributes, needs.stored)
    found = []
    for row in wiring.transitions:
        if row[STRATEGY] >= BY_PARTITION:
            found.append(Search.LAST)
        elif row[SUM] >= 0:
            found.append(Search.TOTAL)
        else:
            found.append(Search.TREE if row[TREE] >= 0 else Search.SCAN)
            assert found[-1] is Search.TREE or wiring.states[row[SOURCE], LIST] >= 0
    order = sorted(range(len(graphs.steps)), key=lambda number: graphs.steps[number].target)
    return [found[order.index(number)] for number in range(len(order))]


def said(plan: TrendPlan) -> list[Search]:
    shown = explain_json(plan)
    graphs = [shown, *shown["graphs"]]
    return [Search[edge["index"]["search"].upper()] for graph in graphs for edge in graph["transitions"]]


@pytest.mark.parametrize(("query", "search"), OF_THEIR_OWN)
def test_what_each_clause_does_to_a_search(query: str, search: str) -> None:
    text = f"PATTERN {query} RETURN COUNT(*)" if "WITHIN" in query else f"PATTERN {query} {WIDE}"
    plan = compile_query(text, None, name="q")
    assert isinstance(plan, TrendPlan)
    assert said(plan)[0] is Search[search.upper()]
    assert said(plan) == kept(plan)


def test_explain_says_where_the_engine_looks() -> None:
    seen: Counter[Search] = Counter()
    for made in map(case, range(80_000, 80_200)):
        if isinstance(made, Case):
            assert said(made.plan) == kept(made.plan), str(made)
            seen.update(said(made.plan))
    assert min(seen[search] for search in Search) > 10, seen
