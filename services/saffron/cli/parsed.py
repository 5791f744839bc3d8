"""Options whose values are parsed: a wrong one is an error of usage that names the option, the value and what is valid.

Numbers have a type of their own, since `nan` lies within all bounds of Click's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import typer

from saffron.durations import read_duration
from saffron.errors import SaffronError

_WITH_UNIT = re.compile(r"[0-9.]+ *[A-Za-z%]+")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def number_option(explained: str, *, least: float = 0.0, above: float | None = None, below: float | None = None) -> Any:
    """A command's option whose value is a finite number: at least `least`, or `above` and `below` bounds."""
    bounds = [f"above {above:g}" if above is not None else f"at least {least:g}"]
    bounds += [] if below is None else [f"below {below:g}"]

    def number(text: str) -> float:
        """The number in an option's value. BadParameter: it is no finite number within the bounds."""
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        low = found > above if above is not None else found >= least
        if not (math.isfinite(found) and low and (below is None or found < below)):
            unit = " Write it without a unit." if _WITH_UNIT.fullmatch(text) else ""
            raise typer.BadParameter(f"{text!r} is not a number {' and '.join(bounds)}.{unit}")
        return found

    return typer.Option(parser=number, metavar="NUMBER", help=explained)


def duration_option(explained: str, *, least: int = 0) -> Any:
    """A command's option whose value is a duration: the command gets its milliseconds. `least`: the shortest."""

    def milliseconds(text: str) -> int:
        try:
            found = read_duration(text)
        except ValueError as error:
            raise typer.BadParameter(f"{text!r} is no duration. {error}") from None
        if found < least:
            raise typer.BadParameter(f"{text!r} is too short: it is at least {least} ms.")
        return found

    return typer.Option(parser=milliseconds, metavar="DURATION", help=explained)


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """`there is no service 'matchr'; there are windowing, ..., matcher. Did you mean 'matcher'?`."""
    from saffron.language.syntax.hints import suggestion  # here, for most commands do without the language

    names = list(known)
    return f"there is no {what} {name!r}; there are {', '.join(names)}. {suggestion(name, names)}".removesuffix(". ")


def stream_name(text: str) -> str:
    """The name of a stream that is to be made. BadParameter: it is none."""
    from saffron.records.stream import NEW_NAMES, is_new_name

    if not is_new_name(text):
        raise typer.BadParameter(f"{text!r} is no name of a stream: {NEW_NAMES}")
    return text


def topic_name(text: str) -> str:
    """The full name of a topic. BadParameter: Kafka has no topics of this name."""
    if not _TOPIC.fullmatch(text) or text in (".", ".."):
        raise typer.BadParameter(f"{text!r} is no name of a topic: letters, digits, '.', _ and -, at most 249")
    return text


def registry_url(text: str) -> str:
    """The URL of a schema registry. BadParameter: it is none."""
    from saffron.runtime.streams.proposal_topics import require_registry

    return checked(text, require_registry)


def letter_id(text: str) -> str:
    """The name of a dead letter. BadParameter: it is none."""
    from saffron.runtime.dead_letters.reading import require_letter

    return checked(text, require_letter)


def checked(text: str, check: Callable[[str], object]) -> str:
    """The text, if `check` lets it pass. BadParameter: it raises an error of Saffron's."""
    try:
        check(text)
    except SaffronError as error:
        raise typer.BadParameter(str(error)) from None
    return text
