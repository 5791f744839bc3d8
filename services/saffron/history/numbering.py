"""The numbers that events have in a run over everything, their places by (ts, arrival), a range of times at a time.

Times are divided into ranges by bounds; events are counted by range; the first number of a range is the sum of the
counts before it, and within the range events are numbered in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Place = TypeVar("Place", int, tuple[int, int])


def range_of(ts: Whole, bounds: Sequence[int]) -> NDArray[np.int32]:
    """[n] the range in which each time lies: range r holds the times above bound r - 1, up to bound r."""
    return np.searchsorted(np.array(bounds, np.int64), ts, side="left").astype(np.int32)


def first_numbers(counts: Iterable[tuple[Place, int]]) -> Mapping[Place, int]:
    """Place (a range, or a block of a file) -> the number of the first one in it, places in their order. `counts`:
    (place, how many), a place perhaps more than once."""
    found: dict[Place, int] = {}
    for place, count in counts:
        found[place] = found.get(place, 0) + count
    before, first = 0, {}
    for place in sorted(found):
        first[place] = before
        before += found[place]
    return first


class Numbering:
    """Numbers events that come in order, whole ranges of them, in pieces of any size."""

    def __init__(self, first: Mapping[int, int]) -> None:
        self._next = dict(first)

    def numbers(self, ranges: NDArray[np.int32]) -> Whole:
        """[n] the numbers of the next events, which lie in these (ascending) ranges."""
        places, starts, counts = np.unique(ranges, return_index=True, return_counts=True)
        first = np.array([self._next[place] for place in places.tolist()], np.int64)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            self._next[place] += count
        return np.repeat(first - starts, counts) + np.arange(len(ranges))
