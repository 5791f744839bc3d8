"""How far counts have moved from those of a model (P6, G8), and whether chance explains it."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.models.transitions.drift import (
    Clumps,
    distribution_drift,
    expectation_drift,
    is_beyond_chance,
    matrix_drift,
    mean_drift,
)


def test_of_matrices_it_is_the_mean_squared_error() -> None:
    one = np.array([[0.5, 0.5], [0.0, 1.0]])
    other = np.array([[0.3, 0.7], [0.0, 1.0]])
    assert matrix_drift(one, other) == pytest.approx(0.02)
    assert matrix_drift(one, one) == 0.0
    assert matrix_drift(one, np.eye(3)) == float("inf")


def test_of_expectations_it_is_the_largest_relative_change_of_one_that_counts() -> None:
    table = np.array([[0.1, 0.4], [0.2, 0.8]])
    assert expectation_drift(table, table) == 0.0
    assert expectation_drift(table * [1.0, 1.5], table) == pytest.approx(0.5)
    assert expectation_drift(np.array([[1e-9, 0.5]]), np.array([[1e-8, 0.5]])) < 1e-4, "that is nothing"
    assert expectation_drift(table, 0 * table) > 100
    assert expectation_drift(0 * table, 0 * table) == 0.0
    assert expectation_drift(table, table[:1]) == float("inf")


def test_of_expectations_by_age_it_is_the_change_of_all_partial_matches_as_they_were_seen() -> None:
    seen = np.array([[3.0, 1.0], [0.0, 4.0]])
    before, after = np.array([[0.2, 0.4], [9.0, 0.5]]), np.array([[0.4, 0.2], [1.0, 0.5]])
    assert mean_drift(before, before, seen) == 0.0
    assert mean_drift(after, before, seen) == pytest.approx((3 * 0.2 + 0.2) / 3.0)


def test_the_distribution_of_keys_moves_by_the_share_of_events_that_changed() -> None:
    assert distribution_drift({1: 3, 2: 1}, {1: 30, 2: 10}) == 0.0
    assert distribution_drift({1: 1}, {2: 5}) == 1.0
    assert distribution_drift({1: 1, 2: 3}, {1: 3, 2: 1}) == pytest.approx(0.5)
    assert distribution_drift({1: 1, 3: 1}, {1: 4}) == pytest.approx(0.5)
    assert (distribution_drift({}, {}), distribution_drift({}, {1: 1}), distribution_drift({1: 1}, {})) == (0, 1, 1)


def test_what_chance_explains_is_not_taken_for_a_change() -> None:
    rng = np.random.default_rng(7)
    for p in (1e-4, 1e-3, 0.3):
        found = [moved(rng, p, p, 5_000) for _ in range(400)]
        assert not any(found)


@pytest.mark.parametrize("p", [1e-3, 0.3])
def test_what_chance_does_not_explain_is_taken_for_one(p: float) -> None:
    rng = np.random.default_rng(7)
    assert all(moved(rng, p, 3 * p, 20_000) for _ in range(400))


def test_a_state_that_says_nothing_of_before_or_since_says_nothing_of_a_change() -> None:
    assert not is_beyond_chance({}, {}, 1.0)
    assert not is_beyond_chance({(1, 1): 500, (2, 3): 900}, {(1, 1): 500}, 1.0)


@pytest.mark.parametrize("size", [1, 10, 50])
@pytest.mark.parametrize("p", [1e-3, 0.3])
def test_clumps_are_found_in_the_differences_of_batches_and_a_change_is_none(size: int, p: float) -> None:
    rng = np.random.default_rng(size)
    clumps = Clumps()
    for batch in range(400):
        found = size * rng.binomial(1000 // size, p if batch < 200 else 2 * p, 8)
        cells = {(state, state): 1000 - n for state, n in enumerate(found.tolist())}
        clumps.add(cells | {(state, state + 1): n for state, n in enumerate(found.tolist()) if n})
    assert clumps.size == pytest.approx(size, rel=0.2)


def test_the_first_batches_of_a_stream_that_changes_are_not_taken_for_clumps() -> None:
    clumps = Clumps()
    for forward in (200, 800, 500):
        clumps.add({(0, 0): 1000 - forward, (0, 1): forward, (1, 1): 500, (1, 2): 500})
    assert clumps.size < 3


def moved(rng: np.random.Generator, p: float, then: float, events: int) -> bool:
    """Of eight states that advanced with probability p in 20,000 events, and then with another in `events`."""
    counts: dict[tuple[int, int], int] = {}
    in_use: dict[tuple[int, int], int] = {}
    for state in range(8):
        before, since = int(rng.binomial(20_000, p)), int(rng.binomial(events, then))
        in_use |= {(state, state): 20_000 - before, (state, state + 1): before}
        counts |= {(state, state): 20_000 - before + events - since, (state, state + 1): before + since}
    return is_beyond_chance(counts, in_use, 1.0)
