"""Expressions with their leaves replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from saffron.language.syntax import tree


def rewritten(expression: tree.Expression, leaf: Callable[[tree.Expression], tree.Expression]) -> tree.Expression:
    """The expression with its leaves (what has no operands) put through a function."""

    def inner(one: tree.Expression) -> tree.Expression:
        return rewritten(one, leaf)

    match expression:
        case tree.Prefix(operand=operand):
            return replace(expression, operand=inner(operand))
        case tree.Operation(left=left, right=right):
            return replace(expression, left=inner(left), right=inner(right))
        case tree.Logic(operands=operands):
            return replace(expression, operands=tuple(map(inner, operands)))
        case tree.Membership(operand=operand):
            return replace(expression, operand=inner(operand))
        case tree.Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(inner, arguments)))
    return leaf(expression)
