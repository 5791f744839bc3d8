"""Times of transitions, fitted from times of intervals (P2)."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.models.transitions.transition_costs import TransitionCosts

TRUE = {(0, 0): 40.0, (0, 1): 300.0, (1, 1): 5.0, (1, 2): 900.0, (1, -1): 0.0}


def samples(
    number: int, *, noise: float = 0.0, seed: int = 1, repeat: int = 1
) -> list[tuple[dict[tuple[int, int], int], int]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        counts = {cell: int(rng.integers(0, 2000)) for cell in TRUE}
        time = sum(TRUE[cell] * count for cell, count in counts.items())
        found += [(counts, round(time * (1 + noise * rng.standard_normal())))] * repeat
    return found


def fitted(given: list[tuple[dict[tuple[int, int], int], int]]) -> dict[tuple[int, int], float]:
    costs = TransitionCosts()
    for counts, nanoseconds in given:
        costs.add(counts, nanoseconds)
    return costs.fit()


def test_true_times_come_back() -> None:
    found = fitted(samples(200))
    for cell, time in TRUE.items():
        assert found[cell] == pytest.approx(time, rel=0.01, abs=1.0)


def test_noise_makes_no_time_negative_and_leaves_the_large_ones() -> None:
    found = fitted(samples(2000, noise=0.05))
    assert min(found.values()) >= 0
    assert found[1, 2] == pytest.approx(900, rel=0.05)
    assert found[0, 1] == pytest.approx(300, rel=0.1)


def test_the_sums_do_not_depend_on_the_order() -> None:
    given = samples(50, noise=0.1)
    assert fitted(given) == fitted(given[::-1])


def test_what_always_comes_together_shares_the_time() -> None:
    found = fitted([({(0, 0): n, (0, 1): n}, 100 * n) for n in range(1, 200)])
    assert found[0, 0] == pytest.approx(found[0, 1], rel=1e-6)
    assert found[0, 0] == pytest.approx(50, rel=0.01)


def test_without_times_or_counts_nothing_is_fitted() -> None:
    assert fitted([]) == {}
    assert fitted([({(0, 0): 5}, 0), ({}, 70), ({(0, 1): 0}, 7)]) == {}
    assert fitted([({(0, 0): 4, (0, 1): 0}, 100)]) == {(0, 0): pytest.approx(25)}


def test_what_is_halved_weighs_less_and_fits_the_same() -> None:
    costs = TransitionCosts()
    for counts, nanoseconds in samples(400, repeat=2):
        costs.add(counts, nanoseconds)
    costs.halve()
    assert costs.samples == 400
    for cell, time in costs.fit().items():
        assert time == pytest.approx(TRUE[cell], rel=0.01, abs=1.0)
    while costs.samples:
        costs.halve()
    for _ in range(64):
        costs.halve()
    assert costs.fit() == {}
