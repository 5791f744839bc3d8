"""How far the learned orders of each query are believed, of its events and of its partial matches."""

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
    """How far (0 to 1) the learned orders of a query are believed: of its events, of its partial matches. `learned`:
    which of the two there are; for another one the number means nothing."""

    events: float = 1.0
    partial: float = 1.0
    learned: tuple[str, ...] = ()

    @property
    def told(self) -> dict[str, float]:
        """By means, of those that are learned."""
        return {means: getattr(self, means) for means in self.learned}


@dataclass
class _Query:
    """`window`: events of one. `proved`: what the model of events in force brings."""

    window: float = _WINDOW
    partial: Belief = Belief()
    events: Belief = Belief()
    counted: Counted = field(default_factory=Counted)
    trials: EventTrials = field(default_factory=EventTrials)
    proved: tuple[EventModel, Trials] | None = None


@dataclass
class Beliefs:
    """Of one chain: what readers told of trials, since each query began."""

    _queries: dict[str, _Query] = field(default_factory=dict)

    def heard(self, load: Mapping[str, Any]) -> None:
        """A reader's load: `trials` of partial matches, and matches `traced` for those of events, by query."""
        for query, sums in load.get("trials", {}).items():
            own = self._of(str(query))
            own.partial = own.partial.after(own.counted.grown(Trials(*map(float, sums))))
        for query, told in load.get("traced", {}).items():
            own = self._of(str(query))
            own.events = own.events.after(own.trials.told(int(told["count"]), told["matches"], own.window))

    def saw(
        self, query: str, seq: NDArray[np.int64], goes: NDArray[np.bool_], even: Even, model: TransitionModel | None
    ) -> None:
        """Events at these positions [n], and which would go by the learned order alone; `even`: what would go else.
        `model`: of the query's partial matches, which knows how many events a window has."""
        own = self._of(query)
        own.window = _WINDOW if model is None else model.expected_events
        own.trials.saw(seq, goes, own.window, even)

    def of(self, query: str, by: Shedder, model: TransitionModel | None, events: EventDrops, length: float) -> Believed:
        """Of a query that the shedder `by` acts on, whose matches have so many events (`length`)."""
        own = self._of(query)
        partial = own.partial.share(Trials() if model is None else model.trials)
        learned = ("partial",) if model is not None and by.partial is not None and by.partial.ranks else ()
        known = events.models.get(query)
        if known is None or not by.evenly:
            return Believed(partial=partial, learned=learned)
        if own.proved is None or own.proved[0] is not known:
            even = events.even(query, by)
            own.proved = known, trials_of(known, lambda share: events.lost(query, by, share), even, length)
        return Believed(own.events.share(own.proved[1]), partial, ("events", *learned))

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        self._queries.pop(query, None)

    def _of(self, query: str) -> _Query:
        return self._queries.setdefault(query, _Query())
