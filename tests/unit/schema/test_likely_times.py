"""Times that seem to be in another unit than they are read in."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.schema.likely_times import SecondsCount, is_likely

NOW = 1_777_629_600


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ([NOW, NOW + 1, NOW + 2], 3),
        ([NOW * 1000, NOW * 10**6], 0),
        ([NOW, NOW * 1000], 1),
        ([*range(0, NOW, NOW // 1000)], 0),  # a clock that starts at 0, and comes to twenty days
        ([0, *range(NOW, NOW + 200)], 200),
        ([-1, -NOW], 0),
        ([], 0),
    ],
)
def test_seconds_that_are_read_as_milliseconds_are_counted(times: list[int], count: int) -> None:
    counted = SecondsCount()
    for part in np.array_split(np.array(times, dtype=np.int64), 7):
        counted.add(part)
    assert counted.value() == count


def test_likely_times_are_those_of_our_time() -> None:
    assert [is_likely(one * 1000) for one in (0, NOW // 1000, NOW, NOW * 1000)] == [False, False, True, False]
