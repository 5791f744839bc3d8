"""Traversal and rewriting of a plan's expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Call, Expr, In, Length, Unary


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside an expression."""
    match expr:
        case Unary(operand=operand) | In(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Call(arguments=arguments):
            return arguments
    return ()


def reads(expr: Expr) -> Iterator[Attribute | Aggregate | Length]:
    """The leaves of an expression that read events, left to right."""
    if isinstance(expr, Attribute | Aggregate | Length):
        yield expr
    for part in parts(expr):
        yield from reads(part)


def mapped(expr: Expr, leaf: Callable[[Expr], Expr]) -> Expr:
    """The expression with each leaf replaced by the result of `leaf`."""
    match expr:
        case Unary(operand=operand) | In(operand=operand):
            return replace(expr, operand=mapped(operand, leaf))
        case Binary(left=left, right=right):
            return replace(expr, left=mapped(left, leaf), right=mapped(right, leaf))
        case Call(arguments=arguments):
            return replace(expr, arguments=tuple(mapped(argument, leaf) for argument in arguments))
    return leaf(expr)
