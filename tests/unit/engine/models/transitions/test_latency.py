"""Latency functions: samples, bins, the choice of a shape, and the inverse (P7)."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.models.transitions.latency import SHAPES, LatencyFunction, LatencySamples, bin_of, fit


def sums_of(shape: str, offset: float, slope: float, numbers: list[int]) -> list[list[int]]:
    """Bins that lie on the function exactly, up to rounding to ns."""
    function = LatencyFunction(shape, offset, slope, 0.0)
    return [[1000, 1000 * n, round(1000 * function(n))] for n in numbers]


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "constant"])
def test_fit_finds_the_shape_that_made_the_data(shape: str) -> None:
    fitted = fit(sums_of(shape, 5_000.0, 300.0, [0, 1, 3, 10, 30, 100, 300, 1000]))
    assert fitted is not None
    assert fitted.shape == shape
    assert fitted.offset == pytest.approx(5_000.0, rel=1e-3)
    assert fitted.slope == pytest.approx(300.0, rel=1e-3)
    assert fitted.error < 5.0


def test_fit_weighs_a_bin_by_its_events() -> None:
    steady = [[1_000_000, 5_000_000, 2_000_000_000], [1_000_000, 20_000_000, 2_000_000_000]]
    outlier = [[1, 1_000, 900_000]]
    fitted = fit([*steady, *outlier])
    assert fitted is not None
    assert fitted(15) == pytest.approx(2_000.0, rel=0.01)


@pytest.mark.parametrize(
    ("sums", "expected"),
    [([[10, 0, 500]], 50.0), ([[10, 10, 500], [10, 90, 700]], 60.0), ([[0, 0, 0], [2, 0, 8]], 4.0)],
)
def test_too_few_bins_give_the_mean(sums: list[list[int]], expected: float) -> None:
    fitted = fit(sums)
    assert fitted is not None
    assert (fitted.shape, fitted(0), fitted(1000)) == ("constant", expected, expected)


def test_without_a_small_number_all_time_is_that_of_partial_matches() -> None:
    fitted = fit([[10, 900, 5000], [10, 1000, 5100], [10, 1100, 4900]])
    assert fitted is not None
    assert fitted(50.0) == pytest.approx(250.0)


def test_nothing_observed_is_no_function() -> None:
    assert fit([]) is None
    assert fit([[0, 0, 0]]) is None


def test_a_latency_that_falls_is_taken_for_constant() -> None:
    fitted = fit([[100, 0, 9000], [100, 1000, 6000], [100, 10000, 3000], [100, 20000, 2900]])
    assert fitted is not None
    assert fitted.shape == "constant"


def test_samples_add_up_by_bin_and_drain_once() -> None:
    samples = LatencySamples()
    samples.processed(1000, 10, 400)
    samples.processed(1001, 30, 1200)
    samples.processed(0, 5, 50)
    samples.processed(7, 0, 99)
    samples.shed(1000, 77)
    assert samples.drain() == {"processing": [[0, 5, 50], [1001, 40, 1600]], "shedding": [[1000, 1, 77]]}
    assert samples.drain() == {"processing": [], "shedding": []}


def test_bins_are_sixteenths_of_octaves() -> None:
    assert [bin_of(n) for n in (0, 1, 2, 4, 1024)] == [0, 1, 17, 33, 161]
    assert (np.diff([bin_of(n) for n in range(1, 5000)]) >= 0).all()
