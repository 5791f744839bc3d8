"""A model of events put to use: which events of a block go, at a wanted share (papers G4-G6, G9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, SEED, finalised, unit
from saffron.engine.kernels.jit import inlined, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int32, int64, uint64, void
from saffron.engine.models.features.by_slot import BySlot
from saffron.engine.models.features.curve import Cut
from saffron.engine.models.features.event_model import BY_FOREST, BY_KEY, BY_POSITION, BY_TREE, EventModel
from saffron.engine.models.features.feature_keys import Features
from saffron.engine.models.features.key_table import key_table

Floats = NDArray[np.float64]


class EventShedding:
    """The order of one query's events by the utilities of `shedder`, of which the model has thresholds."""

    def __init__(self, model: EventModel, shedder: str) -> None:
        self.model = model
        self.shedder = shedder
        self._table = key_table(model.keys.keys, model.keys.values) if shedder == BY_KEY else None
        self._worth = BySlot(self._computed)

    @property
    def by_features(self) -> bool:
        """True if an event's features alone determine its utility."""
        return self.shedder != BY_POSITION

    def at(self, share: float) -> Cut:
        """The cut that drops this share of events, with its loss."""
        return self.model.curves[self.shedder].at(share)

    def utilities(self, features: Features, positions: NDArray[np.integer] | None = None) -> Floats:
        """float64 [n]: the utility of each event; `positions`: bins of positions in the window, which eSPICE needs."""
        if not self.by_features:
            return self._by_position(features, positions)
        return self._worth.of(features)[features.slots]

    def dropped(
        self,
        features: Features,
        seq: NDArray[np.int64],
        share: float,
        seed: int,
        positions: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """bool [n]: the events to drop; drawn by (seed, seq), so that equal calls drop the same however cut."""
        cut, found = self.at(share), np.empty(len(seq), dtype=np.bool_)
        if self.by_features:
            slots, worth = features.slots, self._worth.of(features)
        else:
            slots, worth = np.arange(len(seq), dtype=np.int32), self._by_position(features, positions)
        draw_by_utility(slots, worth, cut.lower, cut.upper, cut.ties, seq, np.uint64(seed), found)
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
def number(seed, seq):  # type: ignore[no-untyped-def]
    """A number in [0, 1) scrambled from both."""
    word = finalised(np.uint64(seq) * np.uint64(GOLDEN) + seed * np.uint64(SEED))
    return unit(word)


@kernel(void(int32[::1], float64[::1], float64, float64, float64, int64[::1], uint64, boolean[::1]), _nrt=False)
def draw_by_utility(slots, worth, lower, upper, ties, seq, seed, found):  # type: ignore[no-untyped-def]
    """Drop events worth less than `lower`, and of those up to `upper` the share `ties`."""
    for i in range(len(seq)):
        utility = worth[slots[i]]
        found[i] = utility < lower or (utility <= upper and number(seed, seq[i]) < ties)
