"""The parser: all that the papers print, what is one and the same, and errors in full."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from saffron.errors import QueryError
from saffron.language import is_name, parse
from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.printer import pattern_text, query_text
from tests.unit.language.samples import PAPERS, RALLY

HOUR = " WITHIN 1 hour"


@pytest.mark.parametrize("name", PAPERS)
def test_queries_of_the_papers_parse(name: str) -> None:
    query = parse(PAPERS[name])
    assert parse(query_text(query, named=True)) == query


def test_the_example_of_the_language_page() -> None:
    query = parse(RALLY)
    assert query.name == "rally"
    assert query_text(query) == (
        "PATTERN SEQ(Stock+ a[], Stock b) WHERE skip-till-next-match { [symbol] AND a[1].volume > 1000 "
        "AND a[i].price > avg(a[..i-1].price) AND b.volume < 0.8 * a[last].volume } WITHIN 3600000 ms "
        "RETURN a[1].symbol, a[last].price - a[1].price AS gain, count(a[])"
    )


def test_clauses_stand_in_any_order() -> None:
    one = parse("WITHIN 1 hour RETURN a.x WHERE a.x > 1 PATTERN A a QUERY q TIME STRICT FROM s")
    two = parse("query q from s pattern A a where a.x > 1 within 60 minutes return a.x time strict;")
    assert one == two
    assert (one.name, one.stream) == ("q", "s")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Stock+ a[]", "Stock+ a[]"),
        ("Stock+ a", "Stock+ a[]"),
        ("Stock a+", "Stock+ a[]"),
        ("Stock a[]+", "Stock+ a[]"),
        ("(Stock a)+", "Stock+ a[]"),
        ("Stock{2,3} a[]", "Stock{2,3} a[]"),
        ("Stock a{2,}", "Stock{2,} a[]"),
        ("Stock? a", "Stock? a"),
        ("seq(A a; B b)", "SEQ(A a, B b)"),
        ("(A a, B b)", "SEQ(A a, B b)"),
        ("((A a))", "A a"),
        ("SEQ(A a)", "SEQ(A a)"),
        ("(A+)+", "(A+)+"),
        ("SEQ(A, ~B, !C, ¬D, ∼E, NOT F)", "SEQ(A, NOT B, NOT C, NOT D, NOT E, NOT F)"),
        ("NOT A+", "NOT A+"),
        ("(NOT A)+", "(NOT A)+"),
        ("A | B & C", "A OR B AND C"),
        ("(A or B) and C", "(A OR B) AND C"),
        ("A OR (B OR C)", "A OR B OR C"),
        ("A ∪ B", "A OR B"),
        ("any(2, A, B) distinct from", "ANY(2, A, B) DISTINCT from"),
        ("SEQ(A weight, B time)", "SEQ(A weight, B time)"),
    ],
)
def test_patterns(written: str, canonical: str) -> None:
    assert pattern_text(parse(f"PATTERN {written}{HOUR}").pattern) == canonical


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a.x == 1", "a.x = 1"),
        ("a.x <> 1", "a.x != 1"),
        ("a.x ≥ 2 × b.x", "a.x >= 2 * b.x"),
        ("b.x < 80% * a.x", "b.x < 0.8 * a.x"),
        ("b.x < 80%*a[a.len].x", "b.x < 0.8 * a[last].x"),
        ("b.x < a.x * 0.1%", "b.x < a.x * 0.001"),
        ("b.x < (80%)", "b.x < 0.8"),
        ("80%x.y = 1", "80 % x.y = 1"),
        ("a.x %500==0", "a.x % 500 = 0"),
        ("7 % 5 = 2", "7 % 5 = 2"),
        ("7%5 = 2", "7 % 5 = 2"),
        ("50% - 1 < a.x", "0.5 - 1 < a.x"),
        ("b.ts - a.ts <= 5 s", "b.ts - a.ts <= 5000"),
        ("b.ts - a.ts <= 2.3s", "b.ts - a.ts <= 2300"),
        ("b.ts - a.ts <= 1.5 ms", "b.ts - a.ts <= 1.5"),
        ("b[1..i-1].x = 1", "b[..i-1].x = 1"),
        ("b[first].x = b[FIRST].x", "b[1].x = b[1].x"),
        ("b[ ].x = b[b.LEN].x", "b[].x = b[last].x"),
        ("b[i - 2].x = 1", "b[i-2].x = 1"),
        ("MIN(a.x, b.x) = max(1, 2)", "least(a.x, b.x) = greatest(1, 2)"),
        ("POSITION('@' IN a.s) > 1", "position(a.s, '@') > 1"),
        ("position(lower(b.s) in trim(a.s)) IN (1, 2)", "position(trim(a.s), lower(b.s)) IN (1, 2)"),
        ("position(a.s, '@') > 1", "position(a.s, '@') > 1"),
        ("Avg(b[].x) > 1", "avg(b[].x) > 1"),
        ("next(A).x > A.x", "NEXT(A).x > A.x"),
        ("-5 < - a.x", "-5 < -a.x"),
        ("- -5 < +a.x", "5 < a.x"),
        ("a.x - -1 = 0", "a.x - -1 = 0"),
        ("(a.x - b.x) - c.x = a.x - (b.x - c.x)", "a.x - b.x - c.x = a.x - (b.x - c.x)"),
        ("not a.x = 1 or b.flag", "NOT a.x = 1 OR b.flag"),
        ("not (a.x = 1 or b.flag)", "NOT (a.x = 1 OR b.flag)"),
        ("a.x not in (1, -2)", "NOT a.x IN (1, -2)"),
        ("a.order.id not in Blocked", "NOT a.order.id IN Blocked"),
        ('(b[i].x in "black-list") = true', '(b[i].x IN "black-list") = true'),
        ("a.from = 'it''s'", "a.from = 'it''s'"),
        ("a.where = true", "a.where = true"),
        ("(a.x > 1) = (b.x > 1)", "(a.x > 1) = (b.x > 1)"),
        ("a.x > 1 ∨ ¬(b.x > 1)", "a.x > 1 OR NOT b.x > 1"),
        ("a.(x, y)", "[x, y]"),
        ("[P.vehicle, segment]", "[P.vehicle, segment]"),
        ("[from, and]", "[from, and]"),
    ],
)
def test_conditions(written: str, canonical: str) -> None:
    query = parse(f"PATTERN A WHERE {written}{HOUR}")
    assert " AND ".join(map(expression_text, query.conditions)) == canonical


@pytest.mark.parametrize("shape", ["{}", "{}.0", "{}.00", "{}e0", "{}0e-1"])
def test_a_whole_literal_is_the_same_number_however_it_is_written(shape: str) -> None:
    for whole in (1, 2**53 - 1, 2**53 + 1, 2**60 + 1, 2**63 - 1):
        (condition,) = parse(f"PATTERN A a WHERE a.x = {shape.format(whole)} WITHIN 5 ms").conditions
        assert isinstance(condition, tree.Operation)
        assert isinstance(literal := condition.right, tree.Literal)
        assert literal.value == whole


def test_conjuncts_are_split_and_rows_flattened() -> None:
    query = parse(f"PATTERN A WHERE {{ [k] AND (a.x > 1 AND a.x > 2) AND (a.x > 3 OR a.x > 4) }}{HOUR}")
    assert [expression_text(condition) for condition in query.conditions] == [
        "[k]", "a.x > 1", "a.x > 2", "a.x > 3 OR a.x > 4",
    ]  # fmt: skip


def test_strategies_without_conditions() -> None:
    expected = (tree.StrategyUse("skip-till-any-match", ()),)
    for where in ("skip-till-any-match", "skip_till_any_match { }", "SKIP-TILL-ANY-MATCH"):
        assert parse(f"PATTERN A WHERE {where}{HOUR}").strategies == expected
    query = parse(f"PATTERN A WHERE strict-contiguity(a, b[ ], c[i]) AND a.x > 1{HOUR}")
    assert query.strategies == (
        tree.StrategyUse(
            "strict-contiguity", (tree.Target("a", False), tree.Target("b", False), tree.Target("c", True))
        ),
    )
    assert len(query.conditions) == 1


def test_return_spreads_attributes_of_one_variable() -> None:
    query = parse(f"PATTERN A a RETURN a.(x, y), sector, COUNT(*){HOUR}")
    assert query.returns is not None
    assert [expression_text(item.expression) for item in query.returns.items] == ["a.x", "a.y", "sector", "COUNT(*)"]
    assert parse(f"PATTERN A a RETURN *{HOUR}").returns == tree.Returns((), None)


def test_names() -> None:
    assert parse(f"QUERY a.b-c_1 PATTERN A{HOUR}").name == "a.b-c_1"
    assert parse(f"QUERY rally--fast\nPATTERN A{HOUR}").name == "rally"
    assert [is_name(name) for name in ("a", "_a.b-1", "", "1a", "a b", "ä", "a" * 201)] == [True, True] + [False] * 5


def error_cases() -> dict[str, tuple[str, str]]:
    """Title -> (query, error) of syntax_errors.txt."""
    _, *cases = re.split(r"^# ", Path(__file__).with_name("syntax_errors.txt").read_text(), flags=re.MULTILINE)
    split = (re.fullmatch(r"(.*?)\n(.*)\n----\n(.*?)\n+", case, re.DOTALL) for case in cases)
    return {found[1]: (found[2], found[3]) for found in split if found}


ERRORS = error_cases()


@pytest.mark.parametrize("name", ERRORS)
def test_errors_in_full(name: str) -> None:
    text, expected = ERRORS[name]
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value) == expected
    assert caught.value.stage == "syntax"


def test_no_error_case_is_lost() -> None:
    assert len(ERRORS) == Path(__file__).with_name("syntax_errors.txt").read_text().count("\n# ") > 20


def test_an_empty_text() -> None:
    with pytest.raises(QueryError, match="the query has no PATTERN\nLINE 1: \n        \\^\n"):
        parse(" \n")
