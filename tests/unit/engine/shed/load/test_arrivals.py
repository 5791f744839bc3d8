"""Rates of the last span, and what waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.load.arrivals import Arrivals


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 40)), min_size=2, max_size=50))
def test_the_rate_is_that_of_the_last_span(blocks: list[tuple[int, int]]) -> None:
    arrivals, at = Arrivals(100.0), 0.0
    times = []
    for events, gap in blocks:
        at += gap
        arrivals.arrived(events, at)
        times.append((at, events))
    assert arrivals.known == sum(events for events, _ in blocks)
    first = max((i for i, (when, _) in enumerate(times[:-1]) if when <= at - 100.0), default=0)
    first = min(first, len(times) - 2)
    span = at - times[first][0]
    expected = sum(events for _, events in times[first + 1 :]) / span if span else 0.0
    assert arrivals.rate(at) == pytest.approx(expected)


def test_what_waits_is_what_was_announced_or_came_since() -> None:
    arrivals = Arrivals()
    for at in range(0, 400, 10):
        arrivals.arrived(20, float(at))
    assert arrivals.rate(400.0) == pytest.approx(2.0)
    assert arrivals.waiting(100.0, 400.0) == 800
    arrivals.taken(790)
    assert arrivals.waiting(100.0, 400.0) == pytest.approx(200.0)
    arrivals.taken(20)
    assert arrivals.known == 0
