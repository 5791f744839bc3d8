"""A number with its noun, in every sentence for people."""

from __future__ import annotations


def counted(number: int, one: str, several: str = "") -> str:
    """A number of things: `1 error`, `2 errors`, `1,234 bad lines`.

    `one`: the words behind 1. `several`: those behind any other number, where `one` with an s is not right:
    `counted(n, "query", "queries")`, `counted(n, "event was", "events were")`.
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"
