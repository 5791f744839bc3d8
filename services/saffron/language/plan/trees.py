"""Expressions of one event as the trees of computed values, and back."""

from __future__ import annotations

from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Unary, Which
from saffron.schema.computed import Applied, Computed, Constant, Read, Tree
from saffron.schema.functions.operators import ARITHMETIC, COMPARISONS
from saffron.schema.schema import Kind


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


def expression_of(tree: Tree) -> Expr:
    """The expression of a tree that `tree_of` made.

    Attributes are of component 0. All kinds are FLOAT, as trees have none.
    """
    match tree:
        case Read(attribute=attribute):
            return Attribute(0, Which.SINGLE, attribute, Kind.FLOAT)
        case Constant(value=value):
            return Const(value)
    parts = tuple(map(expression_of, tree.arguments))
    match tree.function, parts:
        case "not" | "negate" as operator, (operand,):
            return Unary("-" if operator == "negate" else operator, operand)
        case "in", (operand, *choices):
            return In(operand, tuple(one for one in choices if isinstance(one, Const)))
        case operator, (left, right) if operator in ("and", "or", *ARITHMETIC, *COMPARISONS):
            return Binary(operator, left, right)
    return Call(tree.function, parts, Kind.FLOAT)
