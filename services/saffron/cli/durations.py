"""Options that take durations."""

from __future__ import annotations

from typing import Any

import typer

from saffron.durations import read_duration


def duration_option(explained: str) -> Any:
    """A command's option whose value is a duration: the command gets its milliseconds."""
    return typer.Option(parser=_milliseconds, metavar="DURATION", help=explained)


def _milliseconds(text: str) -> int:
    """The milliseconds of "500ms", "5s", "2m", "1h", "1d" or "0". BadParameter: anything else."""
    try:
        return read_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no duration. {error}") from None
