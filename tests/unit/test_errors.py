"""Errors of queries as they are shown: line, carets, hint."""

from __future__ import annotations

import pytest

from saffron.carets import COLUMNS, display_width, quoted, render
from saffron.errors import QueryError, SaffronError
from saffron.language.syntax.hints import known_names, listing, suggestion


def rendered(text: str, part: str, hint: str = "") -> list[str]:
    start = text.index(part)
    return render("wrong", text=text, start=start, end=start + len(part), hint=hint).split("\n")


def test_the_example_of_the_language_page() -> None:
    text = "PATTERN SEQ(Stock+ a[], Stock b)\nWHERE\n  [symbol]\n  AND a[i].pricee > avg(a[..i-1].price)\n"
    start = text.index("a[i].pricee")
    error = QueryError(
        "unknown attribute 'pricee' of type Stock",
        stage="schema",
        text=text,
        start=start,
        end=start + len("a[i].pricee"),
        hint="Stock has: symbol, price, volume. Did you mean 'price'?",
    )
    assert str(error) == (
        "query error: unknown attribute 'pricee' of type Stock\n"
        "LINE 4:   AND a[i].pricee > avg(a[..i-1].price)\n"
        "              ^^^^^^^^^^^\n"
        "Stock has: symbol, price, volume. Did you mean 'price'?"
    )
    assert isinstance(error, SaffronError)
    assert (error.stage, text[error.start : error.end]) == ("schema", "a[i].pricee")


@pytest.mark.parametrize(
    ("text", "part", "line", "carets"),
    [
        ("abc", "b", "LINE 1: abc", "         ^"),
        ("abc", "", "LINE 1: abc", "        ^"),
        ("x\r\nab\r\ncd", "ab", "LINE 2: ab", "        ^^"),
        ("\ta\tb", "b", "LINE 1:     a    b", "                 ^"),
        ("価格 x", "x", "LINE 1: 価格 x", "             ^"),
        ("価格 x", "価格", "LINE 1: 価格 x", "        ^^^^"),
        ("e\u0301 x", "x", "LINE 1: e\u0301 x", "          ^"),
        ("a\x1b[31mb", "b", "LINE 1: a\ufffd[31mb", "              ^"),
        ("a\u202eb c", "c", "LINE 1: a\ufffdb c", "            ^"),
        ("ab\ncd", "b\nc", "LINE 1: ab", "         ^"),
    ],
)
def test_carets_stand_under_the_range(text: str, part: str, line: str, carets: str) -> None:
    assert rendered(text, part) == ["query error: wrong", line, carets]


def test_the_end_of_the_text() -> None:
    assert render("wrong", text="ab", start=2, end=2, hint="").split("\n")[1:] == ["LINE 1: ab", "          ^"]
    assert render("wrong", text="", start=0, end=0, hint="one\ntwo").split("\n") == [
        "query error: wrong", "LINE 1: ", "        ^", "one", "two",
    ]  # fmt: skip


@pytest.mark.parametrize("position", [0, 60, 150, 290, 299])
@pytest.mark.parametrize("filler", ["a", "価"])
def test_a_long_line_is_cut_around_the_range(position: int, filler: str) -> None:
    text = filler * position + "XY" + filler * (298 - position)
    _, line, carets = rendered(text, "XY")
    shown = line.removeprefix("LINE 1: ")
    assert display_width(shown) <= COLUMNS
    assert carets.count("^") == 2
    before = line[: line.index("XY")]
    assert display_width(before) == carets.index("^")
    assert shown.startswith("...") == (position > 0 and filler * position not in line)
    assert shown.endswith("...") == (position < 290)
    assert position not in (0, 150) or display_width(shown) >= COLUMNS - 4


def test_a_long_range_is_cut_too() -> None:
    _, line, carets = rendered("a" * 500, "a" * 400)
    assert len(line) <= COLUMNS + len("LINE 1: ")
    assert line.endswith("...")
    assert len(carets) <= len(line)


def test_suggestions() -> None:
    assert suggestion("pricee", ["symbol", "price"]) == "Did you mean 'price'?"
    assert suggestion("PRICE", ["symbol", "price"]) == "Did you mean 'price'?"
    assert suggestion("zzz", ["symbol", "price"]) == ""
    assert suggestion("price", ["price"]) == ""
    assert suggestion("p" * 10_000, ["price"]) == ""
    assert known_names("Stock has", ["price"], "pric") == "Stock has: price. Did you mean 'price'?"
    assert known_names("Stock has", [], "x") == "Stock has: none."


def test_names_are_quoted_and_cut() -> None:
    assert quoted("a\x1bb") == "'a\ufffdb'"
    assert len(quoted("x" * 1000)) == 62
    assert listing(["user-id", "price"]) == '"user-id", price'
    assert listing([f"a{number}" for number in range(25)]).endswith("a19 and 5 more")
