"""A function that is too long to be read at a glance says in words what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "services" / "saffron"
MOST_LINES = 9
"""Lines of a function that may stand without a docstring."""


def silent(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of each function that should have a docstring, and has none; `__init__` and its like need none."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
            continue
        lines = (node.end_lineno or 0) - node.lineno + 1
        if lines > MOST_LINES and ast.get_docstring(node) is None:
            yield node.lineno, node.name


def test_long_functions_have_docstrings() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 500
    assert [f"{file}:{line} {name}" for file in files for line, name in silent(file.read_text("utf-8"))] == []


def test_what_is_wrong_is_found() -> None:
    body = "\n".join(f"    x{number} = 0" for number in range(MOST_LINES))
    assert list(silent(f"def short():\n{body[: body.rindex(chr(10))]}\n")) == []
    assert list(silent(f'def told():\n    """Done."""\n{body}\n')) == []
    assert list(silent(f"def long():\n{body}\n")) == [(1, "long")]
