"""When a model is trained and published: the numbers, one place for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts
from saffron.engine.models.transitions.trainer import TransitionCounts


@dataclass(frozen=True)
class Policy:
    """When a model is trained and published.

    `observations`: eta, events that partial matches of a query must have met before its first model. `drift`: mean
    squared error of the transition matrix against the one in use from which on a new model is published (P6).
    `expected`: relative change of what is expected of some partial match that is worth one, where transitions have
    changed by more than chance: matrices may be near each other whose powers are not.
    `aged`: relative change of what is expected by age, of all partial matches together, that is worth a new model.
    `moved`: relative change of a window's expected events, or of a latency function, that is worth a new model;
    `slower`: of what an event takes in one state against others.
    `events`, `matches`: events of a query, and matches, from which on a model says what they are worth; then a new
    one when the distribution of their features, or that of what they contribute, has moved by `shifted` (total
    variation), and by more than the two halves of observations differ.
    `half_life`: batches with observations after which what was observed before counts half; then a model is made anew
    in any case.
    `more`: a model of either kind is made anew when there are so many times as many observations.
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
        """Whether there is what a model of partial matches needs, or so many times as much."""
        return counts.is_trainable and counts.met >= times * self.observations

    def is_enough_of_events(self, counts: FeatureCounts, times: int = 1) -> bool:
        """The same of a model of events."""
        matches = sum(sum(half.matches.lists().values()) for half in counts.halves)
        return counts.observations >= times * self.events and matches >= times * self.matches * WEIGHT
