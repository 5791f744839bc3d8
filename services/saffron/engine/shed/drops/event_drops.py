"""The drops of a block's events for a query (G4 to G6, G10): the choice of events, and the loss.

A shedder's orders of events put those first that are worth least (`shedders`). Of several orders the one decides that
errs least at the wanted share: in matches lost, and in those found that a dropped event would have refused. Without a
model of the query, and as far as one is not believed, events go evenly (`evenly`), or by a draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.match.shedding.positions import position_bins
from saffron.engine.models.features.by_slot import BySlot
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_keys import FeatureKeys, Features
from saffron.engine.models.features.features import FeatureError, FeatureSpec
from saffron.engine.shed.drops.chance import chance
from saffron.engine.shed.drops.evenly import UNKNOWN, Even
from saffron.engine.shed.drops.loss_curve import LossCurve
from saffron.engine.shed.drops.shedders import EventChoice, EventOrder, Promise, Shedder
from saffron.engine.shed.drops.taking import Taking
from saffron.engine.shed.drops.traits import Traits
from saffron.language.plan.clauses import Window

_BEFORE = 16.0
"""Matches that a model's promise by position must rest on to count half. They clump, so that so many are few."""

Marks = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass
class EventDrops:
    """Event models in force, and the features of the stream so far; `apply` takes every block once, in order."""

    seed: int
    models: dict[str, EventModel] = field(default_factory=dict)
    _watched: FeatureSpec | None = None
    _keys: dict[str, FeatureKeys] = field(default_factory=dict)
    _features: dict[str, Features] = field(default_factory=dict)
    _choices: dict[tuple[str, EventOrder], EventChoice | None] = field(default_factory=dict)
    _curves: dict[tuple[str, Shedder, float], LossCurve] = field(default_factory=dict)
    _contributed: dict[str, BySlot] = field(default_factory=dict)
    taking: Taking = field(default_factory=Taking)

    def use(self, models: Mapping[str, EventModel]) -> None:
        """Put event models in force, by query."""
        changed = {query for query in {*models, *self.models} if models.get(query) is not self.models.get(query)}
        if not changed:
            return
        self.models = dict(models)
        self._choices = {place: one for place, one in self._choices.items() if place[0] not in changed}
        self._curves.clear()
        self._contributed = {query: BySlot(model.contributed) for query, model in models.items()}
        self._follow()

    def watch(self, spec: FeatureSpec) -> None:
        """Observers want the keys of these features, whatever models are in force."""
        self._watched = spec
        self._follow()

    def _follow(self) -> None:
        wanted = {one.spec.identity: one.spec for one in self.models.values()}
        if self._watched is not None:
            wanted[self._watched.identity] = self._watched
        self._keys = {identity: self._keys.get(identity) or FeatureKeys(spec) for identity, spec in wanted.items()}

    def apply(self, columns: Columns, *, anew: bool = False) -> None:
        """Features of the next block; a specification that does not fit the stream's columns leaves none.

        `anew`: a checkpoint stands in the block, from which on all keys count as new.
        """
        self._features = {}
        for keys in self._keys.values() if anew else ():
            keys.forget()
        for identity, keys in self._keys.items():
            try:
                self._features[identity] = keys.apply(columns)
            except FeatureError:
                continue
        if len(columns):
            self.taking.saw(columns, {query: self._known_features(query) for query in self.taking.plans})

    def watched(self) -> tuple[NDArray[np.uint64], dict[int, tuple[int, ...]]] | None:
        """Keys of the block's events, and the vectors behind those that are new; None where nobody watches."""
        if self._watched is None or self._watched.identity not in self._features:
            return None
        identity = self._watched.identity
        return self._features[identity].keys, self._keys[identity].news()

    def even(self, query: str, by: Shedder) -> Even:
        """Even dropping of its events, where its shedder falls back on it."""
        return self.taking.even(query) if by.evenly else UNKNOWN

    def spare_now(self, query: str, by: Shedder) -> float:
        """The share of the last few events that the query cannot take, where its shedder drops them first."""
        return self.taking.spare_now(query) if by.evenly else 0.0

    def _known_features(self, query: str) -> tuple[FeatureSpec, Features] | None:
        """The features of the last block for a query, with their specification; None if they are not known."""
        model = self.models.get(query)
        spec = self._watched if model is None else model.spec
        features = None if spec is None else self._features.get(spec.identity)
        return None if spec is None or features is None else (spec, features)

    def contribution(self, query: str, events: int) -> float:
        """The contribution of the last block (of `events` events) to matches, as a number of average events."""
        contributed = self._contributions(query)
        return float(events) if contributed is None else float(contributed.sum())

    def _contributions(self, query: str) -> Floats | None:
        """The contribution of each event of the last block [n]; None where no model knows it."""
        model = self.models.get(query)
        features = None if model is None else self._features.get(model.spec.identity)
        if features is None:
            return None
        contributed = self._contributed[query].of(features)[features.slots]
        return np.where(self.taking.fits(query, len(contributed)), contributed, 0.0)

    def parts(self, query: str, by: Shedder, share: float, marks: Marks, length: float) -> float:
        """The expected share (0 to 1) of the last block's contributions to a query's matches in marked events.

        `by`, `share`: shedder and wanted share of events. `marks` [n]: the events that go. `length`: events of a match.

        A threshold on features is measured on the block itself: it was learned from other events, and fewer go where
        the block's are worth more. Any other order counts by the promise L of the model: 1 - (1 - L)^(1 / length). If
        the shedder chooses among several orders, L is the least of their promises, and so biased low, the more the
        fewer matches it was learned from. It is then averaged with `_BEFORE` matches of the events' contributions,
        which ignore the position and are biased high.
        """
        choice = self._of(query, by, share)
        if choice is not None and choice.by_features:
            return self._contributed_by(query, marks)
        promised = float(1.0 - (1.0 - self.lost(query, by, share, length)) ** (1.0 / length))
        if choice is None or len(by.events) == 1:
            return promised
        beside = _BEFORE / (_BEFORE + choice.model.matches)
        return promised + beside * (self._contributed_by(query, marks) - promised)

    def _contributed_by(self, query: str, marks: Marks) -> float:
        """The share (0 to 1) of the block's contributions that comes from the marked events."""
        contributed = self._contributions(query)
        if contributed is None:
            fits = self.taking.fits(query, len(marks))
            return float(marks[fits].mean()) if fits.any() else 0.0
        whole = float(contributed.sum())
        return float(contributed[marks].sum()) / whole if whole > 0 else 0.0

    def lost(self, query: str, by: Shedder, share: float, length: float) -> float:
        """The share of matches, of `length` events each, lost where this share of events is dropped for a query."""
        choice = self._of(query, by, share)
        return self.even(query, by).lost(share, length) if choice is None else choice.at(share).lost

    def false(self, query: str, by: Shedder, share: float) -> float:
        """An upper bound of false matches for each true one if `share` of events is dropped and NOTs miss them."""
        choice = self._of(query, by, share)
        return 0.0 if choice is None else choice.at(share).false

    def curve(self, query: str, by: Shedder, length: float) -> LossCurve:
        """The share of matches lost (`lost`) as a curve over all shares of dropped events."""
        if query not in self.models:
            return self.even(query, by).curve(length)
        found = self._curves.get((query, by, length))
        if found is None:
            found = LossCurve.of(lambda share: self.lost(query, by, share, length))
            self._curves[query, by, length] = found
        return found

    def marks(self, columns: Columns, query: str, traits: Traits, share: float, belief: float = 1.0) -> Marks:
        """[n] whether each event of the block that was applied last goes. What does not fit the query goes first, then
        the part `belief` (0 to 1) of the share by the model, and the rest evenly."""
        choice = self._of(query, traits.by, share)
        features = None if choice is None else self._features.get(choice.model.spec.identity)
        marks, learned = np.zeros(len(columns), np.bool_), 0.0
        if choice is not None and features is not None and belief > 0:
            window = Window(traits.slide or 1, traits.counts, traits.slide, None)
            places = position_bins(window, columns.seq if traits.counts else columns.ts)
            learned = belief * share
            marks = choice.dropped(features, columns.seq, learned, self.seed, places)
        if not traits.by.evenly:
            return marks if learned == share else chance(self.seed, columns.seq) < share
        drawn = chance(self.seed, columns.seq)
        return self.taking.evenly(columns, query, share, marks, learned, drawn)

    def _of(self, query: str, by: Shedder, share: float) -> EventChoice | None:
        """The order of events with the least promised errors if `share` of them is dropped; None without a model.

        Errors are matches lost, and false ones. The choice is among the orders of the shedder `by`.
        """
        choices = (self._choice(query, order) for order in by.events)
        return min((one for one in choices if one is not None), key=lambda one: _errors(one.at(share)), default=None)

    def _choice(self, query: str, order: EventOrder) -> EventChoice | None:
        if query not in self.models:
            return None
        if (query, order) not in self._choices:
            self._choices[query, order] = order(self.models[query])
        return self._choices[query, order]


def _errors(promise: Promise) -> float:
    return promise.lost + promise.false
