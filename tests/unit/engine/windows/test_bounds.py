"""Window arithmetic against the definition: windows [k*slide, k*slide + size)."""

from __future__ import annotations

import random

import numpy as np
from numba import njit

from saffron.engine.windows import bounds


def holding(position: int, size: int, slide: int, *, events: bool) -> list[int]:
    lowest = 0 if events else -100
    return [k for k in range(lowest, 100) if k * slide <= position < k * slide + size]


def test_windows_of_a_position_and_of_a_match() -> None:
    rng = random.Random(1)
    for _ in range(800):
        size, slide, events = rng.randrange(1, 20), rng.randrange(1, 12), rng.random() < 0.5
        first = rng.randrange(0 if events else -60, 60)
        last = first + rng.randrange(0, 25)
        own = holding(first, size, slide, events=events)
        found = range(bounds.first_window(first, size, slide), bounds.last_window(first, slide) + 1)
        assert [k for k in found if k >= 0 or not events] == own
        low, high = bounds.common_windows(first, last, size, slide, events)
        assert list(range(low, high)) == [k for k in own if k in holding(last, size, slide, events=events)]
        for k in own:
            assert k * slide <= first <= bounds.window_deadline(k * slide, size)
        deadline = bounds.run_deadline(first, size, slide, events)
        together = [p for p in range(first, first + 40) if set(own) & set(holding(p, size, slide, events=events))]
        assert deadline == together[-1] if together else deadline < first


def test_spans() -> None:
    assert bounds.run_deadline(10, 5, 0, False) == 15
    assert bounds.run_deadline(10, 5, 0, True) == 14


def test_arrays_have_the_bounds_of_their_items() -> None:
    first, last = np.array([-7, 0, 4]), np.array([-3, 1, 30])
    for events in (False, True):
        low, high = bounds.common_windows(first, last, 10, 3, events)
        each = [bounds.common_windows(*pair, 10, 3, events) for pair in zip(first, last, strict=True)]
        assert list(zip(low, high, strict=True)) == each
        each = [bounds.run_deadline(one, 10, 3, events) for one in first]
        assert bounds.run_deadline(first, 10, 3, events).tolist() == each


def test_kernels_call_the_same_functions() -> None:
    @njit  # type: ignore[untyped-decorator,unused-ignore]
    def both(first: int, last: int) -> tuple[tuple[int, int], int]:
        return bounds.common_windows(first, last, 10, 3, False), bounds.run_deadline(first, 10, 3, True)

    assert both(-7, -3) == (bounds.common_windows(-7, -3, 10, 3, False), bounds.run_deadline(-7, 10, 3, True))
