"""Match queries of any pattern: checks, keys, conditions of NOTs, strategies by step, clauses, own aggregates."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import bind, compile_query
from saffron.language.plan.clauses import Output
from saffron.language.plan.expressions import Aggregate, Binary
from saffron.language.plan.formulas import formula
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.language.scope.composition import attributes_of
from saffron.schema.schema import Kind
from tests.unit.language.samples import LETTERS


def match(text: str, aggregates: frozenset[str] = frozenset()) -> MatchPlan:
    plan = compile_query(text + " WITHIN 1 h", LETTERS, aggregates=aggregates)
    assert isinstance(plan, MatchPlan)
    return plan


def checks(plan: MatchPlan) -> list[str]:
    return [formula(check.expr, [part.variable for part in plan.components]) for check in plan.checks]


def inside(plan: MatchPlan, number: int = 0) -> list[str]:
    names = [part.variable for part in plan.components]
    return [formula(check.expr, names) for check in plan.absences[number].checks]


@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        ("SEQ(A a, B b)+", "b[i].x > a[i].x"),
        ("SEQ(A a, B b)+", "a[i].x > b[i].x AND b[i].x > a[i-1].x AND a.len > 2"),
        ("SEQ(A a, B b)+", "b[i].x > a[1].x"),
        ("SEQ(A a, B+ b)+", "a[i].x < b[i].x"),
        ("(A a AND B b)+", "a[i].x < b[i].x"),
        ("SEQ(A a, SEQ(B b, C+ c)+)", "c[i].x > b[i].x AND c[i].x > a.x"),
        ("SEQ(A? a, B+ b)", "b[i].x > a.x"),
        ("A a AND B b", "a.x < b.x"),
        ("SEQ(A+ a, B+ b)", "b[i].x > a[last].x AND b[i].x > avg(a[].x)"),
        ("A+ a AND B+ b", "a[last].x > avg(b[].x)"),
        ("SEQ(A a, B b)+", "sum(a[].x) > sum(b[].x)"),
        ("SEQ((A a OR B b), C+ c)", "c[i].x > a.x AND c[i].x > b.x"),
        ("SEQ(A{2} a, C c)", "c.x > a[1].x AND a[i].x > a[i-1].x"),
    ],
)
def test_conditions_become_checks(pattern: str, condition: str) -> None:
    bound = bind(f"PATTERN {pattern} WHERE {condition} WITHIN 1 h", LETTERS, name="q")
    assert isinstance(bound.plan, MatchPlan)
    assert checks(bound.plan) == condition.split(" AND ")
    assert not [warning for warning in bound.warnings if "exponentially" not in warning]


def test_a_condition_on_both_sides_of_or_is_a_warning() -> None:
    bound = bind("PATTERN SEQ(A a, (B b OR C c)) WHERE b.x > c.x WITHIN 1 h", LETTERS, name="q")
    assert bound.warnings[0].startswith("query warning: no match has both b and c: the condition always holds\n")
    bound = bind("PATTERN (B b OR C c)+ WHERE b[i].x > c[i].x OUTPUT FIRST WITHIN 1 h", LETTERS, name="q")
    assert bound.warnings[0].startswith("query warning: no iteration has both b and c: the condition always holds\n")
    assert not bind("PATTERN (B b OR C c)+ WHERE b[1].x > c[1].x OUTPUT FIRST WITHIN 1 h", LETTERS, name="q").warnings


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("SEQ(A a, B b, A c)", "A.k", ["a.k = a.k", "c.k = c.k", "c.k = a.k"]),
        ("SEQ(A+ a, B b, A c)", "A.k", ["a[i].k = a[1].k", "c.k = c.k", "c.k = a[1].k"]),
        ("SEQ(A? a, B b, A? c, A d)", "A.k",
         ["a.k = a.k", "c.k = c.k", "d.k = d.k", "c.k = a.k", "d.k = a.k", "d.k = c.k"]),
        ("SEQ(A a, B b, A? c, A? d)", "A.k",
         ["a.k = a.k", "c.k = c.k", "d.k = d.k", "c.k = a.k", "d.k = a.k"]),
        ("SEQ(B b, (A a AND A+ c))", "A.k", ["a.k = a.k", "c[i].k = c[1].k", "c[1].k = a.k"]),
        ("SEQ(A a, NOT B n, C c)", "c.k", ["c.k = c.k"]),
    ],
)  # fmt: skip
def test_a_key_asked_of_some_components_becomes_checks(pattern: str, key: str, expected: list[str]) -> None:
    plan = match(f"PATTERN {pattern} WHERE [{key}]")
    assert checks(plan) == expected
    assert plan.key == ()


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("SEQ(A a, NOT A n, C c)", "A.k", ["n.k = a.k"]),
        ("SEQ(A? a, NOT SEQ(A n, A m), C c)", "A.k", ["n.k = a.k", "n.k = n.k", "m.k = a.k", "m.k = m.k", "m.k = n.k"]),
        ("SEQ(C a, NOT A{2} n, C c)", "A.k", ["n.k = n.k", '"n#2".k = "n#2".k', '"n#2".k = n.k']),
    ],
)
def test_a_key_is_asked_of_what_must_not_be_there_too(pattern: str, key: str, expected: list[str]) -> None:
    assert inside(match(f"PATTERN {pattern} WHERE [{key}]")) == expected


def test_a_key_of_all_components_holds_for_nots() -> None:
    plan = match("PATTERN SEQ(A a, NOT B{2} n, C c) WHERE [k]")
    assert (plan.key, plan.checks, plan.absences[0].checks) == (("k",), (), ())


@pytest.mark.parametrize(
    ("pattern", "condition", "expected"),
    [
        ("SEQ(A a, NOT B n, C c)", "n.x > a.x AND n.x < c.x", ["n.x > a.x", "n.x < c.x"]),
        ("SEQ(A a, NOT B n, C c)+", "n[i].x > a[i].x", ["n.x > a[i].x"]),
        ("SEQ(A+ a, NOT B n, C c)", "n.x > avg(a[].x)", ["n.x > avg(a[].x)"]),
        ("SEQ(A a, NOT B+ n, C c)", "n[i].x > a.x AND n[1].x > 2", ["n.x > a.x", "n.x > 2"]),
        ("SEQ(A a, NOT SEQ(B n, C m){2}, C c)", "n[i].x > m[i].x", ["n.x > m.x", '"n#2".x > "m#2".x']),
        ("SEQ(A a, NOT SEQ(B n, C{2} m){2}, C c)", "n[i].x > m[i].x",
         ["n.x > m.x", 'n.x > "m#2".x', '"n#2".x > "m#3".x', '"n#2".x > "m#4".x']),
        ("SEQ(A a, NOT ANY(2, B n, C m) DISTINCT k, C c)", "n.x > 1",
         ["n.x > 1", "n.k = n.k", "m.k = m.k", "m.k != n.k"]),
    ],
)  # fmt: skip
def test_conditions_that_name_a_negated_component_are_its_nots(
    pattern: str, condition: str, expected: list[str]
) -> None:
    plan = match(f"PATTERN {pattern} WHERE {condition}")
    assert inside(plan) == expected
    assert plan.checks == ()


ANY, NEXT, STRICT, PARTITION = Strategy.ANY, Strategy.NEXT, Strategy.STRICT, Strategy.PARTITION


@pytest.mark.parametrize(
    ("where", "whole", "begins", "continues", "flat"),
    [
        ("", NEXT, [NEXT, NEXT, NEXT], [NEXT, NEXT, NEXT], True),
        ("skip-till-any-match, strict-contiguity(b[i]), skip-till-next-match(c)",
         ANY, [ANY, ANY, NEXT], [ANY, STRICT, ANY], False),
        ("strict-contiguity(b)", NEXT, [NEXT, STRICT, NEXT], [NEXT, NEXT, NEXT], False),
        ("skip-till-any-match(a, b[], c)", ANY, [ANY, ANY, ANY], [ANY, ANY, ANY], True),
        ("skip-till-any-match(a, b, c), partition-contiguity(b[i])",
         ANY, [ANY, ANY, ANY], [ANY, PARTITION, ANY], False),
        ("skip-till-any-match(a, b, b[i], c)", ANY, [ANY, ANY, ANY], [ANY, ANY, ANY], True),
        ("skip-till-any-match(a), skip-till-any-match(b, b[i]), skip-till-any-match(c)",
         ANY, [ANY, ANY, ANY], [ANY, ANY, ANY], True),
    ],
)  # fmt: skip
def test_a_strategy_for_each_step(
    where: str, whole: Strategy, begins: list[Strategy], continues: list[Strategy], flat: bool
) -> None:
    plan = match("PATTERN SEQ(A a, B+ b[], C c)" + (f" WHERE {where}" if where else ""))
    assert (plan.strategy, list(plan.begins), list(plan.continues), plan.flat) == (whole, begins, continues, flat)


def test_the_papers_brackets_may_name_what_must_not_be_there() -> None:
    plan = match("PATTERN SEQ(A a, NOT B b, C c) WHERE skip_till_any_match(a, b, c)")
    assert (plan.strategy, plan.begins) == (ANY, (ANY, ANY))
    bound = bind("PATTERN SEQ(A a, NOT B b, C c) WHERE strict-contiguity(b) WITHIN 1 h", LETTERS, name="q")
    assert bound.warnings[0].startswith("query warning: b stands inside a NOT: no strategy governs it\n")


def test_clauses_of_the_output() -> None:
    plan = match("PATTERN SEQ(A a, NOT C n, B+ b) OUTPUT LONGEST WITH TIMEOUTS CONSUME b, a TIME STRICT")
    assert (plan.output, plan.timeouts, plan.consume, plan.strict) == (Output.LONGEST, True, (0, 1), True)
    assert match("PATTERN SEQ(A a, NOT C n, B+ b) CONSUME ALL").consume == (0, 1)
    assert match("PATTERN SEQ(A a, B+ b) CONSUME NONE").consume == ()
    assert match("PATTERN SEQ(A a, B+ b) CONSUME b").consume == (1,)
    assert match("PATTERN A a OUTPUT NON-OVERLAP").output is Output.NON_OVERLAP
    plain = match("PATTERN A a TIME ORDERED")
    assert (plain.output, plain.timeouts, plain.consume, plain.strict) == (Output.ALL, False, (), False)
    assert (plain.into, plain.confidence) == (None, None)


def test_into() -> None:
    plan = match("PATTERN SEQ(A a, B+ b) RETURN count(b[]) AS n, avg(b[].x) AS mean, a.x, a.x > 1 AS up INTO Rise")
    assert plan.into == "Rise"
    assert attributes_of(plan) == {"n": Kind.INT, "mean": Kind.FLOAT, "x": LETTERS.kinds["x"], "up": Kind.BOOL}


@pytest.mark.parametrize(
    ("text", "message", "part"),
    [
        ("RETURN a.x INTO B", "the stream itself has events of type 'B'", "B"),
        ("RETURN a.x AS ts INTO Rise", "an attribute cannot be called 'ts'", "a.x AS ts"),
        ("RETURN a.x > 1 AS x INTO Rise", "'x' is a number in the stream, and a truth value here", "a.x > 1 AS x"),
        (
            "RETURN * INTO Rise OUTPUT COMPRESSED",
            "a result that stands for many matches is no event to other queries",
            "COMPRESSED",
        ),
    ],
)
def test_what_cannot_be_an_event_is_refused(text: str, message: str, part: str) -> None:
    with pytest.raises(QueryError) as caught:
        match(f"PATTERN A a {text}")
    assert (caught.value.message, caught.value.text[caught.value.start : caught.value.end]) == (message, part)
    assert caught.value.hint


def test_imprecise_time_is_bound() -> None:
    plan = match("PATTERN SEQ(A a, B b) OUTPUT COMPRESSED CONFIDENCE >= 0.5")
    assert (plan.output, plan.confidence, plan.strategy) == (Output.COMPRESSED, 0.5, ANY)
    for clause, part in (
        ("WHERE strict-contiguity", "strict-contiguity"), ("OUTPUT FIRST", "FIRST"), ("CONSUME a", "a"),
        ("OUTPUT ALL WITH TIMEOUTS", "ALL WITH TIMEOUTS"),
    ):  # fmt: skip
        with pytest.raises(QueryError) as caught:
            match(f"PATTERN SEQ(A a, B b) {clause} CONFIDENCE >= 0.5")
        assert caught.value.text[caught.value.start : caught.value.end] == part
    with pytest.raises(QueryError, match="imprecise times give events no positions to count"):
        compile_query("PATTERN A a WITHIN 5 EVENTS CONFIDENCE >= 0.5", LETTERS)


def test_user_defined_aggregates() -> None:
    plan = match("PATTERN A+ a[] WHERE a[i].x > Median(a[..i-1].x) RETURN median(a[].y) AS m", frozenset({"MEDIAN"}))
    expr = plan.checks[0].expr
    assert isinstance(expr, Binary)
    assert isinstance(expr.right, Aggregate)
    assert expr.right.function == "median"
    assert isinstance(plan.returns[0].expr, Aggregate)
    with pytest.raises(QueryError) as caught:
        match("PATTERN A+ a[] WHERE medina(a[].x) > 1", frozenset({"median"}))
    assert caught.value.hint == "Your own: median. Did you mean 'median'?"
    with pytest.raises(QueryError, match="median of strings"):
        match("PATTERN A+ a[] WHERE median(a[].k) > 1", frozenset({"median"}))


def test_a_key_that_no_event_has() -> None:
    text = "PATTERN SEQ(A a, NOT B n, C c) WHERE {} WITHIN 1 h"
    plan = bind(text.format("[n.nothing]"), LETTERS, name="q", lenient=True).plan
    assert isinstance(plan, MatchPlan)
    assert (checks(plan), inside(plan)) == ([], ["n.nothing = n.nothing"])
    plan = bind(text.format("[nothing]"), LETTERS, name="q", lenient=True).plan
    assert isinstance(plan, MatchPlan)
    assert (checks(plan), inside(plan)) == ([], [])
