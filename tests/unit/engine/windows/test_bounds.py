"""Window arithmetic against the definition: windows [k*slide, k*slide + size)."""

from __future__ import annotations

import random

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
        found = range(bounds.first_window(first, size, slide, events), bounds.last_window(first, slide) + 1)
        assert list(found) == own
        low, high = bounds.common_windows(first, last, size, slide, events)
        assert list(range(low, high)) == [k for k in own if k in holding(last, size, slide, events=events)]
        for k in own:
            assert bounds.window_start(k, slide) <= first <= bounds.window_deadline(k, size, slide)
        deadline = bounds.run_deadline(first, size, slide, events)
        together = [p for p in range(first, first + 40) if set(own) & set(holding(p, size, slide, events=events))]
        assert deadline == (together[-1] if together else first - 1)


def test_spans_and_openings() -> None:
    assert bounds.span_deadline(10, 5, False) == 15
    assert bounds.span_deadline(10, 5, True) == 14
    assert bounds.run_deadline(10, 5, 0, False) == 15
    assert bounds.run_deadline(10, 5, 0, True) == 14
    assert bounds.opened_deadline(10, 5) == 14


def test_kernels_call_the_same_functions() -> None:
    @njit  # type: ignore[untyped-decorator,unused-ignore]
    def both(first: int, last: int) -> tuple[tuple[int, int], int]:
        return bounds.common_windows(first, last, 10, 3, False), bounds.run_deadline(first, 10, 3, True)

    assert both(-7, -3) == (bounds.common_windows(-7, -3, 10, 3, False), bounds.run_deadline(-7, 10, 3, True))
