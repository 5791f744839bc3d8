"""Hashes of numbers, of words one after the other, and of bytes: the one place of their constants.

SplitMix64 (Steele, Lea and Flood, 2014) scrambles words of 64 bits, so that neighbouring ones become unlike. `chained`
hashes several words, for tables. `scattered` makes hashes that are kept: ids of results, marks in snapshots. FNV-1a
hashes bytes while they are read. All of them work on words in kernels; those that say [n] work on arrays in NumPy too.
Kafka's own hash is in `runtime.log.murmur2`.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import int64, types, uint64, void

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of it spread evenly over all words."""
OTHER = 0xC2B2AE3D27D4EB4F
"""A prime of xxHash (Collet, 2012), for a second hash of the same words: ids of results have both."""
SEED = 0xD1B54A32D192ED03
"""A multiplier of LXM (Steele and Vigna, 2021): multiples of it spread seeds, as those of GOLDEN spread numbers."""
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1
_FACTOR, _LAST = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
_BYTES, _PRIME = 0xCBF29CE484222325, 0x100000001B3


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


@jitable(forceinline=True, _nrt=False)
def unit(words):
    """Numbers of [0, 1) from words [n], or in kernels from one: the leading 53 bits."""
    return (words >> np.uint64(11)) * 2.0**-53


@jitable(forceinline=True, _nrt=False)
def chained(hashed, words):
    """Hashes [n] so far with words [n] appended, or in kernels one with one. A hash begins as GOLDEN."""
    hashed = (hashed ^ words) * np.uint64(_FACTOR)
    return hashed ^ (hashed >> np.uint64(32))


def hashes_of(columns: NDArray[np.int64], start: int = GOLDEN) -> Words:
    """uint64 [n]: the hash of each column of int64 [words, n]."""
    hashed = np.full(columns.shape[1], np.uint64(start))
    _append(np.ascontiguousarray(columns), hashed)
    return hashed


@kernel(void(types.Array(int64, 2, "C", readonly=True), uint64[::1]))
def _append(columns, hashed):
    """Append words [words, n] to hashes [n]. NumPy takes two to five times as long: each operation makes an array."""
    for row in range(len(columns)):
        for i in range(len(hashed)):
            hashed[i] = chained(hashed[i], np.uint64(columns[row, i]))


@jitable(forceinline=True, _nrt=False)
def scattered(word):
    """A word scrambled by the finaliser of MurmurHash3 (Appleby, 2011): it never changes, since results have it."""
    word = (word ^ (word >> np.uint64(33))) * np.uint64(_FACTOR)
    word = (word ^ (word >> np.uint64(33))) * np.uint64(_LAST)
    return word ^ (word >> np.uint64(33))


@jitable(forceinline=True, _nrt=False)
def no_bytes():
    """The FNV-1a hash of no byte."""
    return np.uint64(_BYTES)


@jitable(forceinline=True, _nrt=False)
def with_byte(hashed, byte):
    """An FNV-1a hash with one byte appended."""
    return (hashed ^ np.uint64(byte)) * np.uint64(_PRIME)


@jitable(forceinline=True, _nrt=False)
def folded(hashed):
    """A finished FNV-1a hash whose low bits depend on all its bits, as tables need."""
    hashed = hashed * np.uint64(GOLDEN)
    return hashed ^ (hashed >> np.uint64(32))
