"""The schema of a stream's events: event types, their attributes, and the kind of each attribute.

An attribute has one kind throughout a stream, whatever the event type, so that it is one column in a block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from saffron.schema.event_types import EventTypes
from saffron.schema.origin import SOURCE

_SQL_PAIR = "struct<nearest: double, rest: double>"

NULL_INT = -(2**63)
NULL_CODE = -1


COMPUTED_MARK = "\U0010ffff"
"""The beginning of names of computed values: no character, and no attribute has a name that begins so."""


class Kind(Enum):
    """The kind of an attribute: the one map from kinds to how their values are held, written and called.

    A member is its name, then `dtype`, `null`, `json_type`, `table_type`, `sql_type` and `noun`.

    JSON has one kind of number. The kinds of numbers here say which values an attribute has held, so that it can be
    held, and compared, no slower than they need: see `widened`.
    """

    # Whole numbers that float64 holds exactly.
    INT = "int", "int64", NULL_INT, "integer", "int64", "bigint", "an integer"
    # Whole numbers within 64 bits.
    LONG = "long", "int64", NULL_INT, "integer", "int64", "bigint", "an integer"
    FLOAT = "float", "float64", math.nan, "number", "float64", "double", "a number"
    # Both of the last two, as pairs (see `schema.numbers`); a user's table has them as text.
    NUMBER = "number", "complex128", complex(math.nan), "number", "string", _SQL_PAIR, "a number"
    # 0 and 1.
    BOOL = "bool", "int8", -1, "boolean", "bool", "tinyint", "true or false"
    # Codes into the column's `values`, as every kind that `has_texts`.
    STRING = "string", "int32", NULL_CODE, "string", "string", "string", "a string"
    # Codes as well; the values are JSON texts of arrays.
    ARRAY = "array", "int32", NULL_CODE, "array", "string", "string", "an array"
    # Nothing but null so far: as FLOAT.
    NULL = "null", "float64", math.nan, "null", "float64", "double", "null"

    dtype: str
    """The type of a column's items, by the name that NumPy, Numba and Arrow share."""
    null: Any
    """The item that stands for null."""
    json_type: str
    """The type in JSON Schema."""
    table_type: str
    """Arrow's, in tables for users."""
    sql_type: str
    """Spark's, of a column."""
    noun: str
    """The noun for messages."""

    def __new__(cls, value: str, *held: Any) -> Self:
        kind = object.__new__(cls)
        kind._value_ = value
        kind.dtype, kind.null, kind.json_type, kind.table_type, kind.sql_type, kind.noun = held
        return kind

    @property
    def is_number(self) -> bool:
        return self in (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.NUMBER)

    @property
    def is_whole(self) -> bool:
        """Held as int64."""
        return self in (Kind.INT, Kind.LONG)

    @property
    def is_wide(self) -> bool:
        """True if the kind has values that float64 does not hold exactly."""
        return self in (Kind.LONG, Kind.NUMBER)

    @property
    def has_texts(self) -> bool:
        """Held as codes into the column's `values`."""
        return self in (Kind.STRING, Kind.ARRAY)

    @property
    def column(self) -> Kind:
        """The kind of the column that holds it: one for all that are held alike."""
        return Kind.INT if self.is_whole else Kind.FLOAT if self is Kind.NULL else self


def widened(a: Kind, b: Kind) -> Kind | None:
    """The least kind that has the values of both; None where there is none. The order of joins does not matter."""
    if a is b or b is Kind.NULL:
        return a
    if a is Kind.NULL:
        return b
    if not (a.is_number and b.is_number):
        return None
    if a.is_whole and b.is_whole:
        return Kind.LONG
    return Kind.NUMBER if a.is_wide or b.is_wide else Kind.FLOAT


MAX_TS = 2**53
"""The largest timestamp an event may carry (ms since 1970 UTC)."""
END_OF_TIME = 2**62
"""The watermark that closes everything: the end of a replay."""

MAX_EVENT_BYTES = 1 << 20
"""The longest event that is read."""
MAX_INSTANTS = 1_000_000
"""The most instants (ms) that an imprecise time may choose from: the work on a match grows with them."""

Distribution = str | tuple[float, ...]
"""The distribution of an imprecise time in its interval [lo, hi] of n = hi - lo + 1 instants.

It is "uniform", "triangular" (a tent over the interval), or the weights of a histogram, whose bars divide the interval
into equal parts. Instant number i has the probability between i / n and (i + 1) / n of the interval.
"""


@dataclass(frozen=True)
class Schema:
    """Attributes of a stream in column order, and which of them each event type has.

    `kinds`: attribute name -> kind, in the order of columns (`type` and `ts` are not among them).
    `types`: event type -> names of its attributes, in the order in which results print them.
    `required`: event type -> attributes that must be present and not null (empty when inferred).
    `closed`: attributes beyond those of the type break the schema (`additionalProperties: false`).
    `given`: True when the user gave the schema; a breach is a dead letter. False when it was inferred: a mistyped value
    is null and counted, an unknown type or attribute is let in as far as it can be.
    `derived`: event types that are results of queries (INTO); such a schema is a query's, never the stream's own.
    `times`: event types whose ts may be an interval [lo, hi], with the distribution of the time in it. A stream where
    there is one has imprecise time; under an inferred schema every type's events may then have intervals.
    """

    kinds: Mapping[str, Kind]
    types: Mapping[str, tuple[str, ...]]
    required: Mapping[str, frozenset[str]]
    closed: bool = False
    given: bool = False
    times: Mapping[str, Distribution] = field(default_factory=dict)
    derived: frozenset[str] = frozenset()

    def attributes_of(self, type_name: str) -> tuple[str, ...]:
        """Names of the attributes of such events; any that there are, where the type was not seen when the schema was
        inferred.

        Those of a merged stream are sorted: which came first depends on how fast its sources are read.
        """
        unseen = () if self.given else tuple(name for name in self.kinds if not name.startswith(COMPUTED_MARK))
        names = self.types.get(type_name, unseen)
        return names if SOURCE not in self.kinds else tuple(sorted(names, key=lambda name: (name[:1] == "$", name)))

    def attributes_of_any(self, types: EventTypes) -> tuple[str, ...]:
        """Names of the attributes that events of at least one of the types have, each once."""
        names = types.named if not types.others else tuple(name for name in self.types if name in types) or ("",)
        return tuple(dict.fromkeys(attribute for name in names for attribute in self.attributes_of(name)))

    def distribution(self, type_name: str) -> Distribution | None:
        """The distribution of the times of such events; None where only exact times are allowed."""
        inferred = "uniform" if self.times and not self.given else None
        return self.times.get(type_name, inferred)
