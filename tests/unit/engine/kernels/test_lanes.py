"""Vector operations in a compiled kernel against their NumPy twins."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.generated import load
from saffron.engine.kernels.vectors import lanes

SOURCE = """
import numpy as np
from numba import float64, int64, uint32, void


@kernel(void(float64[::1], int64[::1], uint32[::1], float64[::1], int64[::1]))
def every(f, i, u, out, numbers):
    a, b, c = lanes(f, 0), lanes(f, 8), lanes(i, 0)
    put(out, 0, a + b * 2.0 - 1)
    put(out, 8, quotient8(a, b))
    put(out, 16, real8(c))
    put(out, 24, choose((a < b) & flip(c == 3), a, b))
    put(out, 32, choose(True, 7.5, a))
    put(out, 40, deviation8(a * a, real8(c)))
    put(u, 0, choose((a >= 1.0) | (2 != c), count_up(5), lanes(u, 0)))
    put(u, 8, 9)
    some = bits(inside(np.uintp(3) - np.uintp(5), np.uintp(4)) & (a <= 100.0))
    numbers[0], numbers[1] = some, lowest(some)
    numbers[2], numbers[3] = bits(True), bits((a == b) | (c > 2))
    numbers[4] = bits(meets(c, 5))
"""


def outputs(module: ModuleType) -> list[NDArray[np.generic]]:
    f = np.array([0.0, 1.0, -2.0, np.nan, 4.0, 5.0, np.inf, 0.5, 1.0, 0.0, 3.0, 1.0, -1.0, 5.0, 2.0, np.nan])
    i = np.array([0, 1, 2, 3, -(2**63), 5, 6, 7])
    out, u, numbers = np.zeros(48), np.arange(16, dtype=np.uint32), np.zeros(5, np.int64)
    with np.errstate(all="ignore"):
        module.every(f, i, u, out, numbers)
    return [out, u, numbers]


def test_compiled_lanes_are_what_numpy_computes() -> None:
    compiled = outputs(load(SOURCE, helpers=(lanes,), compiled=True))
    plain = outputs(load(SOURCE, helpers=(lanes,), compiled=False))
    for left, right in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(left, right)
    assert compiled[2].tolist() == [0b111100 & 0b110111, 2, 255, 0b11101000, 0b11101010]


BESIDE_MEAN = """
from numba import float64, int64


@kernel(int64(float64, float64[::1], float64[::1]))
def beside(value, total, number):
    t, n = lanes(total, 0), lanes(number, 0)
    return bits(above8(value, t, n)) | (bits(below8(value, t, n)) << 8)
"""


def test_comparing_with_a_mean_is_dividing_first() -> None:
    compiled = load(BESIDE_MEAN, helpers=(lanes,), compiled=True)
    plain = load(BESIDE_MEAN, helpers=(lanes,), compiled=False)
    random = np.random.default_rng(7)
    odd = np.array([0.0, -0.0, 1e-310, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 3.0, 0.1])
    for case in range(8000):
        number = random.integers(1, 50, 8).astype(float)
        if case % 4 == 0:
            value, total = random.choice(odd), random.choice(odd, 8)
        elif case % 4 == 1:
            value = round(random.normal() * 100, 2)
            total = np.nextafter(value * number, random.choice([-np.inf, np.inf], 8))
        elif case % 4 == 2:
            value = random.normal() * 10.0 ** random.integers(-320, 300)
            total = value * number
        else:
            value, total = round(random.random() * 10, 1), np.round(random.random(8) * 10, 1) * number
        total[0], number[0] = 0.0, 0.0  # nothing but nulls so far
        with np.errstate(all="ignore"):
            assert compiled.beside(float(value), total, number) == plain.beside(float(value), total, number)
