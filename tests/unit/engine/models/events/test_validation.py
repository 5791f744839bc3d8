"""Losses of curves among matches that they were not learned from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from saffron.engine.models.events.validation import validated
from saffron.engine.models.features.curve import Curve

SHARE = np.linspace(0.0, 1.0, 11)


def curve(lost: Callable[[float], float], points: int = 11) -> Curve:
    share = np.linspace(0.0, 1.0, points)
    losses = np.array([lost(one) for one in share.tolist()])
    return Curve(np.zeros(1), np.ones(1), np.ones(1), share, losses, np.zeros(points))


def test_a_curve_that_is_tried_on_nothing_is_left_as_it_is() -> None:
    own = curve(lambda share: share**4)
    assert validated(own, [], 3.0) is own


def test_a_curve_that_loses_as_much_of_others_stays() -> None:
    own = curve(lambda share: share**4)
    assert validated(own, [(own, 2), (own, 5)], 3.0).lost == pytest.approx(own.lost)


def test_what_loses_as_any_event_would_is_believed_to_lose_that() -> None:
    """Fitted to chance: nothing is lost of what was learned from, and of the other half as much as at random."""
    own, other = curve(lambda share: float(share == 1)), curve(lambda share: 1 - (1 - share) ** 3, 101)
    assert validated(own, [(other, 1)], 3.0).lost == pytest.approx(1 - (1 - SHARE) ** 3)


def test_more_than_at_random_is_not_believed() -> None:
    own, other = curve(lambda share: float(share == 1)), curve(lambda share: float(share > 0))
    assert validated(own, [(other, 1)], 3.0).lost == pytest.approx(1 - (1 - SHARE) ** 3)


def test_between_both_the_other_half_weighs_the_more_the_more_was_fitted_to_chance() -> None:
    """At a half: 0 of its own, a half where any event is as good, 1/16 of the other half: an eighth was chance."""
    own, other = curve(lambda share: 0.0), curve(lambda share: share**3 / 2)
    found = validated(own, [(other, 3)], 1.0)
    assert found.lost[5] == pytest.approx(0.632 / (1 - 0.368 * (1 / 16) / 0.5) / 16)
    assert (np.diff(found.lost) >= 0).all()


def test_halves_count_by_their_matches() -> None:
    own, one, two = curve(lambda share: 0.0), curve(lambda share: 0.0), curve(lambda share: share)
    lost = validated(own, [(one, 3), (two, 1)], 1.0).lost
    assert lost[10] == pytest.approx(0.632 / (1 - 0.368 * 0.25) * 0.25)
