"""Functions of the language beside their plain definitions, and beside SQLite's where the meanings agree."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saffron.schema.functions import times
from saffron.schema.functions.built_in import BUILT_IN, find
from saffron.schema.functions.function import Takes
from saffron.schema.iso_times import parse_iso
from tests.reference.functions import FUNCTIONS
from tests.reference.match.values import compared

_LETTERS = st.text("aAbß%_é. \n", max_size=6)
_NUMBERS = st.one_of(
    st.integers(-4, 4), st.floats(-1e4, 1e4), st.sampled_from([0.5, -0.5, 2.5, 1e300, 2**53, 2**62, 0.0])
)
_VALUES = st.one_of(st.none(), st.booleans(), _NUMBERS, _LETTERS, st.sampled_from(["true", " 1.5 ", "1e3", "x", "-7"]))
_LITERALS = {
    "pattern": st.text("aAb%_!", max_size=5),
    "escape": st.just("!"),
    "expression": st.sampled_from(["a", "^a+$", "(a|b)_", "."]),
    "zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
    "unit": st.sampled_from(times.UNITS),
    "cidr": st.sampled_from(["10.0.0.0/8", "192.168.1.0/24", "2001:db8::/32", "::1/128", "0.0.0.0/0"]),
}
_OF = {
    "in_subnet": st.sampled_from(["10.1.2.3", "192.168.1.9", "2001:db8::5", "::ffff:10.0.0.1", "::1", "10.1", "x"]),
    "hour": st.integers(-(10**12), 4 * 10**12),
}
_OF |= dict.fromkeys(("minute", "day_of_week"), _OF["hour"])


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, list[Any]]:
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    row = BUILT_IN[name]
    most = row.least + 2 if row.most is None else row.most
    count = draw(st.integers(row.least, most))
    if name == "case":
        count = 3
    values: list[Any] = []
    for place in range(count):
        word = row.form.split("(")[1].split(",")[min(place, row.form.count(","))].strip(" [].')")
        kinds = {Takes.TEXT: _LETTERS, Takes.NUMBER: _NUMBERS}
        likely = _LITERALS.get(word, kinds.get(row.taken(place), _VALUES))
        likely = _OF.get(name, likely) if place == 0 else likely
        anything = word in _LITERALS or draw(st.integers(0, 9))
        values.append(draw(likely if anything else _VALUES))
    return name, values


@given(_calls())
@example(("round", [0.49999999999999994]))
@example(("round", [2.5]))
@example(("power", [-8.0, 1 / 3]))
@example(("substring", ["abc", -1, 3]))
@example(("like", ["a%", "a!%", "!"]))
def test_each_means_what_its_definition_says(call: tuple[str, list[Any]]) -> None:
    name, values = call
    found, expected = BUILT_IN[name].of(values), FUNCTIONS[name](*values)
    if isinstance(found, float) and isinstance(expected, int | float) and not isinstance(expected, bool):
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6), (name, values, found, expected)
    else:
        assert found == expected or compared("=", found, expected), (name, values, found, expected)
        assert isinstance(found, bool) == isinstance(expected, bool)


def test_every_function_has_a_definition() -> None:
    elsewhere = {"length", "contains", "nullif", "date_trunc", "to_timestamp", "shift"}
    assert BUILT_IN.keys() - FUNCTIONS.keys() == elsewhere


_SQL = {
    "like": "? LIKE ? ESCAPE ?",
    "replace": "replace(?, ?, ?)",
    "substring": "substr(?, ?, ?)",
    "position": "instr(?, ?)",
    "trim": "trim(?)",
    "length": "length(?)",
    "coalesce": "coalesce(?, ?)",
    "nullif": "nullif(?, ?)",
    "concat": "? || ?",
    "sign": "sign(?)",
    "bit_and": "? & ?",
    "bit_or": "? | ?",
}
_TEXT = st.one_of(st.none(), st.text("abé_%", max_size=6))
_SMALL = st.integers(0, 7)


@given(st.sampled_from(sorted(_SQL)), st.data())
def test_sqlite_gives_the_same(name: str, data: st.DataObject) -> None:
    count = _SQL[name].count("?")
    draw = data.draw
    if name == "substring":
        values: list[Any] = [draw(_TEXT), draw(st.integers(1, 8)), draw(_SMALL)]
    elif name in ("sign", "bit_and", "bit_or"):
        values = [draw(_SMALL) for _ in range(count)]
    else:
        values = [draw(_TEXT) for _ in range(count)]
        values[2:] = ["!"] if name == "like" else values[2:]
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = 1")
    (expected,) = connection.execute(f"SELECT {_SQL[name]}", values).fetchone()
    connection.close()
    found = BUILT_IN[name].of(values)
    assert found == (bool(expected) if isinstance(found, bool) else expected), (name, values)


@pytest.mark.parametrize(
    ("unit", "at", "begins"),
    [
        ("day", "2026-03-29T12:00+02:00", "2026-03-29T00:00+01:00"),  # the day on which summer time begins
        ("day", "2026-10-25T12:00+01:00", "2026-10-25T00:00+02:00"),
        ("hour", "2026-10-25T02:30+02:00", "2026-10-25T02:00+02:00"),  # the hour that comes twice
        ("hour", "2026-10-25T02:30+01:00", "2026-10-25T02:00+01:00"),
        ("week", "2026-11-29T23:59:59.999+01:00", "2026-11-23T00:00+01:00"),
        ("month", "2026-11-27T10:00+01:00", "2026-11-01T00:00+01:00"),
        ("quarter", "2026-12-31T00:00+01:00", "2026-10-01T00:00+02:00"),
        ("year", "2026-07-01T00:00+02:00", "2026-01-01T00:00+01:00"),
        ("minute", "2026-07-01T00:00:59.5+02:00", "2026-07-01T00:00+02:00"),
    ],
)
def test_times_begin_by_the_clocks_of_a_zone(unit: str, at: str, begins: str) -> None:
    ts = parse_iso(at)
    assert ts is not None
    assert times.date_trunc(unit, ts, "Europe/Berlin") == parse_iso(begins)


def test_a_shift_is_within_53_bits() -> None:
    shift = BUILT_IN["shift"].of
    assert [shift([5, 1]), shift([5, -1]), shift([1, 52]), shift([1, 53]), shift([-1, 1])] == [10, 2, 2**52, None, None]


def test_contains_and_length_are_of_texts_and_arrays() -> None:
    contains, length = BUILT_IN["contains"].of, BUILT_IN["length"].of
    assert [contains(["abc", "b"]), contains([["b"], "b"]), contains(["abc", 1]), contains([[True], 1])] == [
        True, True, None, False,
    ]  # fmt: skip
    assert [length(["é€"]), length([[1, None]]), length([3])] == [2, 2, None]


def test_a_function_has_a_row_or_none() -> None:
    assert find("lower") is BUILT_IN["lower"]
    assert find("nothing") is None
