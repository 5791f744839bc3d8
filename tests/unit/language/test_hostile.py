"""Whatever the text: a plan or a QueryError, soon, and a short one."""

from __future__ import annotations

import contextlib
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.errors import QueryError
from saffron.language import bind, explain_json, explain_svg, explain_text
from tests.unit.language.samples import LETTERS, PAPERS, RALLY

HOUR = " WITHIN 1 h"
COUNTED = HOUR + " RETURN COUNT(*)"
SECONDS = 0.5

HOSTILE = {
    "a megabyte": "a" * 1_000_000,
    "64 kB of spaces": " " * 65_536,
    "open brackets": "PATTERN " + "(" * 3_000,
    "nested SEQ": "PATTERN " + "SEQ(" * 1_000 + "A" + ")" * 1_000 + HOUR,
    "10,000 levels": "PATTERN A a WHERE " + "(" * 10_000 + "1" + ")" * 10_000 + "=1" + HOUR,
    "nested expression": "PATTERN A a WHERE " + "(" * 1_500 + "1" + ")" * 1_500 + "=1" + HOUR,
    "nots": "PATTERN A a WHERE " + "not " * 3_000 + "true" + HOUR,
    "negations": "PATTERN " + "!" * 3_000 + "A" + HOUR,
    "minus signs": "PATTERN A a WHERE " + "- " * 3_000 + "1=1" + HOUR,
    "calls": "PATTERN A a WHERE " + "abs(" * 1_000 + "1" + ")" * 1_000 + "=1" + HOUR,
    "a long sum": "PATTERN A a WHERE " + "+".join(["1"] * 2_000) + "=1" + HOUR,
    "a sum as deep as can be": "PATTERN A a WHERE " + "+".join(["a.x"] * 62) + "=1" + HOUR,
    "many ANDs": "PATTERN A a WHERE " + " and ".join(["a.x=1"] * 650) + HOUR,
    "many ORs": "PATTERN A a WHERE " + " or ".join(["a.x=1 and a.x=2"] * 330) + HOUR,
    "many pluses": "PATTERN A" + "+" * 3_000 + HOUR,
    "many components": "PATTERN SEQ(" + ",".join(["A"] * 2_000) + ")" + HOUR,
    "many states": "PATTERN SEQ(" + ",".join(["A"] * 62) + ")+" + HOUR + " RETURN COUNT(*)",
    "many choices": "PATTERN A a WHERE a.x IN (" + ",".join(["1"] * 2_000) + ")" + HOUR,
    "many items": "PATTERN A a RETURN " + ",".join(f"a.x AS x{i}" for i in range(650)) + HOUR,
    "many keys": "PATTERN A a WHERE [" + ",".join(["k"] * 2_000) + "]" + HOUR,
    "quotes": "PATTERN A a WHERE a.k = '" + "''" * 30_000,
    "comments": "-- x\n" * 13_000,
    "digits": "PATTERN A a WHERE a.x = " + "9" * 60_000 + HOUR,
    "an exponent": "PATTERN A a WHERE a.x = 1e999999999 s" + HOUR,
    "a long type": "PATTERN " + "A" * 60_000 + HOUR,
    "a long attribute": "PATTERN A a WHERE a." + "x" * 60_000 + " = 1" + HOUR,
    "a long name": "QUERY " + "a-" * 1_000 + " PATTERN A" + HOUR,
    "null bytes": "PATTERN A\0" + HOUR,
    "half a character": "PATTERN A \ud800" + HOUR,
    "written backwards": "PATTERN \u202eA\u202c" + HOUR,
    "zero width": "PATTERN\u200bA" + HOUR,
    "Hebrew": "PATTERN א ב" + HOUR,
    "full width": "PATTERN A a WHERE a.x > ５" + HOUR,
    "nested pluses": "PATTERN " + "(" * 60 + "A" + ")+" * 60 + HOUR + " RETURN COUNT(*)",
    "nested SEQs": "PATTERN " + "SEQ(A," * 59 + "A" + ")+" * 59 + HOUR + " RETURN COUNT(*)",
    "nested SEQs that select": "PATTERN " + "SEQ(A," * 40 + "A" + ")+" * 40 + " WHERE skip-till-next-match" + COUNTED,
    "counts of trends": "PATTERN " + "(" * 60 + "A" + "){1000}" * 60 + COUNTED,
    "options of trends": "PATTERN SEQ(" + ",".join(["A?"] * 62) + ")" + COUNTED,
    "ANY of options": "PATTERN ANY(9, " + ",".join(["SEQ(A?,B?,C?,D?)"] * 9) + ")" + COUNTED,
    "ANY in ANY": "PATTERN " + "ANY(2, " * 12 + "A" + ", A)" * 12 + COUNTED,
    "NOTs in NOTs": "PATTERN " + "SEQ(A, NOT " * 30 + "B" + ", C)" * 30 + COUNTED,
    "sides with much in common": "PATTERN SEQ(" + "A,B," * 15 + "A)+ AND SEQ(" + "A,B," * 15 + "A)+" + COUNTED,
    "nested pluses of a match": "PATTERN " + "(" * 60 + "A" + ")+" * 60 + HOUR,
    "nested groups": "PATTERN " + "SEQ(A," * 28 + "A" + ")+" * 28 + HOUR,
    "nested options": "PATTERN " + "(" * 60 + "A" + ")?" * 60 + HOUR,
    "nested counts": "PATTERN " + "(" * 60 + "A" + "){1000}" * 60 + HOUR,
    "a wide AND": "PATTERN " + " AND ".join(["A"] * 30) + HOUR,
    "a wide ANY": "PATTERN ANY(15, " + ",".join(["A"] * 30) + ") DISTINCT k" + HOUR,
    "a NOT of many orders": "PATTERN SEQ(A, NOT (" + " AND ".join(["A"] * 25) + "), B)" + HOUR,
    "a NOT of many choices": "PATTERN SEQ(A, NOT ANY(12, " + ",".join(["A"] * 25) + "), B)" + HOUR,
    "a NOT of deep orders": "PATTERN SEQ(A, NOT " + "(A AND SEQ(B," * 12 + "C" + "))" * 12 + ", B)" + HOUR,
    "a NOT of options": "PATTERN SEQ(A, NOT SEQ(" + ",".join(["A?"] * 25) + "), B)" + HOUR,
    "a NOT of counts": "PATTERN SEQ(A, NOT " + "(" * 50 + "B" + "){1000}" * 50 + ", C)" + HOUR,
    "a NOT of NOTs": "PATTERN SEQ(A, " + "NOT " * 60 + "B, C)" + HOUR,
    "many NOTs": "PATTERN SEQ(A, " + "NOT B, A?," * 14 + "C) WHERE [A.k]" + HOUR,
    "keys of options": "PATTERN SEQ(" + ",".join(["A?"] * 29) + ", B) WHERE [A.k]" + HOUR,
    "many strategies": "PATTERN SEQ(A a, B b) WHERE " + ",".join(["strict-contiguity(a)"] * 800) + HOUR,
    "unknown names": "PATTERN A a WHERE " + " or ".join(f"a.q{i}=1" for i in range(650)) + HOUR,
}


