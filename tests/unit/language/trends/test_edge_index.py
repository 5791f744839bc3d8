"""How predecessors are found (T6): conjuncts of edge predicates by what an index can do with them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from saffron.engine.kernels.arithmetic import quotient, remainder
from saffron.language import parse
from saffron.language.plan.expressions import Attribute, Binary, Const, Expr, Unary, Which
from saffron.language.plan.formulas import formula
from saffron.language.scope.scope import Scope
from saffron.language.trends.edge_index import Comparison, EdgeIndex, Search, edge_index
from saffron.language.trends.plan import bind_trend
from tests.unit.language.samples import LETTERS


def index_of(where: str, strategy: str = "skip-till-any-match") -> EdgeIndex:
    text = f"PATTERN A+ WHERE {strategy} {{ {where} }} WITHIN 1 h RETURN COUNT(*)"
    plan = bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")
    return edge_index(plan.template.transitions[0])


def said(comparisons: tuple[Comparison, ...]) -> list[str]:
    return [f"{formula(one.earlier, ['A'])} {one.operator} {formula(one.later, ['A'])}" for one in comparisons]


@pytest.mark.parametrize(
    ("where", "search", "equalities", "bounds", "rest"),
    [
        ("A.x < NEXT(A).x", "tree", [], ["A.x < NEXT(A).x"], []),
        ("NEXT(A).x > A.x", "tree", [], ["A.x < NEXT(A).x"], []),
        ("A.x * 1.05 <= NEXT(A).x - 2", "tree", [], ["A.x * 1.05 <= NEXT(A).x - 2"], []),
        ("A.y = NEXT(A).x", "tree", ["A.y = NEXT(A).x"], [], []),
        ("A.flag = NEXT(A).flag AND A.x < NEXT(A).x", "tree", ["A.flag = NEXT(A).flag"], ["A.x < NEXT(A).x"], []),
        ("A.flag = NEXT(A).flag AND A.y = NEXT(A).x", "tree", ["A.flag = NEXT(A).flag"],
         ["A.y <= NEXT(A).x", "A.y >= NEXT(A).x"], []),
        ("A.k = NEXT(A).k", "tree", ["A.k = NEXT(A).k"], [], []),
        ("A.k = NEXT(A).k AND A.x < NEXT(A).x", "tree", ["A.k = NEXT(A).k"], ["A.x < NEXT(A).x"], []),
        ("A.x = NEXT(A).x AND A.y != NEXT(A).y", "tree", ["A.x = NEXT(A).x"], ["A.y != NEXT(A).y"], []),
        ("A.x = NEXT(A).x AND A.y != NEXT(A).y AND A.k = NEXT(A).k", "scan", ["A.x = NEXT(A).x"],
         ["A.k <= NEXT(A).k", "A.k >= NEXT(A).k"], ["A.y != NEXT(A).y"]),
        ("A.x = NEXT(A).x AND A.y < NEXT(A).y AND A.k = NEXT(A).k", "scan", ["A.x = NEXT(A).x"],
         ["A.y < NEXT(A).y"], ["A.k = NEXT(A).k"]),
        ("A.x < NEXT(A).x AND A.x > NEXT(A).x - 5", "tree", [], ["A.x < NEXT(A).x", "A.x > NEXT(A).x - 5"], []),
        ("A.x > NEXT(A).x - 5 AND A.x < NEXT(A).x", "tree", [], ["A.x < NEXT(A).x", "A.x > NEXT(A).x - 5"], []),
        ("A.x < NEXT(A).x AND A.x < NEXT(A).y", "scan", [], ["A.x < NEXT(A).x"], ["A.x < NEXT(A).y"]),
        ("A.x != NEXT(A).x", "tree", [], ["A.x != NEXT(A).x"], []),
        ("A.x != NEXT(A).x AND A.y < NEXT(A).y", "scan", [], ["A.y < NEXT(A).y"], ["A.x != NEXT(A).x"]),
        ("A.x < NEXT(A).x AND A.y < NEXT(A).y", "scan", [], ["A.x < NEXT(A).x"], ["A.y < NEXT(A).y"]),
        ("A.x < NEXT(A).x OR A.y > 3", "scan", [], [], ["A.x < NEXT(A).x OR A.y > 3"]),
        ("A.x + NEXT(A).x > 3", "scan", [], [], ["A.x + NEXT(A).x > 3"]),
        ("A.k < NEXT(A).k", "scan", [], [], ["A.k < NEXT(A).k"]),
        ("A.k != NEXT(A).k", "tree", [], ["A.k != NEXT(A).k"], []),
        ("NOT A.x < NEXT(A).x", "scan", [], [], ["NOT A.x < NEXT(A).x"]),
        ("NEXT(A).ts - A.ts <= 5 s", "tree", [], ["A.ts >= NEXT(A).ts - 5000"], []),
        ("A.ts + 10 > NEXT(A).ts", "tree", [], ["A.ts + 10 > NEXT(A).ts"], []),
        ("2 - A.ts < 7 - NEXT(A).ts", "tree", [], ["2 - A.ts < 7 - NEXT(A).ts"], []),
        ("NEXT(A).y - A.y <= 5", "scan", [], [], ["NEXT(A).y - A.y <= 5"]),
        ("NEXT(A).ts - A.ts + A.ts <= 5", "scan", [], [], ["NEXT(A).ts - A.ts + A.ts <= 5"]),
    ],
)  # fmt: skip
def test_conditions(where: str, search: str, equalities: list[str], bounds: list[str], rest: list[str]) -> None:
    found = index_of(where)
    assert found.search is Search[search.upper()]
    assert (said(found.equalities), said(found.bounds)) == (equalities, bounds)
    assert [formula(one, ["A"]) for one in found.rest] == rest


def test_conditions_of_one_event_are_asked_of_it_alone() -> None:
    text = "PATTERN A+ a WHERE a[i-1].x > 2 AND a[i-1].y < a[i].y WITHIN 1 h RETURN COUNT(*)"
    plan = bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")
    found = edge_index(plan.template.transitions[0])
    assert [formula(one, ["a"]) for one in found.before] == ["a.x > 2"]
    assert (found.after, found.search) == ((), Search.TREE)


def test_skip_till_next_match_scans() -> None:
    found = index_of("A.x < NEXT(A).x", "skip-till-next-match")
    assert (found.search, said(found.bounds), found.rest) == (Search.SCAN, ["A.x < NEXT(A).x"], ())


@pytest.mark.parametrize("strategy", ["strict-contiguity", "partition-contiguity"])
def test_contiguity_looks_at_the_last_event_alone(strategy: str) -> None:
    found = index_of("A.x < NEXT(A).x", strategy)
    assert (found.search, len(found.rest), found.bounds) == (Search.LAST, 1, ())


def test_without_conditions_a_total_is_kept() -> None:
    assert index_of("A.x > 1") == EdgeIndex(Search.TOTAL)


def computed(expr: Expr, earlier: dict[str, Any], later: dict[str, Any]) -> Any:
    """The definition of an expression's value, for numbers."""
    match expr:
        case Const(value=value):
            return value
        case Attribute(which=which, name=name):
            return (later if which is Which.ADJACENT else earlier)[name]
        case Unary(operand=operand):
            return -computed(operand, earlier, later)
        case Binary(operator=operator, left=left, right=right):
            one, two = computed(left, earlier, later), computed(right, earlier, later)
            return {
                "+": lambda: one + two, "-": lambda: one - two, "*": lambda: one * two,
                "/": lambda: quotient(one, two), "%": lambda: remainder(one, two),
                "<": lambda: one < two, "<=": lambda: one <= two, ">": lambda: one > two, ">=": lambda: one >= two,
                "=": lambda: one == two, "!=": lambda: one != two,
            }[operator]()  # fmt: skip
    raise AssertionError(expr)


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize(
    "sides",
    ["NEXT(A).ts - A.ts {} 3", "3 {} NEXT(A).ts - A.ts", "A.ts - NEXT(A).ts {} -3", "A.ts + 4 - NEXT(A).ts {} 1",
     "-A.ts {} -(NEXT(A).ts - 2)", "NEXT(A).ts {} A.ts + 2", "A.ts - (NEXT(A).ts - 5) {} 2 - 1"],
)  # fmt: skip
def test_differences_of_times_mean_the_same_when_they_are_taken_apart(sides: str, operator: str) -> None:
    text = f"PATTERN A+ WHERE {sides.format(operator)} WITHIN 1 h RETURN COUNT(*)"
    plan = bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")
    (transition,) = plan.template.transitions
    (written,) = transition.conditions
    found = edge_index(transition)
    assert found.search is Search.TREE
    (one,) = found.bounds or found.equalities
    split = Binary(one.operator, one.earlier, one.later)
    for earlier, later in itertools.product(range(6), repeat=2):
        values = {"ts": earlier}, {"ts": later}
        assert computed(split, *values) == computed(written, *values), (earlier, later)
