"""Numbers of events, found a range at a time, are their places in the order of all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from saffron.history.numbering import Numbering, first_numbers, range_of

TIMES = st.lists(st.integers(-50, 50), max_size=60)


@given(TIMES, st.sets(st.integers(-60, 60), max_size=6), st.integers(1, 9), st.integers(1, 4), st.randoms())
def test_every_range_numbers_its_own_from_where_those_before_it_end(times, bounds, cut, places, rng) -> None:  # type: ignore[no-untyped-def]
    ts = np.sort(np.array(times, np.int64))
    ranges = range_of(ts, sorted(bounds))
    assert (np.diff(ranges) >= 0).all(), "ranges follow times"
    first = first_numbers((place, 1) for place in rng.sample(ranges.tolist(), len(ranges)))
    found = np.full(len(ts), -1)
    for place in range(places):  # ranges are dealt out to places, each of which numbers some whole ones
        mine = np.flatnonzero(ranges % places == place)
        numbering = Numbering(first)
        for start in range(0, len(mine), cut):
            piece = mine[start : start + cut]
            found[piece] = numbering.numbers(ranges[piece])
    assert found.tolist() == list(range(len(ts)))


def test_equal_times_lie_in_one_range() -> None:
    assert range_of(np.array([1, 5, 5, 5, 6], np.int64), [1, 5]).tolist() == [0, 1, 1, 1, 2]
