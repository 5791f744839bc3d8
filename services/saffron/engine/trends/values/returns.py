"""RETURN and HAVING of a result, computed exactly, or with 60 digits where numbers are huge (T1, T9).

A value is None for null, an int, a Fraction, a bool, a string, or a Decimal. Decimals stand for numbers with thousands
of bits, of which fractions would be slow. `plan.Binary` defines the operators.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.json_pieces import Pieces
from saffron.engine.events.strings import Strings
from saffron.engine.trends.codegen.prepare import value_of
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Floats, Ints, Smalls
from saffron.engine.trends.core.measures import Measures, parts_of
from saffron.engine.trends.core.order import Pairs
from saffron.engine.trends.core.wide import decimal, written
from saffron.engine.trends.values.computed import computed
from saffron.engine.trends.values.shown import Shown, shown_count, shown_extreme, shown_mean, shown_pairs, shown_sum
from saffron.language.plan.expressions import Binary, Const, Expr, GroupValue, TrendValue
from saffron.language.plan.pairs import rest_of_name
from saffron.language.plan.trend_plan import TrendAggregate, TrendPlan
from saffron.schema.numbers import digits, shown
from saffron.schema.schema import Kind

_CONTEXT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_COMPARED: Mapping[str, Callable[[Any, int], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
_MODEST = 4096
_LARGEST = 2**63


class Rows(NamedTuple):
    """Results as kernels write them: `layout.out`, and of each the numbers [n, A] and extremes [n, B], which are pairs
    where float64 does not hold some of them."""

    out: Ints
    numbers: Ints
    scales: Smalls
    extremes: Floats | Pairs

    def at(self, chosen: NDArray[Any]) -> Rows:
        """The chosen rows."""
        return Rows(*(part[chosen] for part in self))


def kinds_of(names: Sequence[str], kinds: Mapping[str, Kind]) -> tuple[Kind | None, ...]:
    """The kinds of these attributes, those that every event has included."""
    own = {"ts": Kind.INT, "type": Kind.STRING}
    of_rest = (Kind.FLOAT if rest_of_name(name) is not None else None for name in names)
    return tuple(rest or own.get(name) or kinds.get(name) for name, rest in zip(names, of_rest, strict=True))


class Row(NamedTuple):
    """One result: its group's values, and its numbers."""

    group: Sequence[Any]
    numbers: Sequence[int]
    scales: Sequence[int]
    extremes: Sequence[complex]


