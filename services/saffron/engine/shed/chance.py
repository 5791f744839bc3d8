"""Seeded numbers without state: the same for an event, whatever block it comes in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def chance(seed: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """[n] one number of [0, 1) for each whole number, spread evenly (the finaliser of splitmix64)."""
    word = numbers.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF)
    word = (word + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def exempt(seed: int, seq: NDArray[np.int64], span: int, share: float) -> NDArray[np.bool_]:
    """[n] whether an event lies in a span of the stream (so many sequence numbers) from which nothing is dropped."""
    if share <= 0:
        return np.zeros(len(seq), np.bool_)
    return chance(~seed, seq // span) < share
