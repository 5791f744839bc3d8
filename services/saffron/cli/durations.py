"""Durations as people write them on a command line."""

from __future__ import annotations

import re

import typer

_UNITS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def milliseconds(text: str, option: str) -> int:
    """The milliseconds of "500ms", "5s", "2m", "1h", "1d" or a bare number of ms. BadParameter: anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS:
        raise typer.BadParameter(f"{option} is {text!r}: a duration is needed, such as 500ms, 5s, 2m, 1h or 1d")
    return round(float(match[1]) * _UNITS[match[2]])
