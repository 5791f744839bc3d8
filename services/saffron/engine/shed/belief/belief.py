"""The belief in a learned order, 0 to 1: a test that it has lately done better than even dropping on unseen matches.

Let g_1, ..., g_k be the gains of trials (see `trials`), the newest last. S is the sum of f^(k-i) g_i, V that of
f^(2(k-i)) g_i^2, with f = `FADE`. For an order that is no better than chance, S / sqrt(V) hardly exceeds a standard
normal variable (V. H. de la Pena, T. L. Lai, Q.-M. Shao, *Self-Normalized Processes*, 2009). Belief is S / sqrt(V) - 1,
clipped to [0, 1]. It begins where the lower confidence limit of S at one standard error is above 0, and is whole where
that at two is. One trial, or two of few matches, give none. After a change that makes an order bad, three trials end a
belief that equally good trials built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials
from saffron.engine.shed.drops.evenly import Even

FADE = 0.85
"""The factor on a trial's weight for each later trial."""
_BEGINS, _WHOLE = 1.0, 2.0
"""Standard errors."""
_GRAIN = 8
"""The steps of belief, 1/8, so that its dependents seldom change."""
_MOST_OF_MODEL = 16.0
"""The most trials that the matches behind a model of events make; with more matches each trial has more."""
SHARE = 0.25
"""The share of fitting events at which a model is compared with even dropping while other shares are dropped."""
SHARES = (SHARE, 0.5, 0.75)


@dataclass(frozen=True)
class Belief:
    """Faded sums over the trials so far: their number, S and V."""

    count: float = 0.0
    gains: float = 0.0
    squares: float = 0.0

    def after(self, trials: Trials) -> Belief:
        """The belief after more trials; each has their mean gain and mean square."""
        if trials.count <= 0:
            return self
        left = FADE**trials.count
        gains = trials.gains / trials.count * (1 - left) / (1 - FADE)
        squares = trials.squares / trials.count * (1 - left**2) / (1 - FADE**2)
        return Belief(self.count + trials.count, left * self.gains + gains, left**2 * self.squares + squares)

    def share(self, before: Trials) -> float:
        """The belief, 0 (none) to 1. `before`: the earlier trials that the model in force brings."""
        model, left = Belief().after(before), FADE**self.count
        gains, squares = left * model.gains + self.gains, left**2 * model.squares + self.squares
        if gains <= 0 or squares <= 0:
            return 0.0
        proved = (gains / sqrt(squares) - _BEGINS) / (_WHOLE - _BEGINS)
        return float(round(_GRAIN * min(1.0, max(0.0, proved))) / _GRAIN)


def trials_of(model: EventModel, lost: Callable[[float], float], even: Even, length: float) -> Trials:
    """The trials of an event model's order on the matches that it was learned from, by cross-validation.

    `lost`: from a share of events dropped to the share of matches lost. `even`: even dropping to compare with.
    `length`: the number of events of a match. `LEAST_MATCHES` matches make one trial, since chance alone would lose all
    or none of so few. Of `SHARES` the one counts that proves most: an order that loses little loses no more where fewer
    go.
    """
    clumps = model.matches / LEAST_MATCHES
    if clumps <= 0:
        return Trials()
    count = min(_MOST_OF_MODEL, clumps)
    found = []
    for share in SHARES:
        tried = beyond(even.spare, share)
        evenly = even.lost(tried, length)
        if evenly > 0:
            gain = 1.0 - lost(tried) / evenly
            found.append(Trials(count, count * gain, count * (gain**2 + (1.0 - evenly) / evenly * count / clumps)))
    proving = (one for one in found if one.squares > 0)
    return max(proving, key=lambda one: one.gains / sqrt(one.squares), default=Trials())


def beyond(spare: float, share: float) -> float:
    """The share of all events dropped, if `spare` goes whole, and `share` of the others."""
    return spare + share * (1.0 - spare)


@dataclass
class Counted:
    """The trials that a reader has reported so far. A reader that starts again counts from 0."""

    reported: Trials = Trials()

    def grown(self, now: Trials) -> Trials:
        """The trials since the last report."""
        before, self.reported = self.reported, now
        if now.count < before.count:
            return now
        return Trials(now.count - before.count, now.gains - before.gains, max(0.0, now.squares - before.squares))
