"""What the text of conditions calls: arithmetic in float64 where NaN stands for null (`plan.Binary`)."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from saffron.engine.events.schema import NULL_INT


@register_jitable
def real(a: int) -> float:
    """An integer attribute as float64."""
    return math.nan if a == NULL_INT else float(a)


@register_jitable
def quotient(a: float, b: float) -> float:
    """a / b; null where b is 0."""
    return math.nan if b == 0.0 else a / b


@register_jitable
def remainder(a: float, b: float) -> float:
    """a % b with the sign of a; null where b is 0 or a is infinite."""
    return math.nan if b == 0.0 or not abs(a) < math.inf else math.fmod(a, b)


@register_jitable
def root(a: float) -> float:
    """The square root; null for negative numbers."""
    return math.sqrt(a) if a >= 0.0 else math.nan


@register_jitable
def least(a: float, b: float) -> float:
    """The smaller one; null where either is."""
    return a if a <= b else (b if b < a else math.nan)


@register_jitable
def greatest(a: float, b: float) -> float:
    """The larger one; null where either is."""
    return a if a >= b else (b if b > a else math.nan)


@register_jitable
def deviation(spread: float, number: float) -> float:
    """The sample standard deviation from Welford's sum and count; null below two values."""
    return math.sqrt(spread / (number - 1.0)) if number >= 2.0 else math.nan
