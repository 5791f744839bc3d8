"""Shedders of events: which events of a block go for a query (G4-G6, G9, P10).

gspice-h, gspice-tree, gspice-forest   by utility of the event's features: those at or below the threshold (G6)
espice                                 by utility of its kind and its position in the window
bl, e-bl                               by its kind: rates inversely proportional to how often patterns and windows
                                       repeat it, each event of a kind as likely as any other
auto                                   that of the former which loses least at the share wanted

Without a model of the query each event is as good as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.models.event_model import EventModel
from saffron.engine.models.event_shedding import EventShedding
from saffron.engine.models.feature_keys import FeatureKeys, Features
from saffron.engine.models.features import FeatureError
from saffron.engine.shed.chance import chance
from saffron.language.shedding import AUTO

CHOICE = ("gspice-h", "gspice-forest", "gspice-tree", "espice")
"""What auto chooses from; of equals the first."""
_EVENTS_A_MATCH = 3.0
"""Where neither a model says what a drop loses."""

Marks = NDArray[np.bool_]


@dataclass
class EventDrops:
    """Event models in force, and the features of the stream so far; `apply` takes every block once, in order."""

    seed: int
    models: dict[str, EventModel] = field(default_factory=dict)
    _keys: dict[str, FeatureKeys] = field(default_factory=dict)
    _features: dict[str, Features] = field(default_factory=dict)
    _shedding: dict[tuple[str, str], EventShedding] = field(default_factory=dict)

    def use(self, model: EventModel) -> None:
        """A newer model of its query comes into force."""
        self.models[model.query] = model
        self._shedding = {place: one for place, one in self._shedding.items() if place[0] != model.query}
        wanted = {one.spec.identity: one.spec for one in self.models.values()}
        self._keys = {identity: self._keys.get(identity) or FeatureKeys(spec) for identity, spec in wanted.items()}

    def forget(self, query: str) -> None:
        """Its model is withdrawn."""
        self.models.pop(query, None)
        self._shedding = {place: one for place, one in self._shedding.items() if place[0] != query}

    def apply(self, columns: Columns) -> None:
        """Features of the next block; a specification that does not fit the stream's columns leaves none."""
        self._features = {}
        for identity, keys in self._keys.items():
            try:
                self._features[identity] = keys.apply(columns)
            except FeatureError:
                continue

    def key(self) -> tuple[NDArray[np.uint64], dict[int, tuple[int, ...]]] | None:
        """Keys of the block's events and what is behind those that are new, for observers: of the first specification
        in force; None where there is none."""
        for identity, features in self._features.items():
            return features.keys, self._keys[identity].news()
        return None

    def lost(self, query: str, by: str, share: float, events_a_match: float = _EVENTS_A_MATCH) -> float:
        """The share of matches lost where this share of events is dropped for a query."""
        shedding = self._of(query, by, share)
        if shedding is None:
            return float(1.0 - (1.0 - share) ** events_a_match)
        return shedding.at(share).lost

    def marks(self, columns: Columns, query: str, by: str, share: float) -> Marks:
        """[n] whether each event of the block that was applied last goes."""
        shedding = self._of(query, by, share)
        features = None if shedding is None else self._features.get(shedding.model.spec.identity)
        if shedding is None or features is None:
            return chance(self.seed, columns.seq) < share
        return shedding.dropped(features, columns.seq, shedding.at(share), self.seed)

    def _of(self, query: str, by: str, share: float) -> EventShedding | None:
        model = self.models.get(query)
        if model is None:
            return None
        names = [name for name in (CHOICE if by == AUTO else (by,)) if EventShedding.serves(model, name)]
        if not names:
            return None
        return min((self._known(query, name, model) for name in names), key=lambda one: one.at(share).lost)

    def _known(self, query: str, by: str, model: EventModel) -> EventShedding:
        found = self._shedding.get((query, by))
        if found is None:
            found = self._shedding[query, by] = EventShedding(model, by)
        return found
