"""What a drop order leaves, by definition (P8): all partial matches in one list, sorted, the first ones dropped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Partial(NamedTuple):
    """A partial match, in the order in which they go: `rank` is its place among the runs of its key."""

    utility: float
    first: int
    query: str
    state: int
    rank: int


def worth(table: Sequence[Sequence[float]], bin_size: int, state: int, remaining: float) -> float:
    """P3's look-up: row r holds for (r + 1) * bin_size events left; between rows as on a straight line from 0."""
    points = [(0.0, 0.0), *((float((r + 1) * bin_size), row[min(state, len(row) - 1)]) for r, row in enumerate(table))]
    for (x, y), (z, w) in pairwise(points):
        if x <= remaining < z:
            return y + (remaining - x) / (z - x) * (w - y)
    return 0.0 if remaining <= 0 else points[-1][1]


def dropped(partials: Sequence[Partial], keep: int) -> list[Partial]:
    """Those that go."""
    return sorted(partials)[: max(0, len(partials) - keep)]
