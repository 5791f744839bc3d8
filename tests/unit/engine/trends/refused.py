"""Of the random aggregate queries, those that are left out: the one list of it, by what the errors say."""

from __future__ import annotations

from typing import NamedTuple

from saffron.errors import QueryError

REFUSED: tuple[str, ...] = (
    "events that must agree are not all in a row in the trend",
    "does not always directly follow",
    "never directly follows",
    "events are one trend of a side of AND, and can be read here as two",
    "an event continues a trend in two ways that ask for different things between",
    "the pattern needs more than",
    "skip-till-next-match is not known",
    "skip-till-next-match cannot count trends",
    "skip-till-next-match would select the same event in two ways",
)
"""Refused because no graph of adjacent events can answer them, or only one with too many states."""


class Twinless(NamedTuple):
    """Why the matches of a query's twin cannot be asked of the matcher."""

    pairs: str = "AND counts pairs of trends"
    next: str = "NEXT on events that are not always adjacent has no form in match queries"
    openers: str = "two windows with the same bounds"
    nested: str = "a NOT inside a NOT"
    lists: str = "has no value inside a NOT"


TWINLESS = Twinless()


def reason(error: QueryError, text: str) -> str:
    """The entry that an error falls under; an error that nobody foresaw is a failure."""
    for entry in REFUSED:
        if entry in str(error):
            return entry
    raise AssertionError(f"{text}\n{error}")
