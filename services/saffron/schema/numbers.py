"""JSON's numbers as values: whole within 64 bits and exact, or the nearest float64, or no value at all.

A number that no float64 is exactly is a pair: the nearest float64, and the rest that is left. Pairs are equal where
the numbers are, and are ordered, the first part first, as the numbers are. complex128 holds one, the rest as its
imaginary part.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from saffron.schema.schema import NULL_INT, Kind, widened

LIMIT = 2**63
EXACT = 2**53
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
NO_NUMBERS = frozenset(("NaN", "Infinity", "-Infinity"))
"""Texts for numbers that JSON does not have."""


def number_of(value: float | Decimal) -> int | float | None:
    """The value of a number: int where it is whole and within 64 bits, else the nearest float64; None: no value.

    Infinities and NaN are no values. A whole number beyond 64 bits is none either, unless it is a float64 or written as
    the shortest text of one: another such number would become the same.
    """
    try:
        nearest = float(value)
    except OverflowError:
        return None
    if not math.isfinite(nearest):
        return None
    if (whole := int(value)) != value:
        whole = int(nearest)
        return whole if whole == nearest and -LIMIT < whole < LIMIT else nearest
    if -LIMIT < whole < LIMIT:
        return whole
    return nearest if nearest == whole or Decimal(repr(nearest)) == whole else None


def number_of_text(text: str) -> int | float | None:
    """The value of a JSON number, as `number_of`."""
    nearest = float(text)
    if abs(nearest) < EXACT:
        return int(nearest) if nearest.is_integer() else nearest
    return number_of(Decimal(text)) if math.isfinite(nearest) else None


def is_number_text(text: str) -> bool:
    """True if a text is a JSON number."""
    return _JSON_NUMBER.fullmatch(text) is not None


def number_text(written: str) -> str:
    """The text of a JSON number as results print it, so that 1, 1.0 and 1e0 are one text; or all its digits."""
    value = number_of_text(written)
    printed = "" if value is None else orjson.dumps(shown(value)).decode()
    try:
        return printed if printed and Decimal(printed) == Decimal(written) else str(written)
    except InvalidOperation:  # an exponent beyond those of Decimal
        return str(written)


def digits(value: int) -> str:
    """An integer as text, however long: `str` takes no more than 4,300 digits."""
    return str(value if isinstance(value, bool) or -LIMIT < value < LIMIT else Decimal(value))


def kind_of_number(value: float) -> Kind:
    """The least kind that has a value of `number_of`."""
    if isinstance(value, float) and not (value.is_integer() and -LIMIT < value < LIMIT):
        return Kind.FLOAT
    if value == NULL_INT:
        return Kind.FLOAT  # int64 has no room for it beside null
    return Kind.INT if float(value) == value else Kind.LONG


def fits(value: float, kind: Kind) -> bool:
    """True if a kind of numbers has the value."""
    number = number_of(value)
    return number is not None and widened(kind_of_number(number), kind) is kind


def pair_of(value: float) -> complex:
    """A value of `number_of` as nearest float64 and rest."""
    nearest = float(value)
    return complex(nearest, float(value - int(nearest)) if isinstance(value, int) else 0.0)


def value_of_pair(pair: complex) -> int | float | None:
    """The number that a pair is; None for null."""
    if math.isnan(pair.real):
        return None
    return int(pair.real) + int(pair.imag) if pair.imag else plain(pair.real)


def plain(value: float) -> int | float:
    """The number as it is shown: int where it is whole and within 64 bits."""
    return int(value) if value.is_integer() and -LIMIT < value < LIMIT else value


def shown(value: Any) -> Any:
    """Any value as results have it: a number by `plain`."""
    return plain(value) if isinstance(value, float) else value
