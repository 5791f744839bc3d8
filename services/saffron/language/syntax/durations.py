"""Units of time, in the query language and on the command line."""

from __future__ import annotations

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


def scaled(digits: str, factor: int | Fraction) -> int | float:
    """The product of a written number and a factor, rounded once: 2.3 s is exactly 2300 ms, 80% is 0.8."""
    product = Fraction(digits) * factor
    return int(product) if product.denominator == 1 else float(product)


def duration(milliseconds: int) -> str:
    """A duration in its largest whole unit, as the language writes it: `1 hour`, `90 seconds`, `1500 ms`."""
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second")):
        if milliseconds >= size and milliseconds % size == 0:
            count = milliseconds // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{milliseconds} ms"
