"""The kind that a value of a record has, and the value as an attribute of a kind takes it."""

from __future__ import annotations

from typing import Any

from saffron.engine.events.decoding.nesting import ArrayText
from saffron.engine.events.decoding.rules.outcomes import Scalar
from saffron.schema.numbers import NO_NUMBERS, kind_of_number, number_of
from saffron.schema.schema import Kind, widened

NO_NUMBER = "a number that neither int64 nor float64 holds exactly: write it as a string"


def fit(value: Scalar, kind: Kind) -> Scalar:
    """`value` as the kind's Python type, or None where it is not of that kind. A whole float is an integer too.

    INT takes all that LONG takes: it should then become LONG (see `kind_of`).
    """
    found = kind_of(value)
    if found is None or widened(found, kind) is not kind:
        return int(value) if found is Kind.LONG and kind is Kind.INT else None  # type: ignore[arg-type]
    if isinstance(value, bool | str) or value is None:
        return value
    return int(value) if kind.is_whole else float(value) + 0.0 if kind is Kind.FLOAT else number_of(value)


def kind_of(value: Scalar) -> Kind | None:
    """The least kind that has the value; None for null, and for numbers that are no values (see `number_of`)."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, ArrayText):
        return Kind.ARRAY
    if isinstance(value, str) or value is None:
        return Kind.STRING if isinstance(value, str) else None
    number = number_of(value)
    return None if number is None else kind_of_number(number)


def wider_kind(value: Scalar, kind: Kind) -> Kind | None:
    """The kind that an attribute of this kind should become for the value; None: it has it, or no kind has both.

    "NaN" and the like stand for numbers that are none: they make no attribute one of strings.
    """
    found = None if value in NO_NUMBERS else kind_of(value)
    wider = None if found is None else widened(found, kind)
    return None if wider is kind else wider


def whole(given: Any) -> int | None:
    fitted = fit(given, Kind.INT) if not isinstance(given, dict | list) else None
    return fitted if isinstance(fitted, int) else None


def why_no_value(item: Scalar) -> str:
    if isinstance(item, bool | str) or item is None or number_of(item) is not None:
        return ""
    return f", {NO_NUMBER}"
