"""Columns of computed values: from arrays (`schema.computed`), and of formulas (`language.plan.event_formulas`).

What is computed from arrays is computed once for each distinct array of a block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.event_expressions import numbers
from saffron.language.plan.event_formulas import formula_of_name
from saffron.language.plan.pairs import exact
from saffron.language.plan.plan import Attribute, Expr
from saffron.language.plan.rewrite import mapped
from saffron.schema.computed import Computed
from saffron.schema.numbers import pair_of
from saffron.schema.schema import Kind


def with_computed(columns: Columns, names: Iterable[str]) -> Columns:
    """The same events, with the computed values of these names as attributes."""
    names = list(names)
    columns = _with_elements(columns, [one for name in names if (one := Computed.of_name(name)) is not None])
    formulas = {name: expr for name in names if (expr := formula_of_name(name)) is not None}
    if not formulas:
        return columns
    with np.errstate(all="ignore"):
        more = {name: Column(Kind.FLOAT, numbers(_typed(expr, columns), columns)) for name, expr in formulas.items()}
    return replace(columns, attributes={**columns.attributes, **more})


def _typed(formula: Expr, columns: Columns) -> Expr:
    """The formula with the kinds of its attributes' columns, and comparisons that are exact for all of their values."""

    def leaf(node: Expr) -> Expr:
        if not isinstance(node, Attribute) or (column := columns.attributes.get(node.name)) is None:
            return node
        return replace(node, kind=Kind.LONG if column.kind is Kind.INT else column.kind)

    return exact(mapped(formula, leaf), whole=False)


def _with_elements(columns: Columns, found: list[Computed]) -> Columns:
    """The same events, with values computed from arrays as attributes."""
    if not found:
        return columns
    parsed = {name: _parsed(columns, name) for name in dict.fromkeys(one.attribute for one in found)}
    more = {one.name: _column(one, columns, parsed[one.attribute]) for one in found}
    return replace(columns, attributes={**columns.attributes, **more})


def _parsed(columns: Columns, name: str) -> list[Any]:
    """The distinct arrays of a column, by code; none where the attribute is no array."""
    column = columns.attributes.get(name)
    return [] if column is None or column.kind is not Kind.ARRAY else list(map(orjson.loads, column.values))


def _column(one: Computed, columns: Columns, arrays: list[Any]) -> Column:
    kind = one.kind.column
    if not arrays:
        return Column(kind, np.full(len(columns), kind.null, kind.dtype))
    values = list(map(one.of, arrays))
    codes: dict[str, int] = {}
    # The last item is for null, which -1 indexes.
    table: NDArray[Any] = np.full(len(values) + 1, kind.null, kind.dtype)
    for code, value in enumerate(values):
        if value is None:
            continue
        if kind.has_texts:
            text = value if kind is Kind.STRING else orjson.dumps(value).decode()
            table[code] = codes.setdefault(text, len(codes))
        else:
            table[code] = pair_of(value) if kind is Kind.NUMBER else value
    return Column(kind, table[columns.attributes[one.attribute].data], tuple(codes))
