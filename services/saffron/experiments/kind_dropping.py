"""Dropping events by their kinds alone, as BL and E-BL do (P10, G9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, float64, int16, int32, int64, uint64, void
from saffron.engine.models.events.event_shedding import number
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_keys import Features
from saffron.experiments.kind_rates import KindCut, KindRates


@dataclass(frozen=True)
class KindDropping:
    """The rates of one query, put to use."""

    model: EventModel
    rates: KindRates
    by_features = False

    def at(self, share: float) -> KindCut:
        """The drop rates for this share of events, with their loss."""
        return self.rates.at(share)

    def dropped(
        self,
        features: Features,
        seq: NDArray[np.int64],
        share: float,
        seed: int,
        positions: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """bool [n]: the events to drop; drawn by (seed, seq), so that equal calls drop the same however cut."""
        found = np.empty(len(seq), dtype=np.bool_)
        rates = self.at(share).rates
        draw_by_kind(features.slots, features.vectors, rates, seq, np.uint64(seed), found)
        return found


@kernel(void(int32[::1], int16[:, ::1], float64[::1], int64[::1], uint64, boolean[::1]), _nrt=False)
def draw_by_kind(slots, vectors, rates, seq, seed, found):  # type: ignore[no-untyped-def]
    """Drop events at the rates of their kinds."""
    for i in range(len(seq)):
        found[i] = number(seed, seq[i]) < rates[vectors[slots[i], 0]]
