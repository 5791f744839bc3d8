"""How far a learned order is believed, the slow and obvious way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

SHARES = [Fraction(1, 8), Fraction(1, 4), Fraction(3, 8), Fraction(1, 2)]


def gain(worth: Sequence[float], time: Sequence[int], matches: Sequence[int]) -> float | None:
    """The mean share of matches lost at the shares of the time to be saved, beside the mean of these shares; those of
    equal worth go in equal parts."""
    if not sum(matches) or not sum(time):
        return None
    lost = Fraction(0)
    for share in SHARES:
        wanted = share * sum(time)
        for level in sorted(set(worth)):
            own = [i for i, one in enumerate(worth) if one == level]
            whole = sum(time[i] for i in own)
            part = min(Fraction(1), wanted / whole) if whole else Fraction(wanted > 0)
            lost += part * sum(matches[i] for i in own) / Fraction(sum(matches))
            wanted -= part * whole
            if wanted <= 0:
                break
    return float(1 - lost / sum(SHARES))


def belief(gains: Sequence[float], fade: float = 0.85) -> float:
    """Of trials, the newest last, before it is rounded."""
    weights = [fade**age for age in range(len(gains))][::-1]
    above = sum(weight * one for weight, one in zip(weights, gains, strict=True))
    below = sqrt(sum((weight * one) ** 2 for weight, one in zip(weights, gains, strict=True)))
    return min(1.0, max(0.0, above / below - 1.0)) if above > 0 else 0.0
