"""A model of events put to use: which events of a block go, at a wanted share (papers G4-G6, G9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, finalised, unit
from saffron.engine.kernels.jit import inlined, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int16, int32, int64, uint64, void
from saffron.engine.models.features.by_slot import BySlot
from saffron.engine.models.features.curve import Cut
from saffron.engine.models.features.event_model import BY_FOREST, BY_KEY, BY_KIND, BY_POSITION, BY_TREE, EventModel
from saffron.engine.models.features.feature_keys import Features
from saffron.engine.models.features.key_table import key_table
from saffron.engine.models.features.kind_rates import KindCut

Floats = NDArray[np.float64]


class EventShedding:
    """One query's model under one shedder."""

    def __init__(self, model: EventModel, shedder: str) -> None:
        self.model = model
        self.shedder = shedder
        self._table = key_table(model.keys.keys, model.keys.values) if shedder == BY_KEY else None
        self._worth = BySlot(self._computed)

    @staticmethod
    def serves(model: EventModel, shedder: str) -> bool:
        """Whether the model has what this shedder needs."""
        return shedder in BY_KIND or shedder in model.curves

    def at(self, share: float) -> Cut | KindCut:
        """The cut that drops this share of events, with what it loses."""
        if self.shedder in BY_KIND:
            return self.model.rates.at(share)
        return self.model.curves[self.shedder].at(share)

    def utilities(self, features: Features, positions: NDArray[np.integer] | None = None) -> Floats:
        """float64 [n]: what each event is worth; `positions`: bins of positions in the window, which eSPICE needs."""
        if self.shedder == BY_POSITION:
            return self._by_position(features, positions)
        return self._worth.of(features)[features.slots]

    def dropped(
        self,
        features: Features,
        seq: NDArray[np.int64],
        cut: Cut | KindCut,
        seed: int,
        positions: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """bool [n]: the events to drop; drawn by (seed, seq), so that equal calls drop the same however cut."""
        found = np.empty(len(seq), dtype=np.bool_)
        if isinstance(cut, KindCut):
            draw_by_kind(features.slots, features.vectors, cut.rates, seq, np.uint64(seed), found)
        elif self.shedder == BY_POSITION:
            places, worth = np.arange(len(seq), dtype=np.int32), self._by_position(features, positions)
            draw_by_utility(places, worth, cut.lower, cut.upper, cut.ties, seq, np.uint64(seed), found)
        else:
            worth = self._worth.of(features)
            draw_by_utility(features.slots, worth, cut.lower, cut.upper, cut.ties, seq, np.uint64(seed), found)
        return found

    def _computed(self, keys: NDArray[np.uint64], vectors: NDArray[np.int16]) -> Floats:
        forest = {BY_TREE: self.model.tree, BY_FOREST: self.model.forest}.get(self.shedder)
        if forest is not None:
            return forest.utilities(vectors)
        return self.model.by_key(keys, vectors, self._table)

    def _by_position(self, features: Features, positions: NDArray[np.integer] | None) -> Floats:
        kinds = features.vectors[features.slots, 0]
        return self.model.by_position(kinds, np.zeros_like(kinds) if positions is None else positions)


@inlined
def _number(seed, seq):  # type: ignore[no-untyped-def]
    """A number in [0, 1) scrambled from both."""
    word = finalised(np.uint64(seq) * np.uint64(GOLDEN) + seed * np.uint64(0xD1B54A32D192ED03))
    return unit(word)


@kernel(void(int32[::1], float64[::1], float64, float64, float64, int64[::1], uint64, boolean[::1]), _nrt=False)
def draw_by_utility(slots, worth, lower, upper, ties, seq, seed, found):  # type: ignore[no-untyped-def]
    """Drop events worth less than `lower`, and of those up to `upper` the share `ties`."""
    for i in range(len(seq)):
        utility = worth[slots[i]]
        found[i] = utility < lower or (utility <= upper and _number(seed, seq[i]) < ties)


@kernel(void(int32[::1], int16[:, ::1], float64[::1], int64[::1], uint64, boolean[::1]), _nrt=False)
def draw_by_kind(slots, vectors, rates, seq, seed, found):  # type: ignore[no-untyped-def]
    """Drop events at the rates of their kinds."""
    for i in range(len(seq)):
        found[i] = _number(seed, seq[i]) < rates[vectors[slots[i], 0]]