def attempt(text: str, *, lenient: bool) -> str:
    """ "plan", or the error's text."""
    try:
        bound = bind(text, LETTERS, name="q", lenient=lenient)
    except QueryError as error:
        return str(error)
    explain_text(bound.plan)
    explain_json(bound.plan)
    explain_svg(bound.plan)
    return "plan"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_understood_or_refused_at_once(name: str, lenient: bool) -> None:
    def timed() -> float:
        start = time.process_time()
        with contextlib.suppress(QueryError):
            bind(HOSTILE[name], LETTERS, name="q", lenient=lenient)
        return time.process_time() - start

    # the best of some attempts: other processes share the caches of this core
    assert any(timed() < SECONDS for _ in range(5))
    assert len(attempt(HOSTILE[name], lenient=lenient)) < 2_000


DEEPEST = {
    "brackets": "PATTERN A a WHERE " + "(" * 62 + "a.x" + ")" * 62 + "=1" + HOUR,
    "calls": "PATTERN A a WHERE " + "abs(" * 62 + "a.x" + ")" * 62 + "=1" + HOUR,
    "functions": "PATTERN A a WHERE " + "lower(" * 62 + "a.k" + ")" * 62 + "='x'" + HOUR,
    "choices": "PATTERN A a WHERE " + "CASE WHEN a.flag THEN " * 62 + "a.x" + " END" * 62 + "=1" + HOUR,
    "and in or": "PATTERN A a WHERE " + "(a.flag or (a.flag and " * 31 + "a.flag" + "))" * 31 + HOUR,
    "patterns": "PATTERN " + "SEQ(A,(" * 31 + "A" + "))+" * 31 + HOUR + " RETURN COUNT(*)",
    "groups of a match": "PATTERN " + "SEQ(A,(" * 29 + "A" + ")+)" * 29 + HOUR,
    "options": "PATTERN " + "(" * 31 + "A" + ")?" * 31 + HOUR,
    "a NOT": "PATTERN SEQ(A,NOT " + "(" * 30 + "B" + ")+" * 30 + ",C)" + HOUR,
}


