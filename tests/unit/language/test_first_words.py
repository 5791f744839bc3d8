"""What a first mistake is told: what is so, carets at the place, and what to write; whatever clause it is made in."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import bind, compile_query
from saffron.schema.schema import Kind, Schema

KINDS = {"x": Kind.INT, "s": Kind.STRING, "k": Kind.INT}
LETTERS = Schema(KINDS, {name: tuple(KINDS) for name in "AB"}, {name: frozenset() for name in "AB"})
NULL = "null is no value to compare with"
PAIR = "PATTERN SEQ(A a, B b) WITHIN 1 s "

ERRORS: dict[str, tuple[str, str, str]] = {
    PAIR + "WHERE a.s LIK 'p%'": ("the next clause", "LIK", "Did you mean 'like'?"),
    PAIR + "WHERE a.x BETWEN 1 AND 2": ("the next clause", "BETWEN", "Did you mean 'between'?"),
    PAIR + "WHERE a.x => 1": ("expected a value", ">", "Write a.x >= 1."),
    PAIR + "WHERE a.x =< 1": ("expected a value", "<", "Write a.x <= 1."),
    PAIR + "WHERE a.x & 4 = 4": ("& is AND", "a.x & 4 = 4", "bit_and(a.x, 4)"),
    PAIR + "WHERE a.x ^ 4 = 4": ("^ is AND", "a.x ^ 4 = 4", "bit_and(a.x, 4)"),
    PAIR + "WHERE a.x & 4": ("& is AND", "a.x & 4", "bit_and(a.x, 4)"),
    PAIR + "RETURN a.x | 4": ("| is OR", "a.x | 4", "bit_and(a.x, 4)"),
    PAIR + "WHERE a.x & b.x = 4": ("this is a number", "a.x", "bit_and(a.x, 4)"),
    PAIR + "RETURN a.x & b.x": ("this is a number", "a.x", "bit_and(a.x, 4)"),
    "PATTERN A a WITHIN 1 s OPEN ON B b WHERE b.x = null": (NULL, "null", "IS NULL"),
    PAIR + "RETURN a.x INTO B": ("the stream itself has events of type 'B'", "B", "choose another name"),
    PAIR + 'RETURN a.x INTO "$b"': ("no event is of type", '"$b"', ""),
    PAIR + "LIMIT 1": ("the next clause", "LIMIT", "for each first event, the match that ends first"),
    "PATTERN A a, B b WITHIN 1 s": ("the next clause", ",", "SEQ(A a, B b)"),
    PAIR + "RETURN *, a.x": ("the next clause", ",", "leave it out"),
    PAIR + "WHERE a.x > 1, b.x > 1": ("the next clause", ",", "joined by AND"),
    PAIR + "WHERE a.x IN blocked": ("there is no table 'blocked'", "a.x IN blocked", "Only streams of a definition"),
    "PATTERN A+ a[] WITHIN 1 s WHERE a[i+1].x > 1": ("to close the brackets of a", "+", "In brackets stand: a number"),
    "PATTERN A a WITHIN 10m": ("expected a unit after WITHIN 10", "m", "Did you mean 'minutes'?"),
    PAIR + "WHERE b.ts - a.ts < 10m": ("unknown unit 'm'", "m", "Did you mean 'minutes'?"),
    "PATTERN SEQ(A a, B+ b[]) WITHIN 1 s RETURN b.x": ("b is a closure", "b.x", "max(b[].x) for all"),
    "PATERN A a WITHIN 1 s": ("expected a clause", "PATERN", "Did you mean 'pattern'?"),
    PAIR + "PARTITION BY k": ("the next clause", "PARTITION", "WHERE [user]"),
    PAIR + "DEFINE a AS x = 1": ("the next clause", "DEFINE", "conditions stand in WHERE"),
    "PATTERN A a THEN B b WITHIN 1 s": ("the next clause", "THEN", "SEQ(A a, B b)"),
    "PATTERN A a -> B b WITHIN 1 s": ("the next clause", "-", "SEQ(A a, B b)"),
    PAIR + "// pairs": ("the next clause", "/", "A comment begins with --"),
    PAIR + "WHERE a.x > 5 minuts": ("the next clause", "minuts", "Did you mean 'minutes'?"),
    PAIR + "WHERE skip till next match { a.x > 1 }": ("the next clause", "till", "skip-till-next-match"),
    PAIR + "WHERE strict contiguity": ("the next clause", "contiguity", "strict-contiguity"),
    PAIR + "WHERE strict { a.x > 1 }": ("unknown strategy 'strict'", "strict", "Did you mean 'strict-contiguity'?"),
    PAIR + "WHERE a.x > 1 skip-till-any-match": (
        "the next clause", "skip-till-any-match", "at the beginning of WHERE",
    ),
    PAIR + "OUTPUT NON OVERLAP": ("after OUTPUT", "NON", "Did you mean 'NON-OVERLAP'?"),
    PAIR + "RETURN a.x v": ("the next clause", "v", "a.x AS name"),
    PAIR + "RETURN a.x INT Found": ("the next clause", "INT", "Did you mean 'into'?"),
    PAIR + "WHERE a = 1": ("a stands alone", "a", "write a.x for an attribute"),
    PAIR + "WHERE a.s = \"a\"": ("a stands alone", '"a"', "strings stand in single ones: 'a'"),
    PAIR + "WHERE length(a.x) > 1": ("length takes text or an array", "a.x", "CAST(a.x AS string)"),
    "PATTERN SEQ(A a, B+ b[]) WITHIN 1 s WHERE b > 1": ("b stands alone", "b", "b.len, max(b[].x)"),
    "PATTERN A+ a WITHIN 1 s WHERE a > 1 RETURN COUNT(*)": ("a stands alone", "a", "write a.x"),
    "PATTERN SEQ(A a, B+ b[]) WITHIN 1 s RETURN count(b), a.x": ("trends are grouped", "a.x", "Or match the pattern"),
    "PATTERN A a WITHIN '10 s'": ("expected a number after WITHIN", "'10 s'", "WITHIN 10 seconds"),
    "PATTERN SEQ(A a B b) WITHIN 1 s": ("expected ')' or ','", "B", "SEQ(A a, B b)"),
    "PATTERN SEQ(A AS a, B b) WITHIN 1 s": ("expected ')' or ','", "a", "without AS: A a"),
    "PATTERN SEQ(A a, B+? b[]) WITHIN 1 s": ("the end of the component", "b", "one repetition, as in B+ b[]"),
    "PATTERN SEQ(A a, B{,2} b[]) WITHIN 1 s": ("how often the pattern repeats", ",", "{0,n}"),
    "PATTERN A+ WITHIN 1 s RETURN COUNT(*) AS n HAVING n > 1": ("trends are grouped", "n", "what it names: COUNT(*)"),
    "PATTERN A+ WITHIN 1 s RETURN COUNT(*) HAVING COUNT > 1": ("trends are grouped", "COUNT", "Write COUNT(*)"),
    "PATTERN A+ WITHIN 1 s RETURN COUNT(DISTINCT A.x)": ("the arguments of COUNT", "A", "There is no DISTINCT"),
    "PATTERN A+ WITHIN 1 s WHERE NEXT(A.x) > A.x RETURN COUNT(*)": ("after NEXT(A", ".", "NEXT(A).x"),
    PAIR + "WHERE prev(b.x) > 1": ("unknown function 'prev'", "prev(b.x)", "b[i-1].x"),
    PAIR + "WHERE PREV(a).x > 1": ("has no attributes", "PREV(a)", "b[i-1].x"),
    PAIR + "WHERE LAST(a).x > 1": ("has no attributes", "LAST(a)", "a[last].x"),
    PAIR + "WHERE lower(a).x > 1": ("has no attributes", "lower(a)", "lower(a.x)"),
    "PATTERN SEQ[A a] WITHIN 1 s": ("after SEQ", "[", "SEQ(A a, B b)"),
    PAIR + "RETURN a.*": ("an attribute of a", "*", "always in the result"),
    PAIR + "RETURN a.x, b.*": ("an attribute of b", "*", "always in the result"),
    PAIR + "CONSUME a b": ("the next clause", "b", "CONSUME a, b"),
    PAIR + "RETURN a.x b.x": ("the next clause", "b", "RETURN a.x, b.x"),
    PAIR + "WHERE a.x > 1 b.x > 1": ("the next clause", "b", "joined by AND"),
    PAIR + "WHERE a.x > 1 NOT b.x > 1": ("the next clause", "NOT", "joined by AND"),
    PAIR + "WHERE a.x NOT NULL": ("the next clause", "NOT", "a.x IS NOT NULL"),
    PAIR + "WHERE EXISTS a.x": ("the next clause", "a", "a.x IS NOT NULL"),
    "PATTERN A+ WITHIN 1 s GROUP BY x k RETURN COUNT(*)": ("the next clause", "k", "GROUP BY x, y"),
    "QUERY my query " + PAIR: ("the name of the query is one word", "my query", "my_query"),
    "QUERY my first one " + PAIR: ("the name of the query is one word", "my first", "my_first"),
    "QUERY " + PAIR: ("expected the name of the query", "PATTERN", "PATTERN is a clause"),
    "FROM events e " + PAIR: ("the name of the stream is one word", "events e", "A a names events"),
    PAIR + "AND a.x > 1": ("the next clause", "AND", "WHERE a.x > 1 AND b.x > 1"),
    "PATTERN SEQ(A a, B b) IN 1 s": ("the next clause", "IN", "WITHIN 1 hour"),
    PAIR + "WHERE a.x > 1 UNTIL b.x": ("the next clause", "UNTIL", "A+ a[] UNTIL C c"),
    PAIR + "WHERE a.x > 1,000": ("the next clause", ",", "without commas: 1000"),
    PAIR + "WHERE a.x > 1_000": ("unknown unit", "_000", "without _: 1000"),
    PAIR + "WHERE a.x = 1)": ("the next clause", ")", "leave it out"),
    PAIR + "WHERE a.x = 1 AND": ("expected a value", "", "behind AND"),
    PAIR + "WHERE AND a.x = 1": ("expected a value", "AND", "behind WHERE"),
    PAIR + "RETURN a.x, b.x,": ("expected a value", "", "Leave the comma out"),
    PAIR + "RETURN (a.x, b.x)": ("to close the bracket", ",", "a.x, b.x without them"),
    PAIR + "RETURN a.x AS a-x": ("a name without quotes", "a-x", '"a-x"'),
    PAIR + "WHERE a->x > 1": ("expected a value", ">", "behind a dot: a.x"),
    PAIR + "WHERE a['x'] > 1": ("the number of an event", "'x'", "behind a dot: a.x"),
    PAIR + "WHERE a.x IN ()": ("a choice of IN", ")", "a.x IN (1, 2)"),
    PAIR + "WHERE a.ts > DATE '2026-05-01'": ("the next clause", "'2026-05-01'", "TIMESTAMP '2026-05-01'"),
    "PATTERN EVERY A a WITHIN 1 s": ("there is no EVERY", "EVERY", "leave EVERY out"),
    "PATTERN SEQ(EVERY A a, B b) WITHIN 1 s": ("there is no EVERY", "EVERY", "leave EVERY out"),
    "PATTERN EVERY (A a) WITHIN 1 s": ("there is no EVERY", "EVERY", "leave EVERY out"),
    "PATTERN SEQ(A a, B b) [k] WITHIN 1 s": ("the next clause", "[", "WHERE a.x > 1"),
    "PATTERN SEQ(A a, B b) a.x > 1 WITHIN 1 s": ("the next clause", "a", "WHERE a.x > 1"),
    PAIR + "WHERE a.s = \u2019p\u2019": ("unexpected character", "\u2019", "straight quotes: 'abc'"),
    PAIR + "# pairs": ("unexpected character", "#", "A comment begins with --"),
    "PATTERN SEQ(A a, b: B) WITHIN 1 s": ("unexpected character", ":", "A a for a type and its variable"),
    "PATTERN SEQ(A a, ns:B b) WITHIN 1 s": ("unexpected character", ":", "in double quotes"),
    "PATTERN SEQ(a=A, b=B) WITHIN 1 s": ("expected ')' or ','", "=", "behind its type: A a"),
    "PATTERN SEQ(A[x > 1] a, B b) WITHIN 1 s": ("expected ')' or ','", "[", "WHERE a.x > 1"),
    "PATTERN SEQ(A where x > 1, B b) WITHIN 1 s": ("expected ')' or ','", "where", "WHERE a.x > 1"),
    "PATTERN SEQ(A a, B b,) WITHIN 1 s": ("an event type", ")", "Leave the comma out"),
    "PATTERN SEQ(A a, +B b) WITHIN 1 s": ("an event type", "+", "behind its type: B+ b[]"),
    "PATTERN SEQ(A a, B{2..3} b[]) WITHIN 1 s": ("the number of repetitions", "..", "{2,4}"),
    "PATTERN SEQ(A a, B{} b[]) WITHIN 1 s": ("how often the pattern repeats", "}", "{2,}"),
    "PATTERN ANY(A a, B b) WITHIN 1 s": ("how many of the patterns", "A", "ANY(2, A a, B b, C c)"),
    "SEQ(A a, B b) WITHIN 1 s": ("expected a clause", "SEQ", "PATTERN SEQ(A a, B b)"),
    "PATTERN SEQ(A a, B b) WITHIN 1 hour 30 minutes": ("the next clause", "30", "90 minutes"),
    "PATTERN SEQ(A a, B b) WITHIN 1 s EVERY 1 s": ("the next clause", "EVERY", "SLIDE 10 minutes"),
    "PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 1 s": ("COUNT(*) in RETURN", "NEXT(A).x", "A[i-1] and A[i]"),
    PAIR + "WHERE b.ts - a.ts < INTERVAL '5' MINUTE": ("the next clause", "'5'", "5 minutes"),
    PAIR + "WHERE a.x ** 2 > 4": ("expected a value", "*", "power(a.x, 2)"),
    PAIR + "WHERE a.x === 2": ("expected a value", "=", "a.x = 1"),
    PAIR + "WHERE a.event_time > 1": ("unknown attribute 'event_time'", "a.event_time", "An event's time is ts."),
    PAIR + "RETURN a.x AS 'v'": ("name after AS", "'v'", "without quotes: v"),
    "PATTERN 'A' a WITHIN 1 s": ("expected an event type", "'A'", "without quotes: A"),
    "PATTERN SEQUENCE(A a, B b) WITHIN 1 s": ("the next clause", "(", "Write SEQ(A a, B b)"),
    "PATTERN SEQ(A a, NOT B WITHIN 5 ms) WITHIN 1 s": ("expected ')' or ','", "WITHIN", "NOT B FOR 5 minutes"),
    "PATTERN SEQ(A a WITHIN 5 ms, B b) WITHIN 1 s": ("expected ')' or ','", "WITHIN", "NOT B FOR 5 minutes"),
    "PATTERN A+ WITHIN 1 s RETURN COUNT(*) HAVING COUNT(*) = null": (NULL, "null", "IS NULL"),
    "PATTERN A+ WITHIN 1 s RETURN COUNT(*) HAVING null < MAX(A.x)": (NULL, "null", "IS NULL"),
}  # fmt: skip
for one in ("strict-contiguty(b) { a.x > 1 }", "strict-contiguty(b) a.x > 1", "strict-contiguty {", "strict-contiguty"):
    ERRORS[f"{PAIR} WHERE skip-till-any-match, {one}"] = (
        "unknown strategy 'strict-contiguty'", "strict-contiguty", "Did you mean 'strict-contiguity'?",
    )  # fmt: skip


@pytest.mark.parametrize("word", ["a", "b", "to", "foo", "Then2"])
def test_a_word_that_is_like_no_keyword_is_not_taken_for_one(word: str) -> None:
    with pytest.raises(QueryError) as caught:
        compile_query(f"{PAIR} {word}", LETTERS)
    assert caught.value.hint == ""


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_says_what_where_and_what_to_write(text: str) -> None:
    message, part, hint = ERRORS[text]
    with pytest.raises(QueryError) as caught:
        compile_query(text, LETTERS)
    error = caught.value
    assert message in error.message
    assert error.text[error.start : error.end] == part
    assert hint in error.hint


WARNINGS = {
    PAIR + "WHERE a.x > '1'": ("a number is compared with a string", "without quotes"),
    PAIR + "WHERE a.s = 1": (
        "a string is compared with a number",
        "CAST(a.s AS number) for the number in a string, or a string in quotes: '1'",
    ),
    "PATTERN SEQ(A a, NOT C, B b) WITHIN 1 s": ("unknown event type 'C'", "NOT of it holds"),
    "PATTERN SEQ(A a, B+ b[] UNTIL C u) WITHIN 1 s": ("unknown event type 'C'", "UNTIL of it ends nothing"),
    "PATTERN SEQ(A a, NOT Aa, B b) WITHIN 1 s": ("unknown event type 'Aa'", "Did you mean 'A'?"),
    PAIR + "WHERE a.ts > '2026-05-01'": (
        "a number is compared with a string",
        "Write a time as TIMESTAMP",
    ),
}


@pytest.mark.parametrize("text", WARNINGS)
def test_a_warning_says_what_to_write(text: str) -> None:
    message, hint = WARNINGS[text]
    (warning,) = bind(text, LETTERS, name="q").warnings
    assert message in warning
    assert hint in warning


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-05-01", 1_777_593_600_000), ("2026-05-01T12:00:00+02", 1_777_629_600_000),
        ("20260501T120000Z", 1_777_636_800_000), ("2016-12-31 23:59:60", 1_483_228_800_000),
        ("1969-12-31T23:59:59.9999999999", -1), ("0000-01-01", -62_167_219_200_000),
        ("2026-05-01T12", None), ("20260501", None), ("2026-W18-5", None), ("2026-05-01T24:00", None),
    ],
)  # fmt: skip
def test_a_written_time_has_the_forms_of_ts(text: str, ms: int | None) -> None:
    query = f"{PAIR} WHERE a.ts = TIMESTAMP '{text}'"
    if ms is None:
        with pytest.raises(QueryError, match="this is no time"):
            compile_query(query, LETTERS)
    else:
        assert str(ms) in repr(compile_query(query, LETTERS))
