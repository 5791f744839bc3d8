"""The belief in the learned orders of each query: of its events, and of its partial matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.trials import Trials
from saffron.engine.shed.belief.belief import Belief, Counted, trials_of
from saffron.engine.shed.belief.event_trials import EventTrials
from saffron.engine.shed.drops.evenly import Even
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.shedders import Shedder

_WINDOW = 4_096.0
"""Events of a window that nothing is known of."""


@dataclass(frozen=True)
class Believed:
    """The belief (0 to 1) in the learned orders of one query, of its events and of its partial matches.

    `learned`: "events", "partial" or both; the belief in an order that is not learned means nothing.
    """

    events: float = 1.0
    partial: float = 1.0
    learned: tuple[str, ...] = ()

    @property
    def by_means(self) -> dict[str, float]:
        """The beliefs in the orders that are learned, by "events" and "partial"."""
        return {means: getattr(self, means) for means in self.learned}


@dataclass
class _Query:
    """The trials of one query. `window`: the number of events in a window.

    `proved`: the event model in force, and its trials.
    """

    window: float = _WINDOW
    partial: Belief = Belief()
    events: Belief = Belief()
    counted: Counted = field(default_factory=Counted)
    trials: EventTrials = field(default_factory=EventTrials)
    proved: tuple[EventModel, Trials] | None = None


@dataclass
class Beliefs:
    """The beliefs of one chain, by query, from the trials that readers report."""

    _queries: dict[str, _Query] = field(default_factory=dict)

    def heard(self, load: Mapping[str, Any]) -> None:
        """Take a reader's load report: `trials` of orders of partial matches, `traced` matches for trials of events."""
        for query, sums in load.get("trials", {}).items():
            own = self._of(str(query))
            own.partial = own.partial.after(own.counted.grown(Trials(*map(float, sums))))
        for query, traced in load.get("traced", {}).items():
            own = self._of(str(query))
            own.events = own.events.after(own.trials.add_report(int(traced["count"]), traced["matches"], own.window))

    def saw(
        self, query: str, seq: NDArray[np.int64], goes: NDArray[np.bool_], even: Even, model: TransitionModel | None
    ) -> None:
        """Add events at positions [n], with flags [n] whether the learned order alone drops them.

        `even`: the even dropping to compare with. `model`: of the query's partial matches; it knows the events of a
        window.
        """
        own = self._of(query)
        own.window = _WINDOW if model is None else model.expected_events
        own.trials.saw(seq, goes, own.window, even)

    def of(self, query: str, by: Shedder, model: TransitionModel | None, events: EventDrops, length: float) -> Believed:
        """The beliefs for a query under the shedder `by`. `length`: the number of events of a match."""
        own = self._of(query)
        partial = own.partial.share(Trials() if model is None else model.trials)
        learned = ("partial",) if model is not None and by.partial is not None and by.partial.ranks else ()
        known = events.models.get(query)
        if known is None or not by.evenly:
            return Believed(partial=partial, learned=learned)
        if own.proved is None or own.proved[0] is not known:
            even = events.even(query, by)
            own.proved = known, trials_of(known, lambda share: events.lost(query, by, share, length), even, length)
        return Believed(own.events.share(own.proved[1]), partial, ("events", *learned))

    def forget(self, query: str) -> None:
        """Forget a query that is removed, or added again."""
        self._queries.pop(query, None)

    def _of(self, query: str) -> _Query:
        return self._queries.setdefault(query, _Query())
