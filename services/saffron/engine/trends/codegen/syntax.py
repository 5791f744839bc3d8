"""Functions on Python's syntax trees: text, bound names, evaluation of literals."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache


class _Names(ast.NodeTransformer):
    """Puts back the names of constants that have been left whole."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name(node.kind, ast.Load()) if node.kind else node


def named(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function as it is to be read: a constant keeps its name as `kind` while functions are made, which changes
    nothing, and gets it back here."""
    made: ast.FunctionDef = _Names().visit(function)
    return made


def text_of(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.Module(statements, []))


def attribute_of(node: ast.expr, whole: str) -> str | None:
    """The attribute, where the expression is one of `whole`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == whole:
        return node.attr
    return None


def evaluated(node: ast.expr) -> ast.expr:
    """The expression, worked out if all its parts are literals."""
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if not all(isinstance(part, ast.Constant) for part in parts):
        return node
    whole = ast.fix_missing_locations(ast.Expression(node))
    return ast.Constant(eval(compile(whole, "literal", "eval"), {"__builtins__": {}}))


def assigned_once(statements: list[ast.stmt]) -> set[str]:
    """Names that one statement alone binds."""
    names = [name for statement in statements for name in names_bound(statement)]
    return {name for name in names if names.count(name) == 1}


def names_bound(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id


@lru_cache(maxsize=512)
def bound_in(function: ast.FunctionDef) -> frozenset[str]:
    """The names that a function binds."""
    return frozenset(name for statement in function.body for name in names_bound(statement))


def leaves_early(statements: list[ast.stmt]) -> bool:
    """True if a loop with this body has a `break` or `continue` of its own."""
    for statement in statements:
        if isinstance(statement, ast.Break | ast.Continue):
            return True
        if isinstance(statement, ast.If) and (leaves_early(statement.body) or leaves_early(statement.orelse)):
            return True
    return False
