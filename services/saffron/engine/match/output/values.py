"""The values that results are written from, and attributes of stored events as Python objects."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from saffron.engine.events.strings import Strings
from saffron.engine.match.core.held import column_name, kind_in
from saffron.engine.match.core.rows import Rows
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import rest_name
from saffron.schema.numbers import plain, value_of_pair
from saffron.schema.schema import NULL_INT, Kind, Schema


class Stored(Protocol):
    """A query's events, as results read them."""

    @property
    def plan(self) -> MatchPlan: ...
    @property
    def rows(self) -> Rows: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def strings(self) -> Strings: ...


def value_at(rows: Rows, schema: Schema, strings: Strings, attribute: str, place: int) -> Any:
    """The attribute of the event at a place of the ring of rows; None where it is null or there is no such column."""
    column = rows.columns.get(column_name(attribute))
    if column is None:
        return None
    value = column[place].item()
    if attribute == "ts":
        return value
    kind = kind_in(schema, attribute)
    if kind is Kind.NUMBER:
        return value_of_pair(complex(value, rows.columns[column_name(rest_name(attribute))][place].item()))
    if kind is Kind.FLOAT:
        return None if value != value else plain(value)  # noqa: PLR0124  NaN is null
    if kind is Kind.INT:
        return None if value == NULL_INT else value
    if value < 0:
        return None
    if not kind.has_texts:
        return bool(value)
    return strings.value(value) if kind is Kind.STRING else orjson.loads(strings.value(value))
