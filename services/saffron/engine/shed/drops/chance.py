"""Seeded numbers without state: the same for an event, whatever block it comes in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, mixed, unit


def chance(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """[n] one number of [0, 1) for each whole number, spread evenly."""
    found: NDArray[np.float64] = unit(mixed(numbers.astype(np.uint64) + np.uint64(seed * GOLDEN % 2**64)))
    return found


def exempt(seed: int, seq: NDArray[np.int64], span: int, share: float) -> NDArray[np.bool_]:
    """[n] whether an event lies in a span of the stream (so many sequence numbers) from which nothing is dropped."""
    if share <= 0:
        return np.zeros(len(seq), np.bool_)
    return chance(~seed, seq // span) < share
