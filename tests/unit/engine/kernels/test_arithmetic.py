"""The arithmetic of conditions, compiled and as plain Python."""

from __future__ import annotations

import math
import random

import numba
import pytest

from saffron.engine.kernels.arithmetic import remainder

EDGES = (0.0, -0.0, 1.0, -1.0, 500.0, 2.5, -2.5, 1e300, 5e-324, 2.0**52, 2.0**53, 2.0**52 - 1, math.inf, math.nan, -7.0)


@numba.njit(error_model="numpy")  # type: ignore[misc]
def compiled(a: float, b: float) -> float:
    return remainder(a, b)  # type: ignore[no-any-return]


def operands(rng: random.Random) -> tuple[float, float]:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(EDGES), rng.choice(EDGES)
    if kind == 1:
        return float(rng.randrange(-(2**52), 2**52)), float(rng.randrange(-(2**20), 2**20))
    if kind == 2:
        return float(rng.randrange(2**53)), float(rng.randrange(1, 2**52))
    return rng.uniform(-1e6, 1e6), rng.uniform(-10, 10)


@pytest.mark.parametrize("function", [remainder, compiled])
def test_remainder_is_that_of_c(function: object) -> None:
    assert callable(function)
    rng = random.Random(1)
    for _ in range(5000):
        a, b = operands(rng)
        wanted = math.nan if b == 0 or not abs(a) < math.inf else math.fmod(a, b)
        found = function(a, b)
        assert (
            math.isnan(found)
            if math.isnan(wanted)
            else (found, math.copysign(1, found))
            == (
                wanted,
                math.copysign(1, wanted),
            )
        ), (a, b)
