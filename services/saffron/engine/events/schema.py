"""What a stream's events look like: event types, their attributes, and the kind of each attribute.

An attribute has one kind throughout a stream, whatever the event type, so that it is one column in a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kind of an attribute, with the column that holds it and the value that stands for null there."""

    INT = "int"  # int64, null = NULL_INT
    FLOAT = "float"  # float64, null = NaN
    BOOL = "bool"  # int8: 0, 1, null = -1
    STRING = "string"  # int32 codes into the column's `values`, null = -1

    @property
    def is_number(self) -> bool:
        return self in (Kind.INT, Kind.FLOAT)


NULL_INT = -(2**63)
NULL_CODE = -1
MAX_TS = 2**53
"""The largest timestamp an event may carry (ms since 1970 UTC)."""
END_OF_TIME = 2**62
"""The watermark that closes everything: the end of a replay."""


@dataclass(frozen=True)
class Schema:
    """Attributes of a stream in column order, and which of them each event type has.

    `kinds`: attribute name -> kind, in the order of columns (`type` and `ts` are not among them).
    `types`: event type -> names of its attributes, in the order in which results print them.
    `required`: event type -> attributes that must be present and not null (empty when inferred).
    `closed`: attributes beyond those of the type break the schema (`additionalProperties: false`).
    `given`: True when the user gave the schema (a breach is a dead letter), False when it was inferred
    (a mistyped value is null and counted; an unknown type or attribute is let in as far as it can be).
    """

    kinds: Mapping[str, Kind]
    types: Mapping[str, tuple[str, ...]]
    required: Mapping[str, frozenset[str]]
    closed: bool = False
    given: bool = False
