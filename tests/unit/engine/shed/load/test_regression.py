"""Lines through fading observations, against least squares over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.load.regression import Regression

OBSERVED = st.lists(st.tuples(st.integers(0, 80), st.floats(0.01, 5.0), st.integers(1, 60)), min_size=1, max_size=30)


@given(OBSERVED, st.floats(0.5, 1.0), st.floats(0.0, 1.0))
def test_it_is_ridge_regression_towards_the_expected_slope(
    observed: list[tuple[int, float, int]], kept: float, expected: float
) -> None:
    line = Regression()
    for x, y, weight in observed:
        line.add(x, y, weight, kept=kept)
    x, y, weight = np.array(observed, dtype=float).T
    weight = weight * kept ** np.arange(len(x) - 1, -1, -1)
    mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
    assert line.mean_x == pytest.approx(mean_x)
    assert line.mean_y == pytest.approx(mean_y)
    if mean_x == 0:
        assert line.slope(expected) == expected
        return
    root, held = np.sqrt(weight / weight.sum()), np.sqrt(0.2) * mean_x
    across = np.append(root * (x - mean_x), held)
    found = np.linalg.lstsq(across[:, None], np.append(root * (y - mean_y), held * expected), rcond=None)[0]
    assert line.slope(expected) == pytest.approx(found[0], rel=1e-6, abs=1e-6)
