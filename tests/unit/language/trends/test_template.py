"""Templates (T2, T4, T10): one path for each labelled sequence of events, and no more states than are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from saffron.errors import QueryError
from saffron.language import parse
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import Template, TrendPlan
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from tests.unit.language.samples import LETTERS


def bound(pattern: str, where: str = "", tail: str = "RETURN COUNT(*)") -> TrendPlan:
    text = f"PATTERN {pattern} {where} WITHIN 1 h {tail}"
    return bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")


def shown(template: Template, plan: TrendPlan) -> str:
    """`A< B!1>2 | 0-1 1~0!0`: states (start, end, their leading and trailing NOTs); transitions with theirs."""
    states = []
    for state in template.states:
        leading = "".join(f"!{number}" for number in state.leading)
        trailing = "".join(f"!{number}" for number in state.trailing)
        name = plan.components[state.component].variable
        states.append(name + "<" * state.start + leading + ">" * state.end + trailing)
    links = [f"{one.source}-{one.target}" + "".join(f"!{n}" for n in one.absences) for one in template.transitions]
    return " ".join(states) + " | " + " ".join(links)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(SEQ(A+, B))+", "A< B> | 0-0 0-1 1-0"),
        ("(A+){2}", "A< A> | 0-1 1-1"),
        ("A{2,3}", "A< A> A> | 0-1 1-2"),
        ("A{2,}", "A< A> | 0-1 1-1"),
        ("A{3}", "A< A A> | 0-1 1-2"),
        ("A*", "A<> | 0-0"),
        ("SEQ(A, B?, C*)", "A<> B> C> | 0-1 0-2 1-2 2-2"),
        ("SEQ(A*, B?)", "A<> B<> | 0-0 0-1"),
        ("A OR SEQ(A x, B)", "A<> x< B> | 1-2"),
        ("(A | B)+", "A<> B<> | 0-0 0-1 1-0 1-1"),
        ("SEQ(A, B) OR SEQ(A x, B y)", "A< B> x< y> | 0-1 2-3"),
        ("ANY(2, A, B)", "A< A> B< B> | 0-3 2-1"),
        ("ANY(2, A+)", "A< A> | 0-1 1-1"),
        ("SEQ(A, ANY(1, B, C), D)", "A< B C D> | 0-1 0-2 1-3 2-3"),
        ("SEQ(A+, NOT C, B)", "A< B> | 0-0 0-1!0"),
        ("SEQ(NOT C, A+)", "A<!0> | 0-0"),
        ("SEQ(A+, NOT C)", "A<>!0 | 0-0"),
        ("SEQ(NOT C, A, NOT D, B?, NOT C)", "A<!0>!1!2 B>!2 | 0-1!1"),
        ("SEQ(NOT C, A?, B)", "A<!0 B<!0> | 0-1"),
        ("SEQ(A, NOT C, B?, D)", "A< B D> | 0-1!0 0-2!0 1-2"),
        ("(SEQ(A, NOT C, B))+", "A< B> | 0-1!0 1-0"),
    ],
)
def test_templates(pattern: str, expected: str) -> None:
    plan = bound(pattern)
    assert shown(plan.template, plan) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(A, NOT C, B)", ["C<> | "]),
        ("SEQ(A, NOT C+, B)", ["C<> | "]),
        ("SEQ(A, NOT C*, B)", ["C<> | "]),
        ("SEQ(A, NOT C{2,}, B)", ["C< C> | 0-1"]),
        ("SEQ(A, NOT C, NOT D, B)", ["C< D> | 0-1"]),
        ("SEQ(A, NOT SEQ(C, D)+, B)", ["C< D> | 0-1"]),
        ("SEQ(A, NOT SEQ(C+, D+), B)", ["C< D> | 0-1"]),
        ("SEQ(A, NOT (C AND D), B)", ["C< C> D< D> | 0-3 2-1"]),
        ("SEQ(A, NOT (C OR SEQ(C x, D)), B)", ["C<> x< D> | 1-2"]),
        ("(SEQ(A+, NOT SEQ(C, NOT B n, D), B))+", ["C< D> | 0-1!1", "n<> | "]),
        ("SEQ(A, NOT SEQ(C, NOT SEQ(D, NOT A x, C y), D z), B)", ["C< z> | 0-1!1", "D< y> | 0-1!2", "x<> | "]),
        ("SEQ(NOT C, A, NOT D)", ["C<> | ", "D<> | "]),
    ],
)
def test_negatives_are_as_short_as_can_be_and_name_later_ones(pattern: str, expected: list[str]) -> None:
    plan = bound(pattern)
    assert [shown(one, plan) for one in plan.negatives] == expected
    for number, one in enumerate(plan.negatives):
        assert all(absent > number for link in one.transitions for absent in link.absences)


def test_conditions_of_a_not_are_its_own() -> None:
    plan = bound("SEQ(A, NOT SEQ(C c, D d), B)", "WHERE c.x > 1 AND c.x < d.x AND A.x = 2")
    (negative,) = plan.negatives
    assert (len(negative.local[0]), len(negative.transitions[0].conditions)) == (1, 1)
    assert [len(local) for local in plan.template.local] == [1, 0]


@pytest.mark.parametrize("where", ["c[i].x < d[i].x AND d[i].x > 3", "c.x < d.x AND d.x > 3"])
def test_components_of_a_not_in_a_repetition_may_be_called_by_iteration(where: str) -> None:
    (negative,) = bound("(SEQ(A, NOT SEQ(C c, D d), B))+", f"WHERE {where}").negatives
    assert (len(negative.local[1]), len(negative.transitions[0].conditions)) == (1, 1)


NEXT = "WHERE skip-till-next-match"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A+", "A<> | 0-0=0"),
        ("SEQ(A, B)", "A< B> | 0-1=0"),
        ("SEQ(A, B+, C)", "A< B C> | 0-1=0 1-1=1,2 1-2="),
        ("(SEQ(A+, B))+", "A< B> | 0-0=0,1 0-1= 1-0=2"),
        ("SEQ(A, B?, C)", "A< B C> | 0-1=0 0-2=1 1-2=2"),
        ("SEQ(A+, B?, C)", "A< B C> | 0-0=0,1,2 0-1= 0-2= 1-2=3"),
        ("(A | B)+", "A<> B<> | 0-0=0,1 0-1=0,1 1-0=2,3 1-1=2,3"),
    ],
)
def test_what_waits_under_skip_till_next_match(pattern: str, expected: str) -> None:
    plan = bound(pattern, NEXT)
    states = [plan.components[one.component].variable + "<" * one.start + ">" * one.end for one in plan.template.states]
    links = [f"{one.source}-{one.target}={','.join(map(str, one.ends))}" for one in plan.template.transitions]
    assert " ".join(states) + " | " + " ".join(links) == expected
    assert {one.strategy for one in plan.template.transitions} == {Strategy.NEXT}


def test_strategies_step_by_step() -> None:
    plan = bound("SEQ(A, B+ b, C)", "WHERE skip-till-next-match, strict-contiguity(b[i]), skip-till-any-match(C)")
    found = {(one.source, one.target): (one.strategy, one.ends) for one in plan.template.transitions}
    assert found == {
        (0, 1): (Strategy.NEXT, (0,)),
        (1, 1): (Strategy.STRICT, ()),
        (1, 2): (Strategy.ANY, ()),
    }


@pytest.mark.parametrize(
    ("pattern", "where", "message", "part"),
    [
        ("(A+){2}", NEXT, "skip-till-next-match cannot count trends that go through the pattern in two ways",
         "(A+){2}"),
        ("A AND B AND C", "", "AND counts pairs of trends: it has two sides here", "A AND B AND C"),
        ("SEQ(A, (B AND C))", "", "AND inside another pattern counts no pairs of trends", "B AND C"),
        ("ANY(2, A, B) DISTINCT k", "",
         "DISTINCT compares events that are not adjacent, and GRETA sees pairs of adjacent ones only",
         "ANY(2, A, B) DISTINCT k"),
        ("(A OR A x)+ AND B", "", "events are one trend of a side of AND, and can be read here as two", "(A OR A x)+"),
        ("A+ AND B+", NEXT, "what both sides of an AND select by skip-till-next-match is not known",
         "skip-till-next-match"),
        ("(SEQ(A, NOT B))+", "", "a NOT that begins or ends a SEQ stands in the outermost SEQ only", "NOT B"),
        ("SEQ(A, NOT (NOT B), C)", "", "a NOT of a NOT", "NOT B"),
        ("NOT A", "", "a NOT outside of SEQ", "NOT A"),
        ("SEQ(A, ANY(2, SEQ(B, NOT D, C), B y))", "",
         "a NOT looks back over other events of the trend, which are not adjacent",
         "SEQ(A, ANY(2, SEQ(B, NOT D, C), B y))"),
        ("(SEQ(A a, NOT C, A b) OR SEQ(A c, A d)) AND B", "",
         "events are one trend of a side of AND, and can be read here as two", None),
        ("A{63}", "", "the pattern needs more than 62 states", "A{63}"),
        ("A{1000}", "", "the pattern has more than 500 places", "A{1000}"),
        ("ANY(9, " + ", ".join(f"A a{n}" for n in range(10)) + ")", "", "the pattern has more than 500 places", None),
    ],
)  # fmt: skip
def test_refused_patterns(pattern: str, where: str, message: str, part: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        bound(pattern, where)
    error = caught.value
    assert (error.message, error.stage) == (message, "plan")
    assert error.hint
    assert part is None or part == error.text[error.start : error.end]


def test_places_that_ask_for_different_things_are_not_put_together() -> None:
    with pytest.raises(QueryError, match="an event continues a trend in two ways"):
        bound("(SEQ(A+, NOT C, B?)){2}")


# ---------------------------------------------------------------- AND


def test_what_both_sides_of_and_match() -> None:
    plan = bound("SEQ(A+, B) AND SEQ(A x, B+ y)", "WHERE A.x < NEXT(A).x AND x.x > 3 AND x.y < NEXT(y).y")
    right, common = plan.sides
    assert shown(plan.template, plan) == "A< B> | 0-0 0-1"
    assert shown(right, plan) == "x< y> | 0-1 1-1"
    assert shown(common, plan) == "A< B> | 0-1"
    assert {node.component for expr in common.transitions[0].conditions for node in (expr.left, expr.right)} == {0, 1}  # type: ignore[union-attr]
    assert common.local[0] != ()


def test_sides_that_have_nothing_in_common() -> None:
    plan = bound("A+ AND SEQ(A x, B)")
    assert plan.sides[1] == Template((), (), ())


def test_nots_of_both_sides_hold_for_what_both_match() -> None:
    plan = bound("SEQ(A, NOT C, B) AND SEQ(NOT D, A x, B y)")
    assert shown(plan.sides[1], plan) == "A<!1 B> | 0-1!0"


# ---------------------------------------------------------------- against a plain definition


def words(length: int, alphabet: str = "AB") -> Iterator[str]:
    if length == 0:
        yield ""
        return
    for word in words(length - 1, alphabet):
        yield word
        for letter in alphabet:
            if len(word) == length - 1:
                yield word + letter


def paths(template: Template, labels: Sequence[str], word: str) -> int:
    """How many paths of a template read a word of one-letter components."""
    counts = [int(state.start and labels[state.component] == word[0]) for state in template.states]
    for letter in word[1:]:
        counts = [
            sum(counts[one.source] for one in template.transitions if one.target == at)
            * (labels[state.component] == letter)
            for at, state in enumerate(template.states)
        ]
    return sum(count for count, state in zip(counts, template.states, strict=True) if state.end)


@pytest.mark.parametrize(
    ("pattern", "expression"),
    [
        ("(SEQ(A+, B))+", "(A+B)+"),
        ("((A+){2} | B)+", "((A+){2}|B)+"),
        ("(SEQ(A{1,3}, B?)){2,3}", "(A{1,3}B?){2,3}"),
        ("SEQ((A | B)*, (SEQ(B?, A+))+)", None),
        ("(SEQ(A*, B*)){2}", "(A*B*){2}"),
        ("((SEQ(A?, B?))+)+", "(A?B?)+"),
    ],
)
def test_each_labelled_sequence_has_one_path(pattern: str, expression: str | None) -> None:
    plan = bound(pattern)
    labels = [component.variable for component in plan.components]
    if len(set(labels)) != 2:
        assert all(
            paths(plan.template, [str(n) for n in range(len(labels))], word) <= 1 for word in words(5, "0123") if word
        )
        return
    assert expression is not None
    for word in words(7):
        if word:
            assert paths(plan.template, labels, word) == (re.fullmatch(expression, word) is not None), word
