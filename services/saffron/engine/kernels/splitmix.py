"""SplitMix64 (Steele, Lea and Flood, 2014): words of 64 bits scrambled, so that neighbouring ones become unlike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import jitable

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of it spread evenly over all words."""
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1


@jitable(forceinline=True, _nrt=False)
def finalised(words: Words) -> Words:
    """Words [n], or in kernels one, scrambled by the finaliser alone: 0 stays 0."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_SECOND)
    return words ^ (words >> np.uint64(31))


def mixed(words: Words) -> Words:
    """Words [n], each scrambled."""
    scrambled: Words = finalised(words + np.uint64(GOLDEN))
    return scrambled


def mixed_one(number: int) -> int:
    """`mixed` of a number modulo 2^64, for single ones: an array of one takes ten times as long."""
    number = (number + GOLDEN) & _WORD
    number = ((number ^ (number >> 30)) * _FIRST) & _WORD
    number = ((number ^ (number >> 27)) * _SECOND) & _WORD
    return number ^ (number >> 31)
