"""Functions that kernels of all engines call for conditions: float64 arithmetic, NaN for null (`plan.Binary`)."""

from __future__ import annotations

import math

import numpy as np

from saffron.engine.kernels.jit import jitable

_EXACT = 2.0**52


@jitable
def quotient(a: float, b: float) -> float:
    """a / b; null where b is 0."""
    return math.nan if b == 0.0 else a / b


@jitable
def remainder(a: float, b: float) -> float:
    """a % b with the sign of a; null where b is 0 or a is infinite."""
    if b == 0.0 or not abs(a) < math.inf:
        return math.nan
    if abs(a) < _EXACT and abs(b) < _EXACT and a == math.trunc(a) and b == math.trunc(b):
        # Whole numbers so small that their quotient never rounds up to the next whole number: no slow fmod.
        rest = a - math.trunc(a / b) * b
        return rest if rest != 0.0 else a * 0.0
    return float(np.fmod(a, b))


@jitable
def finite(a: float) -> float:
    """The number `a`; null if it is infinite."""
    return a if abs(a) < math.inf else math.nan


@jitable
def rest(value: int) -> float:
    """The rest of an int64: its value minus the nearest float64. 0 for null."""
    upper = value >> 32
    # Every step is exact: the difference is a whole number below 2**33.
    return (float(upper) * 4294967296.0 - float(value)) + float(value - (upper << 32))
