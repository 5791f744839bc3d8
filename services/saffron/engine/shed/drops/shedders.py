"""Shedders: the means of dropping for a query, and their orders (P5, G4 to G6). Each has the name that records give.

- auto: events and partial matches, each by the order that loses least.
- pspice: partial matches, by utility w P / tau.
- gspice-h: events, by a hash table of utilities.
- gspice-tree: events, by a decision tree.
- gspice-forest: events, by ten decision trees.

Experiments register the papers' baselines beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.events.event_shedding import EventShedding
from saffron.engine.models.features.event_model import BY_FOREST, BY_KEY, BY_POSITION, BY_TREE, EventModel
from saffron.engine.models.features.feature_keys import Features
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.partial_match import PartialMatchModel, partial_match_models
from saffron.language.cost.shedders import AUTO, NONE


class Promise(Protocol):
    """The expected loss of dropping a share of a query's events.

    `lost`: share of its matches. `false`: matches found too many, for each true one.
    """

    @property
    def lost(self) -> float: ...

    @property
    def false(self) -> float: ...


class EventChoice(Protocol):
    """A learned order of a query's events. `by_features`: whether an event's features alone say if it goes."""

    @property
    def model(self) -> EventModel: ...

    @property
    def by_features(self) -> bool: ...

    def at(self, share: float) -> Promise:
        """The expected loss of dropping this share of the events."""

    def dropped(
        self,
        features: Features,
        seq: NDArray[np.int64],
        share: float,
        seed: int,
        positions: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """[n] the events that go where this share is to go. `positions` [n]: bins of positions in the window."""


EventOrder = Callable[[EventModel], EventChoice | None]
"""The order that a model teaches; None where the model lacks it."""

Tables = Callable[[Sequence[TransitionModel], Mapping[str, float]], Mapping[str, PartialMatchModel]]
"""A function from transition models and weights of queries to utilities and losses, by query."""


@dataclass(frozen=True)
class PartialOrder:
    """An order of partial matches. `ranks`: they go by the utilities of `tables`; else they are drawn."""

    tables: Tables
    ranks: bool = True


@dataclass(frozen=True)
class Shedder:
    """A way to shed load. It drops events if it has orders of `events`, and partial matches if it has one of them.

    Of several orders of events the one with the least promise of errors decides. `evenly`: where an order of events is
    unknown, or as far as it is not believed, even dropping decides; otherwise events are drawn.
    """

    name: str
    events: tuple[EventOrder, ...] = ()
    partial: PartialOrder | None = None
    evenly: bool = False


def by_curve(name: str) -> EventOrder:
    """The order of which a model has thresholds under this name."""
    return lambda model: EventShedding(model, name) if name in model.curves else None


BY_UTILITY = PartialOrder(partial_match_models)
POSITIONS = by_curve(BY_POSITION)
_KEYS, TREE, FOREST = by_curve(BY_KEY), by_curve(BY_TREE), by_curve(BY_FOREST)

EXEMPT = Shedder(NONE)
AUTOMATIC = Shedder(AUTO, (_KEYS, FOREST, TREE, POSITIONS), BY_UTILITY, evenly=True)
PSPICE = Shedder("pspice", partial=BY_UTILITY)
GSPICE_H = Shedder("gspice-h", (_KEYS,), evenly=True)

SHEDDERS: Mapping[str, Shedder] = {
    one.name: one
    for one in (
        EXEMPT,
        AUTOMATIC,
        PSPICE,
        GSPICE_H,
        Shedder("gspice-tree", (TREE,), evenly=True),
        Shedder("gspice-forest", (FOREST,), evenly=True),
    )
}
"""The shedders that users can choose, by name. Of orders with the same promise the first is used."""
