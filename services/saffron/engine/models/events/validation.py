"""The loss of a curve on matches that it was not learned from (the .632+ estimator of Efron and Tibshirani)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.curve import Curve

Floats = NDArray[np.float64]

_UNSEEN = 0.632
"""Least weight of losses among matches that nothing was learned from: samples leave a third or half out."""


def validated(curve: Curve, others: Sequence[tuple[Curve, int]], length: float) -> Curve:
    """`curve` with losses between its own, of what it was fitted to, and the mean of `others` at equal shares, by the
    weights of their matches: they were taught by half as much and tried on the other half, and lose more.

    The nearer these are to the losses where any event is as good as any other, a match having `length` events, the more
    the curve was fitted to chance, and the less of its own losses is left.
    """
    if not others:
        return curve
    weights = np.array([weight for _, weight in others], dtype=np.float64)
    weights /= weights.sum()
    false = _mean([np.interp(curve.share, one.share, one.false) for one, _ in others], weights)
    lost = _mean([np.interp(curve.share, one.share, one.lost) for one, _ in others], weights)
    at_random = np.maximum(1.0 - (1.0 - curve.share) ** length, curve.lost)
    lost = np.clip(lost, curve.lost, at_random)
    room = at_random - curve.lost
    overfitted = np.divide(lost - curve.lost, room, out=np.zeros_like(room), where=room > 0)
    unseen = _UNSEEN / (1 - (1 - _UNSEEN) * overfitted)
    lost = np.maximum.accumulate(unseen * lost + (1 - unseen) * curve.lost)
    return replace(curve, lost=lost, false=_UNSEEN * false + (1 - _UNSEEN) * curve.false)


def _mean(curves: Sequence[Floats], weights: Floats) -> Floats:
    return np.asarray(weights @ np.array(curves))
