"""Columns of values that are computed from arrays (`schema.computed`), once for each distinct array of a block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.schema.computed import Computed
from saffron.schema.numbers import pair_of
from saffron.schema.schema import Kind


def with_computed(columns: Columns, names: Iterable[str]) -> Columns:
    """The same events, with the computed values of these names as attributes."""
    found = [one for name in names if (one := Computed.of_name(name)) is not None]
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
