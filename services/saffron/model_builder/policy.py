"""The thresholds for training and publishing models."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts
from saffron.engine.models.transitions.trainer import TransitionCounts


@dataclass(frozen=True)
class Policy:
    """Thresholds for training and publishing models.

    Models of partial matches. `observations`: eta, events that a query's partial matches must have met before its first
    model. A new one is published after one of these changes:
    `drift`: mean squared error of the transition matrix against the one in force (P6).
    `expected`: relative change of a partial match's expected matches, if transitions have changed by more than chance;
    matrices can be close while their powers are not.
    `aged`: relative change of the expectation by age, over all partial matches.
    `moved`: relative change of a window's expected events, or of a latency function.
    `slower`: relative change of an event's time in one state against others.

    Models of events. `events`, `matches`: numbers of both before the first model. A new one is published when the
    distribution of features, or of contributions, has moved by `shifted` (total variation). It must also have moved by
    more than the two halves of observations differ.

    Both. `more`: growth factor of the number of observations that leads to a new model. `half_life`: number of batches
    with observations after which counts are halved, which leads to a new model too.
    """

    observations: int = 1000
    drift: float = 1e-5
    expected: float = 0.1
    aged: float = 0.2
    moved: float = 0.05
    slower: float = 0.5
    events: int = 2000
    matches: int = 20
    shifted: float = 0.1
    more: float = 2.0
    half_life: int = 360

    def is_enough(self, counts: TransitionCounts, times: int = 1) -> bool:
        """True if there are `times` the observations that a first model of partial matches needs."""
        return counts.is_trainable and counts.met >= times * self.observations

    def is_enough_of_events(self, counts: FeatureCounts, times: int = 1) -> bool:
        """True if there are `times` the observations and matches that a first model of events needs."""
        matches = sum(sum(half.matches.lists().values()) for half in counts.halves)
        return counts.observations >= times * self.events and matches >= times * self.matches * WEIGHT
