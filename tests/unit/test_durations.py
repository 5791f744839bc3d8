"""Durations of options and definitions."""

from __future__ import annotations

import re

import pytest

from saffron.durations import as_option, read_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0", 0),
        ("0s", 0),
        ("250ms", 250),
        ("1.5s", 1500),
        ("2 m", 120_000),
        ("2 min", 120_000),
        ("1H", 3_600_000),
        ("10000d", 864_000_000_000),
        ("2.3 seconds", 2300),
        ("1.4ms", 1),
        ("0.4ms", 1),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert read_duration(text) == ms


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("10", "A unit is missing: write 10s or 10ms."),
        ("0.5", "write 0.5s or 0.5ms"),
        ("-5s", "Write 500ms"),
        ("5x", "Write 500ms"),
        ("", "Write 500ms"),
        ("\u0665s", "Write 500ms"),
        ("999999999999d", "at most 2^53 ms"),
    ],
)
def test_what_is_no_duration_says_how_to_write_it(text: str, way: str) -> None:
    with pytest.raises(ValueError, match=re.escape(way)):
        read_duration(text)


@pytest.mark.parametrize("ms", [0, 1, 999, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 864_000_001])
def test_what_an_option_would_write_is_read_as_the_same(ms: int) -> None:
    assert read_duration(as_option(ms)) == ms
