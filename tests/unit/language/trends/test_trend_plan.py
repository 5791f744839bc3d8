"""Aggregate queries: the template (T2), and conditions on states and transitions (T6)."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import compile_query, parse
from saffron.language.plan.clauses import OpenOn, ReturnItem, Window
from saffron.language.plan.expressions import TrendValue
from saffron.language.plan.formulas import formula
from saffron.language.plan.pattern import Component, Strategy
from saffron.language.plan.trend_plan import TrendAggregate, TrendPlan, TrendState
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from saffron.schema.event_types import one_type
from saffron.schema.schema import Kind, Schema
from tests.unit.language.samples import LETTERS, STOCK

TAIL = " WITHIN 1 h RETURN COUNT(*)"


def trend(text: str, schema: Schema = LETTERS) -> TrendPlan:
    return bind_trend(parse(text), Scope(text, schema, lenient=False), "query")


def conditions(plan: TrendPlan) -> dict[str, list[str]]:
    """Formulas by state (`A`) and by transition (`A -> B`)."""
    names = [component.variable for component in plan.components]
    found = {
        names[state.component]: [formula(expr, names) for expr in local]
        for state, local in zip(plan.template.states, plan.template.local, strict=True)
    }
    places = [names[state.component] for state in plan.template.states]
    for part in plan.template.transitions:
        found[f"{places[part.source]} -> {places[part.target]}"] = [formula(expr, names) for expr in part.conditions]
    return {place: formulas for place, formulas in found.items() if formulas}


@pytest.mark.parametrize(
    ("pattern", "states", "transitions"),
    [
        ("A", ["A<>"], []),
        ("A+", ["A<>"], ["A A"]),
        ("(A+)+", ["A<>"], ["A A"]),
        ("SEQ(A, B)", ["A<", "B>"], ["A B"]),
        ("SEQ(A+, B)", ["A<", "B>"], ["A A", "A B"]),
        ("(SEQ(A+, B))+", ["A<", "B>"], ["A A", "A B", "B A"]),
        ("SEQ(A, SEQ(B, C)+, D)", ["A<", "B", "C", "D>"], ["A B", "B C", "C B", "C D"]),
        ("(SEQ(A, (SEQ(B, C+))+))+", ["A<", "B", "C>"], ["A B", "B C", "C A", "C B", "C C"]),
        ("SEQ(A+, B, A, A+, B+)", ["A<", "B", "A#2", "A#3", "B#2>"],
         ["A A", "A B", "B A#2", "A#2 A#3", "A#3 A#3", "A#3 B#2", "B#2 B#2"]),
        ("SEQ(A x, B y)", ["x<", "y>"], ["x y"]),
    ],
)  # fmt: skip
def test_templates(pattern: str, states: list[str], transitions: list[str]) -> None:
    plan = trend(f"PATTERN {pattern}{TAIL}")
    marks = [
        f"{plan.components[state.component].variable}{'<' if state.start else ''}{'>' if state.end else ''}"
        for state in plan.template.states
    ]
    assert marks == states
    names = [component.variable for component in plan.components]
    assert [f"{names[part.source]} {names[part.target]}" for part in plan.template.transitions] == transitions


def test_query_1_of_greta() -> None:
    plan = trend(
        "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [symbol,sector] AND S.price > NEXT(S).price "
        "GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds",
        STOCK,
    )
    assert plan.components == (Component("S", one_type("Stock"), closure=True),)
    assert plan.template.states == (TrendState(0, start=True, end=True),)
    assert (plan.key, plan.group, plan.strategy, plan.strict) == (
        ("symbol", "sector"), ("sector",), Strategy.ANY, False,
    )  # fmt: skip
    assert plan.window == Window(600_000, False, 10_000, None)
    assert plan.aggregates == (TrendAggregate("count", None, None, None),)
    assert plan.returns == (ReturnItem("COUNT(*)", TrendValue(0, Kind.INT)),)
    assert conditions(plan) == {"S -> S": ["S.price > NEXT(S).price"]}


@pytest.mark.parametrize(
    ("pattern", "where", "expected"),
    [
        ("A+", "A.x > 1", {"A": ["A.x > 1"]}),
        ("A+ a[]", "a[i].x > 1", {"a": ["a.x > 1"]}),
        ("A+ a[]", "A.x > 1", {"a": ["a.x > 1"]}),
        ("A S+", "S.x * 1.05 < NEXT(S).x", {"S -> S": ["S.x * 1.05 < NEXT(S).x"]}),
        ("A+ a[]", "a[i].x < a[i-1].x", {"a -> a": ["NEXT(a).x < a.x"]}),
        ("A+ a[]", "a[i-1].x > 2", {"a -> a": ["a.x > 2"]}),
        ("SEQ(A+, B)", "A.x < NEXT(A).x AND A.y = NEXT(B).y",
         {"A -> A": ["A.x < NEXT(A).x"], "A -> B": ["A.y = NEXT(B).y"]}),
        ("(SEQ(A+, B))+", "B.x < NEXT(A).x", {"B -> A": ["B.x < NEXT(A).x"]}),
        ("(SEQ(A+, B))+", "A.x < NEXT(A).x OR A.y > 3", {"A -> A": ["A.x < NEXT(A).x OR A.y > 3"]}),
        ("SEQ(A a, B b)", "a.x < b.x", {"a -> b": ["a.x < NEXT(b).x"]}),
        ("SEQ(A+ a[], B b)", "a[last].x < b.x", {"a -> b": ["a.x < NEXT(b).x"]}),
        ("SEQ(A a, B+ b[])", "b[1].x > a.x", {"a -> b": ["NEXT(b).x > a.x"]}),
        ("SEQ(A a, B b)", "1 = 2", {"a": ["1 = 2"]}),
        ("SEQ(A a, B+ b[])", "b[i].ts > 5 AND NOT a.flag", {"a": ["NOT a.flag"], "b": ["b.ts > 5"]}),
        ("SEQ(A a, (SEQ(B+ b, C))+)", "a.x < b[1].x", {"a -> b": ["a.x < NEXT(b).x"]}),
        ("(SEQ(A a, B b))+", "a[i].x < b[i].x", {"a -> b": ["a.x < NEXT(b).x"]}),
        ("(SEQ(A a, B b))+", "b[i].x < a[i].x", {"a -> b": ["NEXT(b).x < a.x"]}),
        ("ANY(2, A a, B b)", "a.x < b.x", {"a -> b": ["a.x < NEXT(b).x"], "b -> a": ["NEXT(a).x < b.x"]}),
        ("SEQ(A?, B+)", "A.x = 1 AND B.x < NEXT(B).x", {"A": ["A.x = 1"], "B -> B": ["B.x < NEXT(B).x"]}),
        ("A+", "A.x * 2 + 1 < NEXT(A).x - 1 AND A.y != NEXT(A).y",
         {"A -> A": ["A.x * 2 + 1 < NEXT(A).x - 1", "A.y != NEXT(A).y"]}),
        ("SEQ(A a, B+ b[], A c)", "[B.k]", {"b": ["b.k = b.k"], "b -> b": ["b.k = NEXT(b).k"]}),
    ],
)  # fmt: skip
def test_conditions(pattern: str, where: str, expected: dict[str, list[str]]) -> None:
    assert conditions(trend(f"PATTERN {pattern} WHERE {where}{TAIL}")) == expected


@pytest.mark.parametrize(
    ("pattern", "where", "message"),
    [
        ("SEQ(A+, B)", "B.x < NEXT(A).x", "A never directly follows B in a trend"),
        ("(SEQ(A+ a[], B))+", "a[i].x < a[i-1].x",
         "a[i-1] may belong to an earlier round of the group, and is not adjacent to a[i]"),
        ("(SEQ(A a, B b))+", "a.x < b.x", "which a is a.x beside b?"),
        ("(SEQ(A a, B? c, B b))+", "a[i].x < b[i].x", "b does not always directly follow a in a trend"),
        ("SEQ(A a, B? b, C c)", "a.x < c.x", "c does not always directly follow a in a trend"),
        ("SEQ(A+ a, B? c, B b)", "a[last].x < b.x", "b does not always directly follow a in a trend"),
        ("(SEQ(A a, B+ b))+", "a[i].x < b[i].x", "a[i] and b are not always adjacent"),
        ("SEQ(A a, B b, C c)", "a.x + b.x < c.x", "a condition on three events or more"),
        ("SEQ(A+ a, B b)", "a[1].x < b.x", "b does not always directly follow a in a trend"),
        ("SEQ(A+ a, B b)", "a[i-1].x < b.x", "a[i-1] and b are not adjacent"),
        ("SEQ(A+ a, B b)", "a[i-1].x < a.x", "which a is a.x beside a[i-1]?"),
        ("A+ a", "a.len > 2", "a.len counts the events of one trend"),
        ("SEQ(A a, NOT B b, C c)", "b.x < c.x",
         "b stands inside a NOT, which is looked for once for all trends, not for each c"),
        ("SEQ(A a, NOT B b, C c, NOT D d)", "b.x < d.x", "a condition on the events of two NOTs"),
        ("A a AND B b", "a.x < b.x", "a and b stand on two sides of an AND"),
        ("SEQ(A a, B b, C c)", "a.x < c.x", "c never directly follows a in a trend"),
        ("A+", "NEXT(A).x > 1", "a condition with NEXT is about two adjacent events"),
        ("SEQ(A, B)", "A.x < NEXT(B).x + NEXT(A).x", "a condition with NEXT is about two adjacent events"),
        ("SEQ(A+ a[], B b)", "a.x < b.x", "which a is a.x beside b?"),
        ("A+ a[]", "a[1].x > 3", "a[1].x is the first of a trend's a: GRETA knows adjacent events only"),
        ("A+ a[]", "a[last].x > 3", "a[last].x is the last of a trend's a: GRETA knows adjacent events only"),
        ("A+ a[]", "a[i].x > a[i-2].x", "a[i-2] and a[i] are not adjacent in a trend"),
        ("A+ a[]", "a[i].x > avg(a[..i-1].x)",
         "avg runs over the events of one trend, which is never built"),
        ("A+", "x > 3", "x stands alone"),
        ("SEQ(A, B, A)", "A.x > 3 AND [A.k]", "events that must agree are not all in a row in the trend"),
        ("SEQ(A, B b)", "b[i].x > 3", "b is one event, not a closure"),
        ("SEQ(A a, B, A c)", "A.x > 3", "several components have the type 'A'"),
    ],
)  # fmt: skip
def test_refused_conditions(pattern: str, where: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        trend(f"PATTERN {pattern} WHERE {where}{TAIL}")
    assert caught.value.message == message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("within", "window"),
    [
        ("WITHIN 1 h", Window(3_600_000, False, 3_600_000, None)),
        ("WITHIN 100 EVENTS", Window(100, True, 100, None)),
        ("WITHIN 1 min SLIDE 10 s", Window(60_000, False, 10_000, None)),
        ("WITHIN 1 min OPEN ON D", Window(60_000, False, None, OpenOn("D", None))),
    ],
)
def test_a_window_alone_tumbles(within: str, window: Window) -> None:
    assert trend(f"PATTERN A+ {within} RETURN COUNT(*)").window == window


def test_windows_that_overlap_beyond_all_measure_are_refused() -> None:
    assert trend("PATTERN A+ WITHIN 10 s SLIDE 1 ms RETURN COUNT(*)").window.slide == 1
    with pytest.raises(QueryError, match="query error: 3600000 windows overlap\n"):
        trend("PATTERN A+ WITHIN 1 h SLIDE 1 ms RETURN COUNT(*)")


def test_groups_are_part_of_the_key_and_strict_time_is_kept() -> None:
    plan = trend("PATTERN A+ WHERE [k] GROUP BY y, k TIME STRICT WITHIN 1 h RETURN y, k, COUNT(*) AS n, COUNT(*)")
    assert (plan.key, plan.group, plan.strict) == (("k", "y"), ("y", "k"), True)
    assert [item.name for item in plan.returns] == ["n", "COUNT(*)"]
    assert plan.text == (
        "PATTERN A+ WHERE [k] GROUP BY y, k WITHIN 3600000 ms RETURN y, k, COUNT(*) AS n, COUNT(*) TIME STRICT"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("RETURN k, COUNT(*)", "k is no attribute by which trends are grouped"),
        ("GROUP BY k RETURN k AS key, COUNT(*)", "group attributes keep their names in results"),
        ("RETURN COUNT(*), MIN(A.k)", "min of strings"),
        ("RETURN COUNT(*), SUM(A)", "sum needs an attribute"),
        ("RETURN COUNT(*), MAX(*)", "* stands in COUNT(*) only"),
        ("RETURN COUNT(*), avg(A[].x)", "brackets mean the list of one match, and trends are never built"),
        ("RETURN COUNT(*) HAVING k = 'p'", "k is no attribute by which trends are grouped"),
        ("RETURN COUNT(*) HAVING COUNT(*) + 1", "a condition is true or false, this is a number"),
        ("RETURN COUNT(*), NEXT(A).x", "NEXT stands in WHERE only"),
        ("RETURN COUNT(*), COUNT(*)", "two items of RETURN are called 'COUNT(*)'"),
        ("GROUP BY q RETURN COUNT(*)", "unknown attribute 'q' of type A"),
        ("GROUP BY ts RETURN COUNT(*)", "'ts' cannot partition the stream"),
    ],
)
def test_refused_results(query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        trend(f"PATTERN A+ WITHIN 1 h {query}")
    assert caught.value.message == message


def test_an_attribute_that_no_event_has_lets_no_trend_through() -> None:
    plan = compile_query("PATTERN SEQ(A+, B) WHERE [nothing]" + TAIL, LETTERS, lenient=True)
    assert isinstance(plan, TrendPlan)
    assert (plan.key, conditions(plan)) == (("nothing",), {})


def test_kinds_are_those_of_the_schema() -> None:
    plan = trend("PATTERN A+ WHERE A.k = NEXT(A).k" + TAIL)
    assert {Kind.STRING} == {
        side.kind  # type: ignore[union-attr]
        for expr in plan.template.transitions[0].conditions
        for side in (expr.left, expr.right)  # type: ignore[union-attr]
    }
