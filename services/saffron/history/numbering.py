"""The numbering of events by (ts, arrival), as in one run over all of them, in parallel by range of times.

Bounds divide times into ranges. The first number of a range is the sum of the counts of earlier ranges; within a range
events are numbered in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Place = TypeVar("Place", int, tuple[int, int])


def range_of(ts: Whole, bounds: Sequence[int]) -> NDArray[np.int32]:
    """[n] the range of each time: range r has the times above bound r - 1, up to bound r."""
    return np.searchsorted(np.array(bounds, np.int64), ts, side="left").astype(np.int32)


def first_numbers(counts: Iterable[tuple[Place, int]]) -> Mapping[Place, int]:
    """Place (a range, or a block of a file) -> the number of its first event, in the order of places.

    `counts`: (place, number of events); a place may occur several times.
    """
    found: dict[Place, int] = {}
    for place, count in counts:
        found[place] = found.get(place, 0) + count
    before, first = 0, {}
    for place in sorted(found):
        first[place] = before
        before += found[place]
    return first


class Numbering:
    """A counter that numbers the events of whole ranges, which come in order and in batches of any size."""

    def __init__(self, first: Mapping[int, int]) -> None:
        self._next = dict(first)

    def numbers(self, ranges: NDArray[np.int32]) -> Whole:
        """[n] the numbers of the next events, given their (ascending) ranges."""
        places, starts, counts = np.unique(ranges, return_index=True, return_counts=True)
        first = np.array([self._next[place] for place in places.tolist()], np.int64)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            self._next[place] += count
        return np.repeat(first - starts, counts) + np.arange(len(ranges))
