"""Formulas of one event that are computed on whole columns: of numbers and truth values, without functions of text."""

from __future__ import annotations

from collections.abc import Mapping

from saffron.engine.events.columns import Column
from saffron.engine.events.rests import is_wide
from saffron.language.plan.expressions import Expr
from saffron.language.plan.trees import expression_of
from saffron.schema.computed import Applied, Computed, Constant, Read, Tree
from saffron.schema.functions.built_in import BUILT_IN
from saffron.schema.functions.operators import ARITHMETIC, COMPARISONS
from saffron.schema.numbers import EXACT
from saffron.schema.schema import Kind


def vector_expression(one: Computed, kinds: Mapping[str, Kind]) -> Expr | None:
    """The computed value as an expression for `event_expressions`; None where float64 or that module is not enough.

    `kinds`: of the values that it reads (`kind_of_values`).
    """
    if any(kind.is_wide or kind is Kind.ARRAY for kind in kinds.values()) or not _has_small_constants(one.tree):
        return None
    if one.kind in (Kind.FLOAT, Kind.NUMBER):
        return expression_of(one.tree) if _is_number(one.tree, kinds) else None
    return expression_of(one.tree) if one.kind is Kind.BOOL and _is_truth(one.tree, kinds) else None


def kind_of_values(column: Column) -> Kind:
    """The kind of a column's values: LONG too, which a column holds as INT."""
    return Kind.LONG if column.kind is Kind.INT and is_wide(column.data) else column.kind


def _has_small_constants(tree: Tree) -> bool:
    """True if no whole number that stands in a tree lies beyond float64's exact ones."""
    match tree:
        case Constant(value=int() as value):
            return abs(value) <= EXACT
        case Applied(arguments=arguments):
            return all(map(_has_small_constants, arguments))
    return True


def _is_number(tree: Tree, kinds: Mapping[str, Kind]) -> bool:
    """True if a tree gives numbers, and whole columns can compute it. `kinds`: of the attributes that it reads."""
    match tree:
        case Read(attribute=attribute):
            return kinds[attribute].is_number
        case Constant(value=value):
            return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        case Applied(function="case", arguments=arguments):
            tests, values = arguments[:-1:2], (*arguments[1:-1:2], arguments[-1])
            return all(_is_truth(one, kinds) for one in tests) and all(_is_number(one, kinds) for one in values)
        case Applied(function=function, arguments=arguments):
            row = BUILT_IN.get(function)
            known = function in (*ARITHMETIC, "negate", "coalesce", "nullif") or (
                row is not None and row.kernel is not None
            )
            return known and all(_is_number(one, kinds) for one in arguments)


def _is_truth(tree: Tree, kinds: Mapping[str, Kind]) -> bool:
    """True if a tree gives truth values, and whole columns can compute it. `kinds`: of the attributes that it reads."""
    match tree:
        case Read(attribute=attribute):
            return kinds[attribute] is Kind.BOOL
        case Constant(value=value):
            return isinstance(value, bool)
        case Applied(function="and" | "or" | "not", arguments=arguments):
            return all(_is_truth(one, kinds) for one in arguments)
        case Applied(function=function, arguments=arguments):
            known = function in (*COMPARISONS, "in", "is_null")
            return known and all(not isinstance(one, Applied) or _is_number(one, kinds) for one in arguments)
