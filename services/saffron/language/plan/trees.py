"""Expressions of one event as the trees of computed values."""

from __future__ import annotations

from saffron.language.plan.plan import Attribute, Binary, Call, Const, Expr, In, Unary
from saffron.schema.computed import Applied, Computed, Constant, Read, Tree


def tree_of(expr: Expr) -> Tree:
    """The tree of an expression whose leaves are attributes of one event, and constants."""
    match expr:
        case Const(value=value):
            return Constant(value)
        case Attribute(name=name):
            one = Computed.of_name(name)
            return Read(name) if one is None else one.tree
        case Unary(operator=operator, operand=operand):
            return Applied("negate" if operator == "-" else operator, (tree_of(operand),))
        case Binary(operator=operator, left=left, right=right):
            return Applied(operator, (tree_of(left), tree_of(right)))
        case In(operand=operand, choices=choices):
            return Applied("in", (tree_of(operand), *map(tree_of, choices)))
        case Call(function=function, arguments=arguments):
            return Applied(function, tuple(map(tree_of, arguments)))
    message = f"no value of one event: {expr}"
    raise ValueError(message)
