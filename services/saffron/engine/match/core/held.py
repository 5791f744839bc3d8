"""Names of the columns of rows that hold events' attributes.

A number that is no float64 takes two columns (`language.plan.pairs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.rows import TS, TYPE, Rows
from saffron.language.plan.pairs import rest_name, rest_of_name
from saffron.schema.schema import Kind, Schema

_OWN = {"ts": Kind.INT, "type": Kind.STRING}


def column_name(attribute: str) -> str:
    """The name of the column of an attribute, or of the rest of one; every event has "ts" and "type"."""
    if attribute in _OWN:
        return TS if attribute == "ts" else TYPE
    whole = rest_of_name(attribute)
    return f".{attribute}" if whole is None else f"#rest.{whole}"


def held_kinds(schema: Schema) -> dict[str, Kind]:
    """All that rows keep of an event's attributes, by name: the kind of the column."""
    found: dict[str, Kind] = {}
    for name, kind in schema.kinds.items():
        found |= kinds_held(name, kind)
    return found


def kinds_held(name: str, kind: Kind) -> dict[str, Kind]:
    """The kinds of the columns in which rows keep one attribute."""
    if kind is Kind.NUMBER:
        return {name: Kind.FLOAT, rest_name(name): Kind.FLOAT}
    return {name: kind.column}


def kind_in(schema: Schema, attribute: str) -> Kind:
    """The kind of the attribute's column, "ts" and "type" included."""
    return _OWN.get(attribute) or schema.kinds[attribute].column


def stored_values(rows: Rows, kind: Kind, attribute: str, places: NDArray[np.int64]) -> NDArray[Any]:
    """[n] the attribute of the events at these places of the ring of rows, as a column of its kind."""
    values: NDArray[Any] = rows.columns[column_name(attribute)][places]
    if kind is not Kind.NUMBER:
        return values
    pairs = np.empty(len(values), np.complex128)
    pairs.real, pairs.imag = values, rows.columns[column_name(rest_name(attribute))][places]
    return pairs
