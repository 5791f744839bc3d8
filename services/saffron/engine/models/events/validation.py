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
    """The curve with losses between two kinds of losses: its own, and those of `others` at equal shares of events.

    A curve's own losses are of the matches that it was fitted to. The `others` were learned from half of the matches
    and tried on the other half, so they lose more. Their mean is weighted by their matches.

    If the others lose as much as dropping at random does, the curve was fitted to chance. The nearer they are to that,
    the less its own losses weigh. At random, a match of `length` events is lost as soon as one of them is dropped.
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
