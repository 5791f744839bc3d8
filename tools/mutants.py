"""Small changes to a Python file, each of which a good test should notice.

Comparisons, arithmetic, `and` and `or` are turned, numbers moved by one, conditions negated, statements left out. The
same in the texts that kernels are written from: a string with ` < ` in it is code, unless it says what went wrong.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_SIGNS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
    "*": "+",
    "//": "*",
    "%": "+",
    "|": "&",
    "&": "|",
    "<<": ">>",
}
_SIGN = re.compile(r"\bis not\b|\bnot in\b|\b(?:is|in|and|or)\b|<<|<=|>=|==|!=|//|[<>+\-*%|&]")
_IN_TEXT = re.compile(r"(?<= )(?:and|or|<<|<=|>=|==|!=|//|[<>+\-*%|&])(?= )")
_QUIET = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)


@dataclass(frozen=True)
class Mutant:
    """`path`'s characters from `begin` to `end` replaced by `text`."""

    path: Path
    line: int
    begin: int
    end: int
    old: str
    text: str

    def applied(self, source: str) -> str:
        return source[: self.begin] + self.text + source[self.end :]

    def __str__(self) -> str:
        def short(text: str) -> str:
            flat = " ".join(text.split())
            return flat if len(flat) < 60 else flat[:57] + "..."

        return f"{short(self.old)}  ->  {short(self.text) or '(left out)'}"


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = path.read_text()
    found = _File(path, source)
    every = sorted({*found.tree(), *found.texts()}, key=lambda one: (one.begin, one.end, one.text))
    return [one for one in every if _is_python(one.applied(source))]


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _File:
    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        self.module = ast.parse(source)
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.quiet = [self._range(node) for node in ast.walk(self.module) if self._is_quiet(node)]

    def _is_quiet(self, node: ast.AST) -> bool:
        """True if the node is not mutated: a text by itself, a raise or an import."""
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        return text or isinstance(node, _QUIET[:3])

    def _at(self, line: int, column: int) -> int:
        text = self.source[self.starts[line - 1] : self.starts[line]]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def _range(self, node: ast.AST) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _changed(self, begin: int, end: int, text: str) -> Mutant:
        line = self.source.count("\n", 0, begin) + 1
        return Mutant(self.path, line, begin, end, self.source[begin:end], text)

    # ---- the program

    def tree(self) -> Iterator[Mutant]:
        for statement in self.module.body:
            yield from self._node(statement)

    def _node(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, _QUIET) or self._is_quiet(node):
            return
        yield from self._statement(node)
        yield from self._operators(node)
        yield from self._constant(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._node(child)

    def _statement(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.AugAssign | ast.Continue | ast.Break | ast.Delete) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.YieldFrom | ast.Yield)
        ):
            yield self._changed(*self._range(node), "pass")
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            begin, end = self._range(node.test)
            yield self._changed(begin, end, f"(not ({self.source[begin:end]}))")
        if isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield self._changed(*self._range(test), "True")

    def _operators(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.BoolOp):
            parts = list(node.values)
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.AugAssign):
            parts = [node.target, node.value]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            begin, end = self._range(node)
            yield self._changed(begin, self._range(node.operand)[0], "")
            return
        else:
            return
        for before, after in pairwise(parts):
            begin, end = self._range(before)[1], self._range(after)[0]
            sign = _SIGN.search(self.source, begin, end)
            if sign is not None and sign[0] in _SIGNS:
                yield self._changed(sign.start(), sign.end(), _SIGNS[sign[0]])

    def _constant(self, node: ast.AST) -> Iterator[Mutant]:
        if not isinstance(node, ast.Constant):
            return
        if isinstance(node.value, bool):
            yield self._changed(*self._range(node), str(not node.value))
        elif isinstance(node.value, int):
            yield self._changed(*self._range(node), repr(node.value + 1))

    # ---- the texts of kernels

    def texts(self) -> Iterator[Mutant]:
        for token in tokenize.generate_tokens(io.StringIO(self.source).readline):
            if token.type != tokenize.STRING:
                continue
            begin = self.starts[token.start[0] - 1] + token.start[1]
            end = self.starts[token.end[0] - 1] + token.end[1]
            if any(low <= begin and end <= high for low, high in self.quiet):
                continue
            for sign in _IN_TEXT.finditer(self.source, begin, end):
                yield self._changed(sign.start(), sign.end(), _SIGNS[sign[0]])
            for number in re.finditer(r"(?<=[ (\[])\d+(?=[,)\]:]|$)", self.source[begin:end]):
                yield self._changed(begin + number.start(), begin + number.end(), str(int(number[0]) + 1))
