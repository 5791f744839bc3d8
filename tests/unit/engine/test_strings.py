"""Interned strings: equal ones have equal codes, and what nobody holds is freed."""

from __future__ import annotations

import numpy as np

from saffron.engine.events.columns import Column
from saffron.engine.events.strings import Strings
from saffron.schema.schema import Kind


def column(*values: str) -> Column:
    return Column(Kind.STRING, np.arange(len(values), dtype=np.int32), values)


def test_codes_follow_strings_across_columns_and_blocks() -> None:
    strings = Strings()
    first = strings.mapping("a", column("x", "y"))
    second = strings.mapping("b", column("y", "z", "x"))
    assert first.tolist() == [0, 1, -1]
    assert second.tolist() == [1, 2, 0, -1]
    assert [strings.value(code) for code in second[:-1]] == ["y", "z", "x"]


def test_what_rows_and_the_last_columns_hold_survives_a_collection() -> None:
    strings = Strings(slack=0)
    pinned = strings.pin("pinned")
    strings.mapping("a", column("old", "kept"))
    held = strings.mapping("a", column("new", "newer"))
    assert strings.wants_collection
    strings.collect([np.array([strings.code("kept"), -1])])
    assert [value for value in strings.values if value] == ["pinned", "kept", "new", "newer"]
    assert strings.mapping("a", column("new", "newer")) is held
    assert strings.value(pinned) == "pinned"
    assert not strings.wants_collection


def test_a_dictionary_larger_than_what_rows_hold_is_interned_once() -> None:
    strings = Strings(slack=10)
    names = tuple(f"n{i}" for i in range(100))
    strings.mapping("a", Column(Kind.STRING, np.zeros(1, np.int32), names))
    collections = 0
    for _ in range(5):  # blocks, of whose strings the rows hold one
        if strings.wants_collection:
            strings.collect([np.array([0])])
            collections += 1
        strings.mapping("a", Column(Kind.STRING, np.zeros(1, np.int32), names))
    assert collections == 1


def test_strings_that_come_and_go_leave_no_codes_behind() -> None:
    strings = Strings(slack=10)
    for block in range(100):
        strings.mapping("a", column(*(f"{block}-{i}" for i in range(5))))
        if strings.wants_collection:
            strings.collect([])
    assert len(strings.values) < 40
