"""Expressions of a single event (`plan.Expr`), evaluated on all events of a block at once.

Meaning as in `plan.Binary`: numbers as float64, comparisons with null or between kinds are false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import converted
from saffron.engine.events.columns import Column, Columns, is_null
from saffron.errors import SchemaError
from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Unary
from saffron.language.plan.pairs import rest_of_name
from saffron.schema.functions.built_in import BUILT_IN, CHOICES
from saffron.schema.schema import Kind

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Number:
    """float64 [n]; NaN is null."""

    data: Floats


@dataclass(frozen=True)
class _Text:
    """int32 codes [n] into `values`; -1 is null."""

    codes: NDArray[Any]
    values: tuple[str, ...]


@dataclass(frozen=True)
class _Flag:
    """Truth values [n], and which of them are not null."""

    data: Bools
    valid: Bools


_Value = _Number | _Text | _Flag | None  # None: the literal null

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def truths(expr: Expr, columns: Columns) -> Bools:
    """bool [n]: whether a condition holds of each event.

    SchemaError: it reads more than one event, or an attribute that the columns do not have.
    """
    return _truth(_value(expr, columns), len(columns))


def numbers(expr: Expr, columns: Columns) -> Floats:
    """float64 [n]: an expression's value for each event; NaN is null, or a value beyond float64.

    SchemaError: as of `truths`.
    """
    found = _numbers(_value(expr, columns), len(columns))
    return np.where(np.isfinite(found), found, np.nan)


def _truth(value: _Value, n: int) -> Bools:
    if isinstance(value, _Flag):
        return value.data & value.valid
    return np.zeros(n, dtype=np.bool_)


def _value(expr: Expr, columns: Columns) -> _Value:
    """[n] an expression's values in a block. SchemaError: the columns lack an attribute."""
    n = len(columns)
    match expr:
        case Const():
            return _constant(expr.value, n)
        case Attribute():
            return _attribute(expr, columns)
        case Unary("not"):
            return _certain(~_truth(_value(expr.operand, columns), n))
        case Unary():
            return _Number(-_numbers(_value(expr.operand, columns), n))
        case Binary():
            return _binary(expr.operator, _value(expr.left, columns), _value(expr.right, columns), n)
        case Call():
            return _call(expr, columns)
        case In():
            operand = _value(expr.operand, columns)
            found = np.zeros(n, dtype=np.bool_)
            for choice in expr.choices:
                found |= _compare("=", operand, _constant(choice.value, n), n)
            return _certain(found)
        case _:
            raise SchemaError(f"a condition on one event cannot read several: {expr}")


def _constant(value: float | str | bool | None, n: int) -> _Value:
    if value is None:
        return None
    if isinstance(value, bool):
        return _certain(np.full(n, value))
    if isinstance(value, str):
        return _Text(np.zeros(n, dtype=np.int32), (value,))
    return _Number(np.full(n, float(value)))


def _attribute(expr: Attribute, columns: Columns) -> _Value:
    """[n] an attribute's values in a block. SchemaError: the columns have no such attribute."""
    if expr.name == "ts":
        return _Number(columns.ts.astype(np.float64))
    whole = rest_of_name(expr.name)
    name = expr.name if whole is None else whole
    column = columns.type if name == "type" else columns.attributes.get(name)
    if column is not None and whole is not None:
        data: NDArray[Any] = converted(column, Kind.NUMBER).data
        return _Number(data.imag)
    if column is None:
        raise SchemaError(f"the columns have no attribute {expr.name!r}; they have {', '.join(columns.attributes)}")
    return _column(column)


def _column(column: Column) -> _Value:
    data: NDArray[Any] = column.data
    if column.kind.has_texts:
        return _Text(data, column.values)
    if column.kind is Kind.BOOL:
        return _Flag(data == 1, data >= 0)
    return _Number(np.where(is_null(column.kind, data), np.nan, data.real.astype(np.float64)))


def _binary(operator: str, left: _Value, right: _Value, n: int) -> _Value:
    if operator == "and":
        return _certain(_truth(left, n) & _truth(right, n))
    if operator == "or":
        return _certain(_truth(left, n) | _truth(right, n))
    if operator in _COMPARISONS:
        return _certain(_compare(operator, left, right, n))
    return _Number(_arithmetic(operator, _numbers(left, n), _numbers(right, n)))


