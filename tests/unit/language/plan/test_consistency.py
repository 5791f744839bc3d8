"""The classes of conditions (X4), against all subsets of small lists; and what is postponed, against the engine."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest

from saffron.engine.match.compressed.slots import Slots
from saffron.language import compile_query, explain_json, explain_text
from saffron.language.plan.consistency import Consistency, EvaluationTime, condition_timings, consistency
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Const, Expr, Length, Scope, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Component, Strategy
from saffron.schema.event_types import one_type
from saffron.schema.schema import Kind
from tests.unit.engine.match import cases
from tests.unit.engine.match.texts import text_of

COMPONENTS = (Component("a", one_type("A"), False), Component("b", one_type("B"), True))
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
FOLDS: dict[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "count": len,
    "first": lambda values: values[0],
}


def value(expr: Expr, own: float, chosen: Sequence[float]) -> float:
    """Of an expression over a.x = `own` and the values of b that are chosen."""
    match expr:
        case Const():
            assert isinstance(expr.value, int)
            return expr.value
        case Attribute():
            return own
        case Aggregate():
            return FOLDS[expr.function](chosen)
        case Length():
            return len(chosen)
        case Unary():
            return not value(expr.operand, own, chosen)
        case Binary(operator="and"):
            return bool(value(expr.left, own, chosen)) and bool(value(expr.right, own, chosen))
        case Binary(operator="or"):
            return bool(value(expr.left, own, chosen)) or bool(value(expr.right, own, chosen))
        case Binary():
            return OPERATORS[expr.operator](value(expr.left, own, chosen), value(expr.right, own, chosen))
    raise AssertionError(expr)


def number(rng: random.Random, depth: int = 0) -> Expr:
    roll = rng.random()
    if roll < 0.25:
        return Attribute(0, Which.SINGLE, "x", Kind.INT)
    if roll < 0.35:
        return Const(rng.randrange(-2, 3))
    if roll < 0.45:
        return Length(1)
    if roll < 0.8 or depth == 2:
        return Aggregate(rng.choice(list(FOLDS)), 1, Scope.CLOSED, "x", Kind.INT)
    return Binary(rng.choice("+-*"), number(rng, depth + 1), number(rng, depth + 1))


def condition(rng: random.Random) -> Expr:
    made: Expr = Binary(rng.choice(["<", "<=", ">", ">=", "="]), number(rng), number(rng))
    if rng.random() < 0.2:
        made = Binary(rng.choice(["and", "or"]), made, condition(rng))
    return Unary("not", made) if rng.random() < 0.2 else made


def test_classes_hold_of_all_subsets() -> None:
    rng = random.Random(20146)
    seen: dict[Consistency, int] = dict.fromkeys(Consistency, 0)
    for _ in range(600):
        expr = condition(rng)
        found = consistency(expr, COMPONENTS)
        seen[found] += 1
        for _ in range(8):
            own, values = rng.randrange(-3, 4), [rng.randrange(-3, 4) for _ in range(rng.randrange(1, 5))]
            of_all = bool(value(expr, own, values))
            subsets = [list(c) for size in range(1, len(values)) for c in combinations(values, size)]
            answers = {bool(value(expr, own, chosen)) for chosen in subsets}
            if found is Consistency.BOTH or found is (Consistency.TRUE if of_all else Consistency.FALSE):
                assert answers <= {of_all}, (expr, own, values)
    assert min(seen.values()) > 20


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("b[i].x > 5", Consistency.BOTH),
        ("c.x = a.x", Consistency.BOTH),
        ("b[i].x > max(b[..i-1].x)", Consistency.TRUE),
        ("2 * min(b[..i-1].x) >= b[i].x", Consistency.TRUE),
        ("c.x < max(b[].x)", Consistency.FALSE),
        ("b.len >= 3 AND c.x < max(b[].x)", Consistency.FALSE),
        ("NOT c.x < max(b[].x)", Consistency.TRUE),
        ("b[i].x > avg(b[..i-1].x)", Consistency.NEITHER),
        ("b[i].x >= b[i-1].x", Consistency.NEITHER),
    ],
)
def test_conditions_of_the_paper(text: str, found: Consistency) -> None:
    plan = _plan(text)
    assert {consistency(check.expr, plan.components) for check in plan.checks} == {found}


def _plan(conditions: str) -> MatchPlan:
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match {{ {conditions} }} WITHIN 9 ms"
    return cases.plan_of(text)


def test_explanations_say_when_conditions_are_asked() -> None:
    plan = _plan("b[i].x > 5 AND a.k = c.k AND b[i].x >= max(b[..i-1].x)")
    lines = [
        "evaluation time of conditions (SASE++)",
        "  b[i].x > 5                 filters early: true- and false-value consistent",
        "  a.k = c.k                  postponed: true- and false-value consistent",
        "  b[i].x >= max(b[..i-1].x)  postponed: true-value consistent",
    ]
    assert "\n".join(lines) in explain_text(plan)
    asked = [one["asked"] for one in explain_json(plan)["postponing"]]
    assert asked == ["filters early", "postponed", "postponed"]
    assert "of each run: inconsistent" in explain_text(_plan("b[i].x > avg(b[..i-1].x)"))
    assert "postponing" not in explain_json(compile_query("PATTERN SEQ(A a, B b) WITHIN 9 ms", cases.SCHEMA, name="q"))


def test_what_is_postponed_is_what_graphs_take() -> None:
    rng, seen = random.Random(7), {True: 0, False: 0}
    while min(seen.values()) < 60:
        made = cases.plan_of(text_of(cases.plan(rng, Strategy.ANY)))
        if not any(component.closure for component in made.components):
            continue
        asked = {one.time for one in condition_timings(made)}
        assert (EvaluationTime.ONWARD in asked) is not Slots(made).possible, made
        assert (asked <= {EvaluationTime.EARLY}) is not bool(Slots(made).questions), made
        seen[EvaluationTime.ONWARD in asked] += 1
