"""The parser of durations and numbers of events: WITHIN 10 s, NOT B FOR 5 minutes."""

from __future__ import annotations

from fractions import Fraction

from saffron.durations import UNITS, scaled
from saffron.language.syntax.hints import suggestion
from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.tree import Size, Span

SIZE_LIMIT = 2**53
"""Largest size, in ms or events."""


def unit_suggestion(written: str) -> str:
    """`Did you mean 'minutes'?`, or "" if no unit is similar."""
    return "Did you mean 'minutes'?" if written.lower() == "m" else suggestion(written, [*UNITS, "events"])


def parse_size(cursor: Cursor, clause: str) -> Size:
    """A number and its unit, in ms or events. `clause`: for errors."""
    token, _ = cursor.expect_number(f"a number after {clause}", hint=f"Write it as in {clause} 10 seconds.")
    unit = cursor.token
    if unit.lower not in UNITS and unit.lower not in ("event", "events"):
        near = unit_suggestion(unit.value) if unit.kind == "word" else ""
        hint = " ".join(filter(None, ["Units: ms, s, seconds, minutes, hours, days, EVENTS.", near]))
        cursor.fail(f"expected a unit after {clause} {token.value}", hint=hint)
    cursor.advance()
    events = unit.lower not in UNITS
    amount = scaled(token.value, Fraction(1) if events else UNITS[unit.lower])
    span = Span(token.start, unit.end)
    if not isinstance(amount, int) or not 1 <= amount <= SIZE_LIMIT:
        what = "a whole number of events" if events else "a whole number of ms"
        raise cursor.error(f"{clause} needs {what}, from 1 to 2^53", span)
    return Size(amount, events, span=span)
