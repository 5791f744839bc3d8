"""Units of time: in the query language, in definitions of streams, and on the command line."""

from __future__ import annotations

import re
from fractions import Fraction

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

UNITS = {
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": SECOND, "sec": SECOND, "second": SECOND, "seconds": SECOND,
    "min": MINUTE, "minute": MINUTE, "minutes": MINUTE,
    "h": HOUR, "hour": HOUR, "hours": HOUR,
    "d": DAY, "day": DAY, "days": DAY,
}  # fmt: skip
"""Spelling of a unit -> milliseconds."""

_OWN = {**UNITS, "m": MINUTE}
"""The units of options and definitions. A query has no `m`."""
_WRITTEN = re.compile(r"\s*(\d{1,16}(?:\.\d{1,6})?)\s*([a-z]*)\s*", re.ASCII)
MOST = 2**53
"""The longest duration, in milliseconds."""


def scaled(digits: str, factor: int | Fraction) -> int | float:
    """The product of a written number and a factor, rounded once: 2.3 s is exactly 2300 ms, 80% is 0.8."""
    product = Fraction(digits) * factor
    return int(product) if product.denominator == 1 else float(product)


def read_duration(text: str) -> int:
    """The milliseconds of a duration as options and definitions write it: `500ms`, `5s`, `2m`, `1h`, `1d`, or `0`.

    What is not 0 is 1 at least, since 0 means "never". ValueError: it is none; the sentence says how to write it. A
    number without a unit is none: a person means seconds by it as often as milliseconds.
    """
    found = _WRITTEN.fullmatch(text.lower())
    if found is None or found[2] not in ("", *_OWN):
        raise ValueError("Write 500ms, 5s, 2m, 1h or 1d.")
    digits, unit = found.groups()
    if not Fraction(digits):
        return 0
    if not unit:
        raise ValueError(f"A unit is missing: write {digits}s or {digits}ms.")
    amount = max(1, round(scaled(digits, _OWN[unit])))
    if amount > MOST:
        raise ValueError("It is at most 2^53 ms.")
    return amount


def duration(milliseconds: int) -> str:
    """A duration in its largest whole unit, as the language writes it: `1 hour`, `90 seconds`, `1500 ms`."""
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second")):
        if milliseconds >= size and milliseconds % size == 0:
            count = milliseconds // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{milliseconds} ms"


def as_option(milliseconds: int) -> str:
    """A duration as options and definitions write it, in its largest whole unit: `10s`, `1500ms`, `0`."""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0"
