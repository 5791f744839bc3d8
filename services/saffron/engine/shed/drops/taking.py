"""Statistics of the events that queries can take: the share that does not fit, types of the rest, repeated keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.models.features.by_slot import BySlot
from saffron.engine.models.features.feature_keys import Features
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.shed.drops.evenly import UNKNOWN, Even, even_of, types_of
from saffron.engine.shed.drops.fitting import can_skip, unfit
from saffron.engine.shed.drops.repeats import Repeats
from saffron.language.plan.match_plan import MatchPlan

Marks = NDArray[np.bool_]
Floats = NDArray[np.float64]

_NEAR, _FAR = 512.0, 4_096.0
"""Events over which shares of them are means: where they go, and where means of shedding are compared."""
_GRAIN = 64
"""The steps of shares, 1/64, so that their dependents seldom change."""
_ANOTHER = 2.0**20
"""A number of [0, 1) that is drawn, times this, has a fraction that does not depend on it: of 53 bits the last 33."""


@dataclass
class _Query:
    """The measurements of one query.

    `known`: the identity of the features, and which of their vectors do not fit the query. `fits` [n]: whether each
    event of the last block fits. `near`, `far`: share of events that do not fit, over few and over many events.
    `types`: shares of the pattern's types among events that fit. `even`: the even dropping by `far` and `types`.
    """

    plan: MatchPlan
    repeats: Repeats
    known: tuple[str, BySlot] | None = None
    fits: Marks = field(default_factory=lambda: np.zeros(0, np.bool_))
    near: float | None = None
    far: float | None = None
    types: Floats | None = None
    even: Even = UNKNOWN


@dataclass
class Taking:
    """The measurements of one chain's queries whose plans are known and may skip events in between."""

    plans: Mapping[str, MatchPlan] = field(default_factory=dict)
    _queries: dict[str, _Query] = field(default_factory=dict)

    def serve(self, plans: Mapping[str, MatchPlan]) -> None:
        """Set the plans of the queries in force. A query whose plan stays the same keeps its measurements."""
        if plans is self.plans:
            return
        same = {name for name, plan in plans.items() if name in self.plans and self.plans[name] == plan}
        self.plans = plans
        self._queries = {
            name: self._queries[name] if name in same else _Query(plan, Repeats(plan)) for name, plan in plans.items()
        }

    def saw(self, columns: Columns, features: Mapping[str, tuple[FeatureSpec, Features] | None]) -> None:
        """Measure the next block. `features`: by query, the features of its events, or None."""
        for name, own in self._queries.items():
            own.fits = _fits(own, columns, features.get(name))
            spare, types = float(1.0 - own.fits.mean()), _shares(own, columns)
            own.near = _towards(own.near, spare, len(columns), _NEAR)
            own.far = _towards(own.far, spare, len(columns), _FAR)
            if own.fits.any():
                before = types if own.types is None else own.types
                own.types = before + (types - before) * len(columns) / (len(columns) + _FAR)
            own.repeats.saw(columns, own.fits)
            self._weigh(own)

    def even(self, query: str) -> Even:
        """The even dropping of a query's events."""
        own = self._queries.get(query)
        return UNKNOWN if own is None else own.even

    def _weigh(self, own: _Query) -> None:
        if own.far is None or own.types is None:
            return
        spare, types = int(_GRAIN * own.far) / _GRAIN, tuple((np.round(_GRAIN * own.types) / _GRAIN).tolist())
        if own.even is UNKNOWN or (spare, types) != (own.even.spare, own.even.frequency):
            own.even = even_of(own.plan, spare, types)

    def spare_now(self, query: str) -> float:
        """The share of the last few events that it cannot take."""
        own = self._queries.get(query)
        return 0.0 if own is None or own.near is None else own.near

    def replaced(self, query: str) -> float:
        """The share of its events in whose stead another may be taken; 1 where nothing is known."""
        own = self._queries.get(query)
        return 1.0 if own is None else own.repeats.share

    def fits(self, query: str, count: int) -> Marks:
        """[n] which events of the last block it can take; all where that is not known."""
        own = self._queries.get(query)
        return np.ones(count, np.bool_) if own is None or len(own.fits) != count else own.fits

    def evenly(self, columns: Columns, query: str, share: float, marks: Marks, learned: float, drawn: Floats) -> Marks:
        """[n] whether each event of the last block is dropped, at `share` in all.

        `marks`: the events that a learned order drops, at the share `learned`. `drawn`: a number of [0, 1) for each
        event. Events that do not fit the query go first, the rest by type.
        """
        fits, spare = self.fits(query, len(columns)), self.spare_now(query)
        if share <= spare:
            return ~fits & (drawn * spare < share)
        going = max(learned, spare)
        found = unfit_first(marks, fits, drawn)
        if share <= going:
            return found
        return found | (drawn < self._rates(columns, query, (share - going) / (1.0 - going)))

    def _rates(self, columns: Columns, query: str, share: float) -> Floats:
        """[n] the rates of the events' types that drop this share of those that fit."""
        even, values = self.even(query), columns.type.values
        if even is UNKNOWN:
            return np.full(len(columns), share)
        rates = dict(zip(even.types, even.rates(share).tolist(), strict=True))
        # Other types fit nothing, and are gone already; where no event may be skipped, they count as any.
        other = rates.get(None, share)
        by_code = np.array([*(rates.get(value, other) for value in values), 1.0])
        found: Floats = by_code[columns.type.data]
        return found


def unfit_first(marks: Marks, fits: Marks, drawn: Floats) -> Marks:
    """[n] the events that go if those that do not fit go first: as many as `marks`, or all that do not fit.

    Each of these that is not marked takes the place of a marked one that fits.
    """
    unfit = ~fits
    found = marks | unfit
    fitting = np.flatnonzero(marks & fits)
    again = drawn[fitting] * _ANOTHER % 1.0  # by `drawn` itself, those that stay would not go evenly after this
    instead = np.argsort(again, kind="stable")[: np.count_nonzero(unfit & ~marks)]
    found[fitting[instead]] = False
    return found


def _fits(own: _Query, columns: Columns, features: tuple[FeatureSpec, Features] | None) -> Marks:
    """bool [n]: the events that may fit a query: by type where features are not known; all if none may be skipped.

    What is known by vector is kept in `own.known`.
    """
    if not can_skip(own.plan):
        return np.ones(len(columns), np.bool_)
    if features is None:
        types = types_of(own.plan)
        by_code = np.array([*(None in types or value in types for value in columns.type.values), None in types])
        fitting: Marks = by_code[columns.type.data]
        return fitting
    spec, found = features
    if own.known is None or own.known[0] != spec.identity:
        plan = own.plan
        own.known = spec.identity, BySlot(lambda _, vectors: unfit(plan, spec, vectors).astype(np.float64))
    fits: Marks = own.known[1].of(found)[found.slots] == 0
    return fits


def _shares(own: _Query, columns: Columns) -> Floats:
    """[types] the shares of the pattern's types among the events that fit."""
    place = {name: number for number, name in enumerate(types_of(own.plan))}
    other = place.get(None, -1)
    by_code = np.array([*(place.get(value, other) for value in columns.type.values), -1])
    places = by_code[columns.type.data][own.fits]
    counts: Floats = np.bincount(places[places >= 0], minlength=len(place)).astype(np.float64)
    return counts / max(1.0, float(counts.sum()))


def _towards(before: float | None, now: float, count: int, span: float) -> float:
    return now if before is None else before + (now - before) * count / (count + span)