def _compare(operator: str, left: _Value, right: _Value, n: int) -> Bools:
    """bool [n]: where a comparison holds. It is false for null, between kinds, and for an order of truth values."""
    compare = _COMPARISONS[operator]
    if isinstance(left, _Number) and isinstance(right, _Number):
        return _as_bools(compare(left.data, right.data)) & ~np.isnan(left.data) & ~np.isnan(right.data)
    if isinstance(left, _Text) and isinstance(right, _Text):
        left_ranks, right_ranks = _ranks(left, right)
        valid = (left.codes >= 0) & (right.codes >= 0)
        return _as_bools(compare(left_ranks, right_ranks)) & valid
    if isinstance(left, _Flag) and isinstance(right, _Flag) and operator in ("=", "!="):
        return _as_bools(compare(left.data, right.data)) & left.valid & right.valid
    return np.zeros(n, dtype=np.bool_)


def _ranks(left: _Text, right: _Text) -> tuple[NDArray[Any], NDArray[Any]]:
    """The strings of both sides as their places in one order (by code point)."""
    order = {text: rank for rank, text in enumerate(sorted({*left.values, *right.values}))}
    # The last entry is for null, which -1 indexes.
    left_ranks = np.array([*(order[text] for text in left.values), -1])
    right_ranks = np.array([*(order[text] for text in right.values), -1])
    return left_ranks[left.codes], right_ranks[right.codes]


def _arithmetic(operator: str, left: Floats, right: Floats) -> Floats:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    result = left / right if operator == "/" else np.fmod(left, right)
    return np.where(right == 0, np.nan, result)


def _call(expr: Call, columns: Columns) -> _Value:
    """[n] a function's values in a block. NumPy computes it where it can, else the function's kernel, value by value.

    A value beyond every float is null, as `Function.of` has it. SchemaError: the columns lack an attribute.
    """
    n = len(columns)
    values = [_value(one, columns) for one in expr.arguments]
    if expr.function == "is_null":
        return _certain(~_present(values[0], n))
    if expr.function in CHOICES:
        return _finite(_chosen(expr, values, n))
    arguments = [_numbers(one, n) for one in values]
    kernel = BUILT_IN[expr.function].kernel
    assert kernel is not None
    combine = _COMBINE.get(expr.function) or np.vectorize(kernel, otypes=[np.float64])
    if BUILT_IN[expr.function].repeats:
        result = reduce(combine, arguments)
    else:
        result = combine(*arguments)
    return _finite(_Number(result))


_COMBINE: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "least": np.minimum, "greatest": np.maximum,
}  # fmt: skip
"""Functions for which NumPy has an equal one, nulls included."""


def _finite(value: _Number | _Flag) -> _Value:
    """The value, null where it is an infinite number."""
    if isinstance(value, _Flag):
        return value
    return _Number(np.where(np.isfinite(value.data), value.data, np.nan))


def _present(value: _Value, n: int) -> Bools:
    """[n] which are not null."""
    if isinstance(value, _Number):
        return ~np.isnan(value.data)
    if isinstance(value, _Text):
        return value.codes >= 0
    return np.zeros(n, np.bool_) if value is None else value.valid


def _chosen(expr: Call, values: list[_Value], n: int) -> _Number | _Flag:
    """The value of case, coalesce or nullif over numbers or truth values, as numbers (true is 1)."""
    tests = [_truth(one, n) for one in values[:-1:2]] if expr.function == "case" else []
    places = [*range(1, len(values) - 1, 2), len(values) - 1] if tests else range(len(values))
    items = [_items(values[place], n) for place in places]
    if expr.function == "nullif":
        found = np.where(items[0] == items[1], np.nan, items[0])
    else:
        found = items[-1]
        for test, item in reversed(list(zip(tests or [~np.isnan(one) for one in items[:-1]], items[:-1], strict=True))):
            found = np.where(test, item, found)
    return _Number(found) if expr.kind is not Kind.BOOL else _Flag(found == 1.0, ~np.isnan(found))


def _items(value: _Value, n: int) -> Floats:
    return np.where(value.valid, value.data, np.nan) if isinstance(value, _Flag) else _numbers(value, n)


def _numbers(value: _Value, n: int) -> Floats:
    """The value as numbers, null where it is none."""
    return value.data if isinstance(value, _Number) else np.full(n, np.nan)


def _certain(data: Bools) -> _Flag:
    return _Flag(data, np.ones(len(data), dtype=np.bool_))


def _as_bools(data: Any) -> Bools:
    return np.asarray(data, dtype=np.bool_)
