"""Wrong values of the command's options: a message, and status 2."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection
from typing import NoReturn

from saffron.cli.parsed import unknown_name


def wrong(message: str) -> NoReturn:
    """End with a message on an option."""
    print(f"saffron: {message}", file=sys.stderr)
    raise SystemExit(2)


def numbers(option: str, given: str) -> list[float]:
    """The finite numbers of an option."""
    try:
        found = [float(one) for one in given.split(",")]
    except ValueError:
        found = []
    if not found or not all(map(math.isfinite, found)):
        wrong(f"{option} {given}: give numbers, comma separated")
    return found


def shares(option: str, given: str) -> list[float]:
    """The shares of an option that has per cents."""
    found = [one / 100 for one in numbers(option, given)]
    if not all(0 < one < 1 for one in found):
        wrong(f"{option} {given}: give per cents above 0 and below 100, comma separated")
    return found


def names(option: str, given: str, noun: str, known: Collection[str]) -> list[str]:
    """The names of an option, all of which are known."""
    found = given.split(",")
    if unknown := [name for name in found if name not in known]:
        wrong(f"{option}: {unknown_name(noun, unknown[0], known)}")
    return found
