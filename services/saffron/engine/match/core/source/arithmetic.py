"""Functions that the text of match conditions calls: the arithmetic of all engines, and more of its kind."""

from __future__ import annotations

import math

from saffron.engine.kernels.arithmetic import finite, quotient, remainder, rest
from saffron.engine.kernels.jit import jitable
from saffron.engine.kernels.memory import real_at
from saffron.schema.schema import NULL_INT

__all__ = ["deviation", "finite", "quotient", "real", "real_at", "remainder", "rest"]


@jitable
def real(a: int) -> float:
    """An integer attribute as float64."""
    return math.nan if a == NULL_INT else float(a)


@jitable
def deviation(spread: float, number: float) -> float:
    """The sample standard deviation from Welford's sum and count; null below two values."""
    return math.sqrt(spread / (number - 1.0)) if number >= 2.0 else math.nan
