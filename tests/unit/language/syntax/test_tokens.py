"""Text to tokens."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language.syntax.lexing.tokens import NUMBER_LIMIT, TEXT_LIMIT, TOKEN_LIMIT, name_text, tokenize


def values(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.value) for token in tokenize(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x", [("word", "a"), ("symbol", "."), ("word", "x")]),
        ("1..i-1", [("number", "1"), ("symbol", ".."), ("word", "i"), ("symbol", "-"), ("number", "1")]),
        ("1.5e-3 5s", [("number", "1.5e-3"), ("number", "5"), ("word", "s")]),
        ("'it''s'", [("string", "it's")]),
        ("''", [("string", "")]),
        ("\u2018contaminated\u2019", [("string", "contaminated")]),
        ("SKIP_till-Next_Match", [("word", "skip-till-next-match")]),
        ("skip-till-next-matches", [("word", "skip"), ("symbol", "-"), ("word", "till"), ("symbol", "-"),
                                    ("word", "next"), ("symbol", "-"), ("word", "matches")]),
        ("GROUP-BY NON-OVERLAP", [("word", "group-by"), ("word", "non-overlap")]),
        ("∧ ∨ ¬ ∼ ≥ ≤ ≠ ×", [("symbol", s) for s in ("&", "|", "!", "!", ">=", "<=", "!=", "*")]),
        ("== <> ; ^", [("symbol", s) for s in ("=", "!=", ",", "&")]),
        ("a -- comment 'x\nb", [("word", "a"), ("word", "b")]),
        ("\ufeffa", [("word", "a")]),
        ("größe_2", [("word", "größe_2")]),
        ('"user-id"."a ""b"""', [("word", "user-id"), ("symbol", "."), ("word", 'a "b"')]),
        ('""\u201cwhere\u201d', [("word", ""), ("word", "where")]),
    ],
)  # fmt: skip
def test_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert values(text) == expected


def test_tokens_know_their_place() -> None:
    text = "a  'b' ≥ 12.5 -- end"
    assert [text[token.start : token.end] for token in tokenize(text)] == ["a", "'b'", "≥", "12.5", ""]


@pytest.mark.parametrize(
    ("text", "message", "range_"),
    [
        ("a \x00", "unexpected character 'U+0000'", "\x00"),
        ("a \u200b b", "unexpected character 'U+200B' (ZERO WIDTH SPACE)", "\u200b"),
        ('a "b', "a name that does not end on its line", '"b'),
        ("a \u201cb\nc\u201d", "a name that does not end on its line", "\u201cb"),
        ("$b", "unexpected character '$'", "$"),
        ("a 'b\nc'", "a string that does not end on its line", "'b"),
        ("a \ud800", "the text holds half of a character (a lone surrogate)", "\ud800"),
        ("9" * (NUMBER_LIMIT + 1), f"a number of {NUMBER_LIMIT + 1} characters", "9" * (NUMBER_LIMIT + 1)),
        ("a" * (TEXT_LIMIT + 1), "the query is longer than 64 kB", ""),
        ("ä" * (TEXT_LIMIT // 2 + 1), "the query is longer than 64 kB", ""),
        ("a " * (TOKEN_LIMIT + 1), f"the query is longer than {TOKEN_LIMIT} words and signs", ""),
    ],
)
def test_refused(text: str, message: str, range_: str) -> None:
    with pytest.raises(QueryError) as caught:
        tokenize(text)
    assert caught.value.message == message
    assert caught.value.stage == "syntax"
    assert text[caught.value.start : caught.value.end] == range_


def test_a_name_in_quotes_is_no_keyword() -> None:
    assert [token.lower for token in tokenize('WHERE "WHERE" "true"')] == ["where", "", "", ""]
    assert name_text("where") == "where"
    assert name_text("where", taken=frozenset({"where"})) == '"where"'
    assert name_text('a "b"') == '"a ""b"""'