class Returns:
    """The RETURN items and HAVING of a plan as functions of results."""

    def __init__(self, plan: TrendPlan, measures: Measures, group_kinds: Sequence[Kind | None]) -> None:
        self._plan = plan
        self._kinds = tuple(group_kinds)
        self._counted = [measure.function == "count" for measure in measures.numbers]
        self._aggregates = [_Aggregate(aggregate, measures, unlimited=plan.exact) for aggregate in plan.aggregates]
        self.names = [orjson.dumps(item.name) for item in plan.returns]

    def kept(self, rows: Rows, strings: Strings) -> Rows:
        """The rows for which HAVING holds."""
        having = self._plan.having
        if having is None or not len(rows.out):
            return rows
        holds = self._counted_holds(having, rows)
        if holds is None:
            holds = np.array([self._value(having, row) is True for row in self._rows(rows, strings)], dtype=np.bool_)
        return rows if holds.all() else rows.at(holds)

    def _rows(self, rows: Rows, strings: Strings) -> Iterator[Row]:
        group = self.groups(strings)
        parts = zip(rows.out.tolist(), rows.numbers.tolist(), rows.scales.tolist(), rows.extremes.tolist(), strict=True)
        for out, numbers, scales, extremes in parts:
            yield Row(group(tuple(out[layout.O_WORDS :])), numbers, scales, extremes)

    def _counted_holds(self, having: Expr, rows: Rows) -> NDArray[np.bool_] | None:
        """[n] whether a comparison of a count with a whole number holds, for all rows at once; None: another
        condition.
        """
        match having:
            case Binary(operator=sign, left=TrendValue(index=index), right=Const(value=int(value))):
                at = self._aggregates[index].count_at
                plain = sign in _COMPARED and not isinstance(value, bool) and abs(value) < _LARGEST
                if plain and at is not None and not rows.scales[:, at].any():
                    return np.asarray(_COMPARED[sign](rows.numbers[:, at], value), dtype=np.bool_)
        return None

    def groups(self, strings: Strings) -> Callable[[tuple[int, ...]], Sequence[Any]]:
        """The values of a group, by its words."""

        @lru_cache(maxsize=4096)
        def values(words: tuple[int, ...]) -> Sequence[Any]:
            left = iter(words)
            return [shown(value_of(next(left), kind, strings, left)) for kind in self._kinds]

        return values

    def columns(
        self, rows: Rows, groups: Sequence[Sequence[Any]], of: Ints, pieces: Pieces
    ) -> tuple[list[Ints], NDArray[np.bool_]]:
        """The JSON pieces of each item, one for each row; and [rows] whether nothing in a row was rounded.

        `groups`: the values of each group; `of` [n]: the group of each row.
        """
        kept = np.where(self._counted, rows.scales, rows.scales & 1) == 0
        exact: NDArray[np.bool_] = kept.all(axis=1)
        found = []
        for item in self._plan.returns:
            column, whole = self.column(item.expr, rows, groups, of, pieces)
            found.append(column)
            exact &= whole
        return found, exact

    def column(
        self, expr: Expr, rows: Rows, groups: Sequence[Sequence[Any]], of: Ints, pieces: Pieces
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """The JSON pieces of one expression; otherwise see `columns`."""
        if isinstance(expr, GroupValue):
            texts = [self._written(expr, Row(group, (), (), ())) for group in groups]
            return pieces.literals([text for text, _ in texts]) + of, np.array([whole for _, whole in texts])[of]
        if isinstance(expr, TrendValue):
            shown = self._aggregates[expr.index].column(rows)
            if shown is not None:
                return pieces.numbers(shown), np.ones(len(of), np.bool_)
        parts = zip(of.tolist(), rows.numbers.tolist(), rows.scales.tolist(), rows.extremes.tolist(), strict=True)
        texts = [self._written(expr, Row(groups[group], *numbers)) for group, *numbers in parts]
        first = pieces.literals([text for text, _ in texts])
        return first + np.arange(len(of)), np.array([whole for _, whole in texts], np.bool_)

    def _written(self, expr: Expr, row: Row) -> tuple[bytes, bool]:
        """The JSON of a value of one row, and whether it was not rounded further than its numbers are."""
        if isinstance(expr, TrendValue):
            return _json(self._aggregates[expr.index].written(row)), True
        return _shown(self._value(expr, row), unlimited=self._plan.exact)

    def _value(self, expr: Expr, row: Row) -> Any:
        """The value of an expression in one row, None for null: by fractions, or by decimals where a number is huge."""
        huge = any(abs(scale) > _MODEST for scale in row.scales)

        def leaf(one: Expr) -> Any:
            if isinstance(one, GroupValue):
                value = row.group[one.index]
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                return (Decimal(value) if huge else Fraction(value)) if is_number else value
            assert isinstance(one, TrendValue)
            return self._aggregates[one.index].value(row, huge=huge)

        if not huge:
            return computed(expr, leaf, Fraction)
        with localcontext(_CONTEXT):
            return computed(expr, leaf, Decimal)


class _Aggregate:
    """One aggregate: the places of its numbers in a row. `unlimited`: sums are shown as integers of any size."""

    def __init__(self, aggregate: TrendAggregate, measures: Measures, *, unlimited: bool) -> None:
        self._function = aggregate.function
        self._unlimited = unlimited
        parts = parts_of(aggregate)
        self._is_extreme = self._function in ("min", "max")
        self._at = [(measures.extremes if self._is_extreme else measures.numbers).index(part) for part in parts]

    @property
    def count_at(self) -> int | None:
        """The index of its number, if it is a count."""
        return self._at[0] if self._function == "count" else None

    def column(self, rows: Rows) -> Shown | None:
        """[n] its values as results show them; None where they have to be written one by one."""
        at = self._at[0]
        if self._is_extreme:
            values = -rows.extremes[:, at] if self._function == "max" else rows.extremes[:, at]
            return shown_pairs(values.astype(np.complex128)) if values.imag.any() else shown_extreme(values.real)
        numbers, scales = rows.numbers[:, at], rows.scales[:, at]
        if self._function == "count":
            return shown_count(numbers, scales)
        if self._function == "sum":
            return shown_sum(numbers, scales)
        count = self._at[1]
        return shown_mean(numbers, scales, rows.numbers[:, count], rows.scales[:, count])

    def written(self, row: Row) -> int | float | str | None:
        """The value of the aggregate in the form of results."""
        at = self._at[0]
        if self._function == "count":
            return written(row.numbers[at], row.scales[at])
        value = self.value(row, huge=any(abs(scale) > _MODEST for scale in row.scales))
        unlimited = self._unlimited and self._function == "sum"
        if self._function != "avg" and _is_whole(value, unlimited=unlimited):
            return int(value)
        return _float(value)

    def value(self, row: Row, *, huge: bool) -> Any:
        """The value of the aggregate as a Fraction or, if numbers are huge, a Decimal."""
        at = self._at[0]
        if self._is_extreme:
            pair = -row.extremes[at] if self._function == "max" else row.extremes[at]
            if math.isinf(pair.real):
                return None
            found = int(pair.real) + int(pair.imag) if pair.imag else pair.real
            return Decimal(found) if huge else Fraction(found)
        number: Any = decimal if huge else _fraction
        if self._function == "count":
            return number(row.numbers[at], row.scales[at])
        total = number(row.numbers[at], row.scales[at] >> 1)
        if self._function == "sum":
            return total
        count = number(row.numbers[self._at[1]], row.scales[self._at[1]])
        with localcontext(_CONTEXT):
            return total / count if count else None


def _fraction(n: int, e: int) -> Fraction:
    return Fraction(n << e) if e >= 0 else Fraction(n, 1 << -e)


def _is_whole(value: Any, *, unlimited: bool) -> bool:
    """True if a value is shown as an integer: one of 64 bits, or, `unlimited`, of any size."""
    if unlimited and isinstance(value, Fraction):
        return value.denominator == 1
    if isinstance(value, Decimal):  # `abs` of one beyond the default context overflows
        return value.copy_abs() < _LARGEST and value == int(value)
    return value is not None and abs(value) < _LARGEST and value == int(value)


def _float(value: Any) -> float | str | None:
    """The nearest float; a decimal string where it is out of their range."""
    if value is None:
        return None
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    return f"{_decimal(value):.16e}" if math.isinf(found) else found


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    with localcontext(_CONTEXT):
        return Decimal(value.numerator) / Decimal(value.denominator)


def _shown(value: Any, *, unlimited: bool) -> tuple[bytes, bool]:
    """A computed value as JSON, and whether it is shown as it is, but for the rounding to a float."""
    if value is None or isinstance(value, bool | str):
        return orjson.dumps(value), True
    if isinstance(value, Fraction) and _is_whole(value, unlimited=unlimited):
        return digits(value.numerator).encode(), True
    rounded = _float(value)
    return orjson.dumps(shown(rounded)), not isinstance(rounded, str)


def _json(value: float | str | None) -> bytes:
    return digits(value).encode() if isinstance(value, int) else orjson.dumps(shown(value))