@pytest.mark.parametrize("name", DEEPEST)
def test_the_deepest_queries_need_half_of_the_stack(name: str) -> None:
    frames, frame = 0, sys._getframe()
    while frame.f_back is not None:
        frames, frame = frames + 1, frame.f_back
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(frames + 500)
    try:
        assert attempt(DEEPEST[name], lenient=False) == "plan"
    finally:
        sys.setrecursionlimit(limit)


WORDS = [
    "PATTERN", "WHERE", "WITHIN", "RETURN", "SEQ", "ANY", "NOT", "AND", "OR", "IN", "GROUP BY", "SLIDE", "OPEN ON",
    "skip-till-any-match", "strict-contiguity", "A", "B", "a", "b", "a[]", "a[i].x", "a[i-1].x", "b.x", "a[..i-1].x",
    "a[1].k", "b.flag", "b.len", "NEXT(A).x", "[k]", "[A.k]", "COUNT(*)", "sum(b[].x)", "avg(a[..i-1].x)", "abs(",
    "min(", "(", ")", "[", "]", "{", "}", ",", ";", ".", "..", "+", "-", "*", "/", "%", "=", "!=", "<", ">=", "?", "|",
    "&",
    "~", "1", "2.5", "80%", "'s'", "5 s", "1 hour", "10 EVENTS", "true", "AS n", "i", "HAVING", "OUTPUT", "ALL",
    "TIME STRICT", "WEIGHT 2", "CONSUME a", "QUERY q", "FROM s", "INTO X", "-- c\n", "\n", "é", "∧", "\u2028",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.booleans())
def test_words_at_random_only_ever_raise_query_errors(text: str, lenient: bool) -> None:
    assert attempt("PATTERN SEQ(A+ a[], B b) WITHIN 1 h WHERE " + text, lenient=lenient)
    assert attempt(text, lenient=lenient)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60), st.booleans())
def test_characters_at_random_only_ever_raise_query_errors(text: str, lenient: bool) -> None:
    assert attempt(text, lenient=lenient)
    assert attempt("PATTERN A a WITHIN 1 h RETURN a.x AS " + text, lenient=lenient)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([RALLY, *PAPERS.values()]), st.data())
def test_queries_with_a_piece_cut_out_only_ever_raise_query_errors(query: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(query)))
    end = data.draw(st.integers(start, min(len(query), start + 20)))
    text = query[:start] + data.draw(st.text(max_size=3)) + query[end:]
    for lenient in (False, True):
        assert attempt(text, lenient=lenient)
