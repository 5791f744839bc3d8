"""The values of an aggregate as results show them: computed in arrays where 64 bits hold them."""

from __future__ import annotations

import numpy as np

from saffron.engine.trends.core.arrays import Floats, Ints, Smalls
from saffron.engine.trends.core.order import Pairs

_WHOLE = 2**53
"""Up to here every integer is a float."""
_SMALLEST, _GREATEST = 2.0**-1000, 2.0**1000
"""Between these a product with a power of two is not rounded again."""

Shown = Ints | Floats | Pairs
"""[n] integers, NULL_INT for null, or floats, or pairs (`schema.numbers`), NaN for null."""


def shown_count(numbers: Ints, scales: Smalls) -> Shown | None:
    """Counts (n, e) as numbers; None where one of them needs more than 64 bits."""
    return numbers if _plain(numbers) and not scales.any() else None


def shown_sum(numbers: Ints, scales: Smalls) -> Shown | None:
    """Sums (n, x) as numbers; None where one of them needs another form."""
    if not _plain(numbers):
        return None
    if not scales.any():
        return numbers
    return None if np.abs(numbers).max() > _WHOLE else _scaled(numbers.astype(np.float64), scales >> 1)


def shown_mean(numbers: Ints, scales: Smalls, counts: Ints, count_scales: Smalls) -> Shown | None:
    """Sums over counts, null without any; None where a quotient would be rounded more than once."""
    if not _plain(numbers) or not _plain(counts) or max(np.abs(numbers).max(), counts.max()) > _WHOLE:
        return None
    quotients = np.full(len(numbers), np.nan)
    np.divide(numbers, counts, out=quotients, where=counts != 0)
    return _scaled(quotients, (scales >> 1) - count_scales)


def shown_extreme(values: Floats) -> Shown:
    """Least or greatest values, infinite for null."""
    return np.where(np.isinf(values), np.nan, values + 0.0)  # + 0.0: there is no -0


def shown_pairs(values: Pairs) -> Shown:
    """Least or greatest pairs, infinite for null."""
    return np.where(np.isinf(values.real), complex(np.nan), values)


def _plain(numbers: Ints) -> bool:
    return numbers.dtype == np.int64


def _scaled(values: Floats, exponents: Smalls) -> Floats | None:
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.ldexp(values, exponents)
    size = np.abs(found)
    safe = np.isnan(found) | (values == 0) | ((size > _SMALLEST) & (size < _GREATEST))
    return found if safe.all() else None
