"""Conversion between the numbers of `numbers` and those of Python: for attributes, and for results.

A count (n, e) is worth n * 2**e, a sum (n, x) n * 2**(x >> 1). Results show an exact count as an integer. Any other
count is a decimal string with 17 digits, since it may exceed every float.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import numpy as np
from numpy.typing import NDArray

_CONTEXT = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
_DOUBLE = 53  # bits of a float64's mantissa


def written(n: int, e: int) -> int | str:
    """The count as results show it: an integer while exact, else a decimal string with 17 digits."""
    if e == 0:
        return n
    return f"{decimal(n, e):.16e}"


def decimal(n: int, e: int) -> Decimal:
    """n * 2**e with 40 significant digits, of any size."""
    return _CONTEXT.multiply(Decimal(n), _CONTEXT.power(Decimal(2), Decimal(e)))


def split(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(m, f) with values = m * 2**f exactly; f = 0 for integers below 2**62, m odd for all others. NaN, inf are 0."""
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    mantissa = (fraction * 2.0**_DOUBLE).astype(np.int64)
    lowest = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1  # the number of zeros at the end; -1 for 0
    zeros = np.maximum(lowest, 0)
    mantissa >>= zeros
    exponent = np.where(mantissa == 0, 0, exponent - _DOUBLE + zeros).astype(np.int32)
    bits = _DOUBLE - zeros
    back = np.where((exponent > 0) & (bits + exponent <= 62), exponent, 0)
    return mantissa << back, exponent - back.astype(np.int32)
