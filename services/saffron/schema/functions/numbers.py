"""Functions of numbers, in float64 with NaN for null: kernels compile this very text.

Each gives null where it has no value: for null, outside of its domain, and beyond the range of float64.
"""

from __future__ import annotations

import math

_WHOLE = 2.0**52
"""The least float64 from which on all are whole numbers."""
_OVERFLOW = 709.78
"""The greatest exponent for which exp is within float64."""
_EARTH = 6371008.8
"""Mean radius in metres (IUGG)."""
_MOST_DIGITS = 15.0


def floor(a: float) -> float:
    """The largest whole number that is not above a."""
    return float(math.floor(a)) if abs(a) < _WHOLE else a


def ceil(a: float) -> float:
    """The smallest whole number that is not below a."""
    return float(math.ceil(a)) if abs(a) < _WHOLE else a


def trunc(a: float) -> float:
    """The whole part of a."""
    return float(math.trunc(a)) if abs(a) < _WHOLE else a


def nearest(a: float) -> float:
    """The nearest whole number; of two equally near ones that which is further from 0."""
    size = abs(a)
    if not size < _WHOLE:
        return a
    whole = float(math.floor(size))
    whole = whole + 1.0 if size - whole >= 0.5 else whole
    return whole if a >= 0.0 else 0.0 - whole


def rounded(a: float, digits: float = 0.0) -> float:
    """The nearest number with so many digits behind the point (before it, where negative), from -15 to 15."""
    if digits == 0.0:
        return nearest(a)
    if not (abs(digits) <= _MOST_DIGITS and digits == math.floor(digits)):
        return math.nan
    scale = math.pow(10.0, abs(digits))
    if digits < 0.0:
        return nearest(a / scale) * scale
    return nearest(a * scale) / scale if abs(a) < _WHOLE else a


def sign(a: float) -> float:
    """The sign of a: -1, 0 or 1."""
    return 1.0 if a > 0.0 else -1.0 if a < 0.0 else a * 0.0


def root(a: float) -> float:
    """The square root of a."""
    return math.sqrt(a) if a >= 0.0 else math.nan


def power(a: float, b: float) -> float:
    """The number a to the power of b."""
    if math.isnan(a) or math.isnan(b) or not (abs(a) < math.inf and abs(b) < math.inf):
        return math.nan
    if a == 0.0:
        return math.nan if b < 0.0 else 1.0 if b == 0.0 else 0.0
    if (a < 0.0 and b != math.floor(b)) or b * math.log(abs(a)) > _OVERFLOW:
        return math.nan
    return float(math.pow(a, b))


def exp(a: float) -> float:
    """The number e to the power of a."""
    return math.exp(a) if a <= _OVERFLOW else math.nan


def ln(a: float) -> float:
    """The natural logarithm."""
    return math.log(a) if 0.0 < a < math.inf else math.nan


def log10(a: float) -> float:
    """The logarithm to base 10."""
    return math.log10(a) if 0.0 < a < math.inf else math.nan


def sin(a: float) -> float:
    """The sine of an angle in radians."""
    return math.sin(a) if abs(a) < math.inf else math.nan


def cos(a: float) -> float:
    """The cosine of an angle in radians."""
    return math.cos(a) if abs(a) < math.inf else math.nan


def tan(a: float) -> float:
    """The tangent of an angle in radians."""
    return math.tan(a) if abs(a) < math.inf else math.nan


def asin(a: float) -> float:
    """The angle in radians, from -pi/2 to pi/2, with this sine."""
    return math.asin(a) if abs(a) <= 1.0 else math.nan


def acos(a: float) -> float:
    """The angle in radians, from 0 to pi, with this cosine."""
    return math.acos(a) if abs(a) <= 1.0 else math.nan


def atan(a: float) -> float:
    """The angle in radians, from -pi/2 to pi/2, with this tangent."""
    return math.atan(a)


def atan2(y: float, x: float) -> float:
    """The angle in radians, from -pi to pi, of the point (x, y)."""
    return math.nan if math.isnan(x) or math.isnan(y) else math.atan2(y, x)


def radians(degrees: float) -> float:
    """An angle in degrees, converted to radians."""
    return degrees * (math.pi / 180.0)


def degrees(radians: float) -> float:
    """An angle in radians, converted to degrees."""
    return radians * (180.0 / math.pi)


def distance(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Metres between two points given in degrees, along a great circle of a sphere (haversine)."""
    if not (abs(lat) <= 90.0 and abs(other_lat) <= 90.0 and abs(lon) <= 360.0 and abs(other_lon) <= 360.0):
        return math.nan
    up = math.sin(radians(other_lat - lat) * 0.5)
    along = math.sin(radians(other_lon - lon) * 0.5)
    half = up * up + math.cos(radians(lat)) * math.cos(radians(other_lat)) * (along * along)
    return 2.0 * _EARTH * math.asin(math.sqrt(min(1.0, half)))


def least(a: float, b: float) -> float:
    """The smaller number."""
    return a if a <= b else (b if b < a else math.nan)


def greatest(a: float, b: float) -> float:
    """The larger number."""
    return a if a >= b else (b if b > a else math.nan)


def _bits(a: float) -> bool:
    """True if the number is whole, not negative, and of at most 53 bits."""
    return 0.0 <= a < 9007199254740992.0 and a == math.floor(a)


def bit_and(a: float, b: float) -> float:
    """The bits that both numbers have."""
    return float(int(a) & int(b)) if _bits(a) and _bits(b) else math.nan


def bit_or(a: float, b: float) -> float:
    """The bits that either number has."""
    return float(int(a) | int(b)) if _bits(a) and _bits(b) else math.nan


def bit_xor(a: float, b: float) -> float:
    """The bits that exactly one number has."""
    return float(int(a) ^ int(b)) if _bits(a) and _bits(b) else math.nan


def shift(a: float, by: float) -> float:
    """The bits moved to the left, or where `by` is negative to the right; null beyond 53 bits."""
    if not (_bits(a) and abs(by) <= 53.0 and by == math.floor(by)):
        return math.nan
    moved = math.floor(a / 2.0**-by) if by < 0.0 else a * 2.0**by
    return float(moved) if moved < 9007199254740992.0 else math.nan


def absolute(a: float) -> float:
    """The absolute value of a."""
    return abs(a)
