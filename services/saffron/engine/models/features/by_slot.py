"""Values of features' keys, each computed once and looked up by its slot after."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.feature_keys import Features

Floats = NDArray[np.float64]


class BySlot:
    """The cached values of feature keys, by slot.

    `computed`: computes float64 [d] values from keys (uint64 [d]) and their vectors (int16 [d, fields]).
    """

    def __init__(self, computed: Callable[[NDArray[np.uint64], NDArray[np.int16]], Floats]) -> None:
        self._computed = computed
        self._generation = -1
        self._slots = 0
        self._values: Floats = np.empty(0)

    def of(self, features: Features) -> Floats:
        """float64 [slots or more]: the values by slot; only those of new slots are computed."""
        if features.generation != self._generation:
            self._generation, self._slots = features.generation, 0
        known, distinct = self._slots, len(features.distinct)
        if distinct > len(self._values):
            self._values = np.concatenate([self._values[:known], np.zeros(2 * distinct - known)])
        if distinct > known:
            self._values[known:distinct] = self._computed(features.distinct[known:], features.vectors[known:])
            self._slots = distinct
        return self._values
