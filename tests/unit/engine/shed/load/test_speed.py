"""The time of an event over the number of partial matches: by the model, tilted by what a reader measured."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.models.transitions.latency import SHAPES, LatencyFunction
from saffron.engine.shed.load.regression import Regression
from saffron.engine.shed.load.speed import Speed

FLAT = LatencyFunction("constant", 20_000.0, 0.0, 0.0)
SPEEDS = st.builds(
    Speed,
    st.builds(LatencyFunction, st.sampled_from(list(SHAPES)), st.floats(0, 1e5), st.floats(0, 1e4), st.just(0.0)),
    slowness=st.floats(0.1, 10.0),
    beside=st.lists(st.tuples(st.integers(0, 90), st.floats(0.001, 9.0), st.integers(1, 60))).map(
        lambda rows: line(*rows)
    ),
)


def line(*rows: tuple[float, float, float]) -> Regression:
    """The line through observations (partial matches, ms of an event, events)."""
    made = Regression()
    for row in rows:
        made.add(*row, kept=0.99)
    return made


def test_where_training_met_no_partial_matches_their_time_is_measured() -> None:
    measured = line(*((n, 0.02 * (1 + n), 50) for n in (0, 40, 2, 30, 0, 10)))
    told, seen = Speed(FLAT), Speed(FLAT, beside=measured)
    assert told.processing(40) == told.processing(0) == pytest.approx(0.02)
    slower = measured.mean_y / 0.02
    assert seen.processing(0) * slower == pytest.approx(0.02, abs=0.04)
    assert seen.processing(40) * slower == pytest.approx(0.82, rel=0.1)


def test_where_their_number_hardly_varies_the_model_says_what_they_take() -> None:
    model = LatencyFunction("linear", 10_000.0, 1_000.0, 0.0)
    seen = Speed(model, beside=line(*((100 + one, 0.11 - 0.01 * one, 50) for one in (0, 1, 0, 1))))
    assert seen.processing(0) == pytest.approx(0.01, abs=0.005)


def test_partial_matches_that_cost_less_than_the_model_says_save_less() -> None:
    proportional = LatencyFunction("linear", 0.0, 1_000.0, 0.0)
    seen = Speed(proportional, beside=line(*((n, 0.1, 50) for n in (50, 150, 20, 180))))
    assert Speed(proportional).processing(0) == 0
    assert seen.processing(0) == pytest.approx(0.07, abs=0.03)


@given(SPEEDS, st.floats(0, 20), st.integers(0, 200))
def test_more_partial_matches_never_take_less_and_the_affordable_number_is_the_greatest(
    speed: Speed, milliseconds: float, at_most: int
) -> None:
    times = [speed.processing(n) for n in range(at_most + 1)]
    assert all(later >= earlier * (1 - 1e-9) for earlier, later in pairwise(times))
    assert min(times) >= 0
    fits = [n for n, time in enumerate(times) if time <= milliseconds]
    assert speed.affordable(milliseconds, at_most) == max(fits, default=0)
