"""The split of the time to be saved between dropping events and dropping partial matches, where both are allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from saffron.engine.shed.drops.allocation import Candidate, allocate, as_measured
from saffron.engine.shed.drops.partial_curve import PartialCurve

_STEPS = 32
"""The number of steps between the splits that are compared, from events only to partial matches only."""
_HALVINGS = 12
"""Steps of the bisection for the share up to which events alone save it all."""
_ROUNDING = 1e-9
_GRAIN = 32
"""Shares to be saved are rounded to 1/32, so that few splits are computed for as long as models stay."""


@dataclass(frozen=True)
class Droppable:
    """A query whose partial matches may go; `curve` None: nothing is known of them.

    - `worth`: its weight times its matches an event. `cost`: its share of all time.
    - `belief`: the part of them that goes by the curve. The rest is drawn evenly, and is expected to lose what it saves
      at most.
    - `ratio`: measured matches lost for each expected one. Retained partial matches measure it, drawn ones included.
    """

    curve: PartialCurve | None
    worth: float
    cost: float
    ratio: float = 1.0
    belief: float = 1.0

    def lost(self, saved: float) -> float:
        """The share of matches lost where this share of the time is saved."""
        if self.curve is None:
            return saved
        drawn = as_measured(saved, min(1.0, self.ratio))  # more than it saves is the model's level, not the draw's loss
        return self.belief * as_measured(self.curve.at(saved), self.ratio) + (1.0 - self.belief) * drawn


@dataclass
class Splits:
    """The division of time to be saved between dropping events and dropping partial matches, at the fewest errors.

    A split is the part (0 to 1) of the saving that dropped events bring: 0 is partial matches only, 1 events only. Each
    is computed when it is first asked for, by the share of the time to be saved (in steps of 1/32), and kept until
    models change.
    """

    _known: dict[int, float] = field(default_factory=dict)

    def forget(self) -> None:
        """Models have changed."""
        self._known.clear()

    def split(
        self, share: float, queries: Callable[[], tuple[Mapping[str, Candidate], Mapping[str, Droppable]]]
    ) -> float:
        """The split where this share (0 to 1) of the time is to be saved. `queries` gives those that may lose events,
        and those that may lose partial matches; it is called only if the split is not known yet."""
        place = max(1, round(share * _GRAIN))
        if place not in self._known:
            self._known[place] = self._best(place / _GRAIN, *queries())
        return self._known[place]

    def _best(self, share: float, events: Mapping[str, Candidate], partial: Mapping[str, Droppable]) -> float:
        """The split at a share. Fewer events begin fewer partial matches, so dropping a smaller share of events may
        save it all in the long run. Then it is 1: partial matches that are alive now would be dropped for what is
        saved soon without it, and they do not come back."""
        by_events = best_split(share, events, partial)
        return by_events / share if _missing(share, _dropped(by_events, events), events) > 0 else 1.0


def best_split(share: float, events: Mapping[str, Candidate], partial: Mapping[str, Droppable]) -> float:
    """The share of all time (costs are shares of it) to be saved by events that makes the fewest errors, by weight; of
    equals the greatest. As much as it can where both together do not save enough.

    What partial matches lose is missed; a match that dropped events lose is so many `errors` (G10).
    What partial matches save, they save of what events have left: left by events * (1 - partial) = 1 - share.
    """
    most = min(share, sum(one.cost for one in events.values()))
    best = (np.inf, most)
    for by_events in (*np.linspace(most, 0.0, _STEPS + 1).tolist(), _enough(share, most, events)):
        shares = _dropped(by_events, events)
        rest = _own(_missing(share, shares, events), shares, events, partial)
        if rest > 1 + _ROUNDING:
            continue
        loss = 0.0
        for name in {**events, **partial}:
            wrong = events[name].errors * events[name].lost(shares[name]) if name in events else 0.0
            left = 1 - partial[name].lost(rest) if name in partial else 1.0
            loss += (events[name] if name in events else partial[name]).worth * (1 - left * (1 - wrong))
        if loss < best[0] - 1e-12:
            best = (loss, by_events)
    return best[1]


def _enough(share: float, most: float, events: Mapping[str, Candidate]) -> float:
    """The least that events may save at first so that they save it all in the long run; `most`, where they never do."""
    least = 0.0
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if _missing(share, _dropped(middle, events), events) > 0:
            least = middle
        else:
            most = middle
    return most


def _dropped(share: float, events: Mapping[str, Candidate]) -> dict[str, float]:
    """The share of events to drop of each query, where events are to save the share `share` of all time."""
    return allocate(events, min(1.0, share / sum(one.cost for one in events.values())))


def _left(shares: Mapping[str, float], events: Mapping[str, Candidate]) -> float:
    """The share of all time that is taken where these shares of events are dropped."""
    return 1.0 - sum(one.cost * (1 - one.left(shares[name])) for name, one in events.items())


def _missing(share: float, shares: Mapping[str, float], events: Mapping[str, Candidate]) -> float:
    """The share of the remaining time that partial matches must save, if these shares of events are dropped."""
    left = _left(shares, events)
    return max(0.0, 1 - (1 - share) / left) if left > _ROUNDING else 0.0


def _own(
    missing: float, shares: Mapping[str, float], events: Mapping[str, Candidate], partial: Mapping[str, Droppable]
) -> float:
    """`missing` as a share of the time of queries whose partial matches may go; above 1 if they cannot save it."""
    own = sum(one.cost * (events[name].left(shares[name]) if name in events else 1.0) for name, one in partial.items())
    return missing * _left(shares, events) / max(own, _ROUNDING) if missing > 0 else 0.0
