"""The parser: all that the papers print, what is one and the same, and errors in full."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import is_name, parse, tree
from saffron.language.printer import expression_text, pattern_text, query_text
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
        ("Avg(b[].x) > 1", "avg(b[].x) > 1"),
        ("next(A).x > A.x", "NEXT(A).x > A.x"),
        ("-5 < - a.x", "-5 < -a.x"),
        ("- -5 < +a.x", "5 < a.x"),
        ("a.x - -1 = 0", "a.x - -1 = 0"),
        ("(a.x - b.x) - c.x = a.x - (b.x - c.x)", "a.x - b.x - c.x = a.x - (b.x - c.x)"),
        ("not a.x = 1 or b.flag", "NOT a.x = 1 OR b.flag"),
        ("not (a.x = 1 or b.flag)", "NOT (a.x = 1 OR b.flag)"),
        ("a.x not in (1, -2)", "NOT a.x IN (1, -2)"),
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
        tree.StrategyUse("strict-contiguity", (tree.Target("a", False), tree.Target("b", False), tree.Target("c", True))),
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


ERRORS = {
    "no pattern": (
        "WITHIN 1 hour",
        "query error: the query has no PATTERN\nLINE 1: WITHIN 1 hour\n                     ^\n"
        "Every query needs one, as in: PATTERN SEQ(A a, B b).",
    ),
    "no window": (
        "PATTERN A",
        "query error: the query has no WITHIN\nLINE 1: PATTERN A\n                 ^\n"
        "Every query needs one, as in: WITHIN 1 hour.",
    ),
    "no unit": (
        "PATTERN A WITHIN 10",
        "query error: expected a unit after WITHIN 10, found the end of the query\nLINE 1: PATTERN A WITHIN 10\n"
        "                           ^\nUnits: ms, s, seconds, minutes, hours, days, EVENTS.",
    ),
    "wrong unit": (
        "PATTERN A WITHIN 10 minuts",
        "query error: expected a unit after WITHIN 10, found 'minuts'\nLINE 1: PATTERN A WITHIN 10 minuts\n"
        "                            ^^^^^^\nUnits: ms, s, seconds, minutes, hours, days, EVENTS. Did you mean 'minutes'?",
    ),
    "zero window": (
        "PATTERN A WITHIN 0 s",
        "query error: WITHIN needs a whole number of ms, from 1 to 2^53\nLINE 1: PATTERN A WITHIN 0 s\n"
        "                         ^^^",
    ),
    "half an event": (
        "PATTERN A WITHIN 1.5 EVENTS",
        "query error: WITHIN needs a whole number of events, from 1 to 2^53\nLINE 1: PATTERN A WITHIN 1.5 EVENTS\n"
        "                         ^^^^^^^^^^",
    ),
    "mixed units": (
        "PATTERN A WITHIN 1 h SLIDE 5 EVENTS",
        "query error: SLIDE counts in another unit than WITHIN\nLINE 1: PATTERN A WITHIN 1 h SLIDE 5 EVENTS\n"
        "                                   ^^^^^^^^\nGive WITHIN and SLIDE both as durations or both in EVENTS.",
    ),
    "open bracket": (
        "PATTERN SEQ(A a, B b\nWITHIN 1 h",
        "query error: expected ')' or ',' after a component, found 'WITHIN'\nLINE 2: WITHIN 1 h\n        ^^^^^^",
    ),
    "misspelt clause": (
        "PATTERN A WITHIN 1 h RETRUN a.x",
        "query error: expected the next clause, or the end of the query, found 'RETRUN'\n"
        "LINE 1: PATTERN A WITHIN 1 h RETRUN a.x\n                             ^^^^^^\nDid you mean 'return'?",
    ),
    "twice": (
        "PATTERN A WITHIN 1 h WITHIN 2 h",
        "query error: a second WITHIN\nLINE 1: PATTERN A WITHIN 1 h WITHIN 2 h\n"
        "                             ^^^^^^\nEach clause stands once.",
    ),
    "two queries": (
        "QUERY a PATTERN A WITHIN 1 h\nQUERY b PATTERN B WITHIN 1 h",
        "query error: a second QUERY\nLINE 2: QUERY b PATTERN B WITHIN 1 h\n        ^^^^^\nA file holds one query.",
    ),
    "key in OR": (
        "PATTERN A WHERE [x] OR A.y = 1 WITHIN 1 h",
        "query error: [...] is a condition of its own\nLINE 1: PATTERN A WHERE [x] OR A.y = 1 WITHIN 1 h\n"
        "                        ^^^\nJoin it to the others by AND, in WHERE.",
    ),
    "chained comparison": (
        "PATTERN A WHERE 1 < A.x < 5 WITHIN 1 h",
        "query error: expected the end of the comparison, found '<'\nLINE 1: PATTERN A WHERE 1 < A.x < 5 WITHIN 1 h\n"
        "                                ^\nJoin two comparisons by AND: 1 < a.x AND a.x < 5.",
    ),
    "event by number": (
        "PATTERN A+ a WHERE a[2].x = 1 WITHIN 1 h",
        "query error: no event of a closure has the number 2\nLINE 1: PATTERN A+ a WHERE a[2].x = 1 WITHIN 1 h\n"
        "                             ^\nIn brackets stand: 1, first, i, i-1, last, ..i-1, or nothing.",
    ),
    "range to i": (
        "PATTERN A+ a WHERE max(a[..i].x) = 1 WITHIN 1 h",
        "query error: a range runs over the events taken so far\n"
        "LINE 1: PATTERN A+ a WHERE max(a[..i].x) = 1 WITHIN 1 h\n                                 ^^^\n"
        "Write b[..i-1] for those, b[] for the finished closure.",
    ),
    "another's length": (
        "PATTERN A+ a WHERE a[b.len].x = 1 WITHIN 1 h",
        "query error: the length of another closure\nLINE 1: PATTERN A+ a WHERE a[b.len].x = 1 WITHIN 1 h\n"
        "                             ^^^^^\nWrite a[last].",
    ),
    "star alone": (
        "PATTERN A RETURN sum(*) WITHIN 1 h",
        "query error: * stands in COUNT(*) only\nLINE 1: PATTERN A RETURN sum(*) WITHIN 1 h\n"
        "                             ^",
    ),
    "IN an expression": (
        "PATTERN A WHERE A.x IN (1, A.y) WITHIN 1 h",
        "query error: IN takes literals only\nLINE 1: PATTERN A WHERE A.x IN (1, A.y) WITHIN 1 h\n"
        "                                   ^^^\nWrite numbers, 'strings', true or false.",
    ),
    "bounds": (
        "PATTERN A{3,2} WITHIN 1 h",
        "query error: the upper bound is too small\nLINE 1: PATTERN A{3,2} WITHIN 1 h\n                 ^^^^^\n"
        "Write {n,m} with n <= m, m > 0.",
    ),
    "too many of ANY": (
        "PATTERN ANY(3, A, B) WITHIN 1 h",
        "query error: ANY asks for 3 of 2\nLINE 1: PATTERN ANY(3, A, B) WITHIN 1 h\n                    ^\n"
        "To take several events of one type, list it alone: ANY(3, Stock s).",
    ),
    "keyword as variable": (
        "PATTERN SEQ(A in, B b) WITHIN 1 h",
        "query error: expected a variable, found 'in'\nLINE 1: PATTERN SEQ(A in, B b) WITHIN 1 h\n"
        "                      ^^\nIN is a keyword and cannot be a name here.",
    ),
    "name": (
        "QUERY my/query PATTERN A WITHIN 1 h",
        "query error: the name of the query is malformed\nLINE 1: QUERY my/query PATTERN A WITHIN 1 h\n"
        "              ^^^^^^^^\nA name has letters, digits, '_', '.' and '-', and starts with a letter or '_'.",
    ),
    "unknown unit": (
        "PATTERN A WHERE A.x < 5secs WITHIN 1 h",
        "query error: unknown unit 'secs'\nLINE 1: PATTERN A WHERE A.x < 5secs WITHIN 1 h\n"
        "                               ^^^^\nUnits: ms, s, seconds, minutes, hours, days. Did you mean 'sec'?",
    ),
    "nothing": (
        "",
        "query error: the query has no PATTERN\nLINE 1: \n        ^\n"
        "Every query needs one, as in: PATTERN SEQ(A a, B b).",
    ),
    "large number": (
        "PATTERN A WHERE A.x < 99999999999999999999 WITHIN 1 h",
        "query error: the number is too large\nLINE 1: PATTERN A WHERE A.x < 99999999999999999999 WITHIN 1 h\n"
        "                              ^^^^^^^^^^^^^^^^^^^^\nWhole numbers have 63 bits, others are 64-bit floats.",
    ),
    "confidence": (
        "PATTERN A WITHIN 1 h CONFIDENCE >= 2",
        "query error: CONFIDENCE is a number from 0 to 1\nLINE 1: PATTERN A WITHIN 1 h CONFIDENCE >= 2\n"
        "                                           ^",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_in_full(name: str) -> None:
    text, expected = ERRORS[name]
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert str(caught.value) == expected
    assert caught.value.stage == "syntax"
