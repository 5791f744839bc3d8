"""Rows: results with a named field for each value, and the type of each (PUBLISH ... AS)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class RowType(Enum):
    """The type of a field. TIMESTAMP: ms since 1970."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class RowField:
    """A field of a row. `required`: it is never null. `part`: the part of a result that has it, "" for the result."""

    name: str
    type: RowType
    required: bool = False
    part: str = ""


@dataclass(frozen=True)
class Row:
    """The rows of a query. `form`: "JSON SCHEMA" or "AVRO". `name`: of the query."""

    form: str
    name: str
    fields: tuple[RowField, ...]
