"""Random numbers for keys (Zobrist hashing, papers G4): one of 63 bits for each field and value of a vector.

Keys have 63 bits so that they fit every reader of JSON that has integers of 64 bits, signed or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features import FeatureSpec

Keys = NDArray[np.uint64]

_GOLDEN_INT = 0x9E3779B97F4A7C15
_GOLDEN = np.uint64(_GOLDEN_INT)
_WORD = (1 << 64) - 1


def mixed(numbers: Keys) -> Keys:
    """Each number scrambled (the finaliser of SplitMix64): neighbouring ones become unlike."""
    numbers = numbers + _GOLDEN
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def mixed_one(number: int) -> int:
    """`mixed` of a number modulo 2^64, for single ones: an array of one takes ten times as long."""
    number = (number + _GOLDEN_INT) & _WORD
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _WORD
    return number ^ (number >> 31)


def numbers_of(spec: FeatureSpec) -> Keys:
    """uint64 [fields, values]: the number of each value of each field of a vector; those that are no value are 0."""
    fields = spec.fields
    table = np.zeros((len(fields), max(fields)), dtype=np.uint64)
    seed = mixed(np.array([spec.seed], dtype=np.uint64))
    for field, values in enumerate(fields):
        places: Keys = np.arange(values, dtype=np.uint64) + np.uint64(field << 20)
        table[field, :values] = mixed(seed ^ places) >> np.uint64(1)
    return table


def keys_of(vectors: NDArray[np.int16], numbers: Keys, fields: tuple[int, ...]) -> Keys:
    """uint64 [n]: the XOR of the numbers of those `fields` of vectors [n, d]."""
    keys = np.zeros(len(vectors), dtype=np.uint64)
    for field in fields:
        keys ^= numbers[field, vectors[:, field]]
    return keys
