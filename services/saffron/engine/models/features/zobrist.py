"""Random numbers for keys (Zobrist hashing, papers G4): one of 63 bits for each field and value of a vector.

Keys have 63 bits so that they fit every reader of JSON that has integers of 64 bits, signed or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import mixed
from saffron.engine.models.features.features import FeatureSpec

Keys = NDArray[np.uint64]


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
