"""The rests of the numbers of a column beyond float64: the second parts of their pairs (`schema.numbers`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.schema.numbers import EXACT

_UPPER = 2.0**32


def rests_of(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """[n] the difference between each int64 and the nearest float64; 0 for null."""
    # Every step is exact: the difference is a whole number below 2**33.
    upper = values >> 32
    lower = values - (upper << 32)
    return (upper.astype(np.float64) * _UPPER - values.astype(np.float64)) + lower.astype(np.float64)


def is_wide(values: NDArray[Any]) -> bool:
    """True if there is an int64 that float64 does not hold; null does not count."""
    large = len(values) > 0 and np.abs(values).max() > EXACT  # of null the absolute value is negative
    return bool(large and rests_of(values).any())
