"""A block's columns as the numbers that features are made of: codes of kinds, attributes and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns, is_null
from saffron.engine.models.features.features import FeatureError, FeatureSpec, Value
from saffron.schema.numbers import pair_of
from saffron.schema.schema import Kind

Floats = NDArray[np.float64]


class KindCodes:
    """The codes of events' kinds: tables, walked column by column, give the code of a combination of values.

    Of the first columns only those combinations are told apart with which some known kind begins. So a table has at
    most as many rows as there are kinds, however many columns there are.
    """

    def __init__(self, spec: FeatureSpec) -> None:
        self._columns = spec.kinds
        self._places = [_places(spec, index) for index in range(len(spec.kinds))]
        self._tables = _tables(spec, self._places)
        self._recent: list[tuple[tuple[str, ...], NDArray[np.int32]] | None] = [None] * len(spec.kinds)

    def of(self, columns: Columns) -> NDArray[np.int32]:
        """int32 [n]: the code of each event's kind."""
        codes: NDArray[np.int32] | None = None
        for index, (name, table) in enumerate(zip(self._columns, self._tables, strict=True)):
            column = columns.type if name == "type" else _attribute(columns, name)
            where = self._strings(index, column) if column.kind.has_texts else self._numbers(index, column)
            codes = table.reshape(-1)[where if codes is None else codes * table.shape[1] + where]
        assert codes is not None, "a specification has a column at least"
        return codes

    def _strings(self, index: int, column: Column) -> NDArray[np.int32]:
        """Places of strings by their codes; null, and strings in no combination, have the last place."""
        recent = self._recent[index]
        if recent is None or recent[0] is not column.values:
            places = self._places[index]
            by_code = [places.get(value, len(places)) for value in column.values]
            recent = self._recent[index] = column.values, np.array([*by_code, len(places)], dtype=np.int32)
        found: NDArray[np.int32] = recent[1][column.data]
        return found

    def _numbers(self, index: int, column: Column) -> NDArray[np.int32]:
        """int32 [n]: places of numbers by value; null, and numbers in no combination, have the last place.

        FeatureError: the column has no numbers.
        """
        if not column.kind.is_number:
            raise FeatureError(
                f"column {self._columns[index]!r} is {column.kind.value}, and kinds are strings or numbers"
            )
        places = self._places[index]
        found = np.full(len(column.data), len(places), dtype=np.int32)
        for value, place in places.items():
            if not isinstance(value, int):
                continue
            found[column.data == (value if column.kind is Kind.INT else pair_of(value))] = place
        return found


def numbers_in(spec: FeatureSpec, columns: Columns) -> Floats:
    """float64 [attributes, n]: the values of `spec.attributes`, NaN for null."""
    values = np.empty((len(spec.attributes), len(columns)))
    for row, attribute in enumerate(spec.attributes):
        values[row] = as_floats(_attribute(columns, attribute.name))
    return values


def truths_in(spec: FeatureSpec, columns: Columns) -> NDArray[np.int16]:
    """int16 [conditions, n]: 1 where a condition holds."""
    truths = np.empty((len(spec.conditions), len(columns)), dtype=np.int16)
    names = dict.fromkeys(name for condition in spec.conditions for name in condition.names)
    numbers = {name: as_floats(_attribute(columns, name)) for name in names}
    for row, condition in enumerate(spec.conditions):
        truths[row] = condition.holds(numbers.__getitem__)
    return truths


def as_floats(column: Column) -> Floats:
    """A column of numbers or booleans as float64, NaN for null."""
    if column.kind.has_texts:
        raise FeatureError("a column of strings has no numbers: it can be part of an event's kind")
    values: Floats = column.data.real.astype(np.float64)
    values[is_null(column.kind, column.data)] = np.nan
    return values


def _attribute(columns: Columns, name: str) -> Column:
    column = columns.attributes.get(name)
    if column is None:
        raise FeatureError(f"the stream's events have no attribute {name!r}, which their features are made of")
    return column


def _tables(spec: FeatureSpec, places: Sequence[Mapping[Value, int]]) -> list[NDArray[np.int32]]:
    """The table of each column: int32 [beginnings + 1, places + 1].

    It gives the number of a beginning of a known kind, from that of the columns before and the place of this column's
    value. Its last row and its last column are for what no known kind begins with. The last table gives the kind's
    code.
    """
    tables: list[NDArray[np.int32]] = []
    before: dict[tuple[Value, ...], int] = {(): 0}
    for index, own in enumerate(places):
        begun = dict.fromkeys(values[: index + 1] for values in spec.known)  # in the end the kinds, by their codes
        number = {values: place for place, values in enumerate(begun)}
        table = np.full((len(before) + 1, len(own) + 1), len(number), dtype=np.int32)
        for values, place in number.items():
            table[before[values[:-1]], own.get(values[-1], -1)] = place
        tables.append(table)
        before = number
    return tables


def _places(spec: FeatureSpec, index: int) -> dict[Value, int]:
    values = dict.fromkeys(values[index] for values in spec.known if values[index] is not None)
    return {value: place for place, value in enumerate(values)}
