"""Numbers with their nouns, as people read them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import saffron
from saffron.counted import counted

PLURAL = re.compile(
    r"^ (?:[a-z-]+ ){0,2}?(?:errors|warnings|events|records|messages|partitions|rows|results|queries|streams|topics"
    r"|values|lines|cells|columns|jars|bytes|matches|runs|tasks)\b"
)


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("error",), "0 errors"),
        (1, ("error",), "1 error"),
        (1234, ("bad line",), "1,234 bad lines"),
        (1, ("query", "queries"), "1 query"),
        (2, ("event was", "events were"), "2 events were"),
    ],
)
def test_a_number_and_its_noun(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text


def test_no_sentence_for_people_writes_a_plural_behind_any_number() -> None:
    """`{count:,} events` would say "1 events"."""
    package = Path(saffron.__file__).parent
    files = [
        one
        for folder in ("api", "cli", "control", "engine", "history", "mapping", "runtime", "windowing")
        for one in (package / folder).rglob("*.py")
    ]
    found = [
        f"{path.relative_to(package)}: {ast.unparse(text)}"
        for path in sorted(files)
        for text in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(text, ast.JoinedStr) and bare(text)
    ]
    assert found == []


def bare(text: ast.JoinedStr) -> bool:
    """Whether a number with separators stands before a plural."""
    pairs = zip(text.values, text.values[1:], strict=False)
    return any(
        isinstance(number, ast.FormattedValue)
        and number.format_spec is not None
        and ast.unparse(number.format_spec) == "f','"
        and isinstance(after, ast.Constant)
        and PLURAL.match(str(after.value)) is not None
        for number, after in pairs
    )
