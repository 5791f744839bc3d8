"""What is saved, divided between events and partial matches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.loss_curve import SHARES, LossCurve
from saffron.engine.shed.drops.partial_curve import PartialCurve
from saffron.engine.shed.drops.splits import Droppable, Splits, best_split
from tests.unit.engine.shed.candidates import candidate


def droppable(power: float) -> Droppable:
    return Droppable(PartialCurve(SHARES, SHARES**power), 1.0, 1.0)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(("events", "partial"), [(1.0, 3.0), (3.0, 1.0), (2.0, 2.0), (0.3, 0.5)])
def test_what_is_saved_is_split_so_that_the_least_is_lost(share: float, events: float, partial: float) -> None:
    def lost(by_events: float) -> float:
        left = (1 - by_events) * (1 - by_events**events)
        rest = max(0.0, 1 - (1 - share) / left) if left else 0.0
        return float(1 - (1 - by_events**events) * (1 - rest**partial))

    split = best_split(share, {"q": candidate(events)}, {"q": droppable(partial)})
    assert lost(split) <= min(lost(one) for one in np.linspace(0, share, 17).tolist()) + 0.02


def test_a_match_that_may_be_found_otherwise_is_two_errors() -> None:
    """It is missed, and another is found that is none: events save less, until they lose half as much."""
    events, partial = candidate(1.0), {"q": droppable(1.5)}
    alone = best_split(0.3, {"q": events}, partial)
    twice = best_split(0.3, {"q": replace(events, errors=2.0)}, partial)
    assert alone > twice
    halved = Candidate(LossCurve(SHARES / 2), 1.0, 1.0, errors=2.0)
    assert allocate({"q": halved, "other": candidate(1.1)}, 0.2) == allocate(
        {"q": events, "other": candidate(1.1)}, 0.2
    )


@pytest.mark.parametrize("belief", [0.0, 0.5, 1.0])
def test_partial_matches_that_lost_less_than_expected_go_rather_than_events(belief: float) -> None:
    """Drawn or chosen by the model alike: both are retained in part, and measured."""
    as_expected = replace(droppable(1.0), belief=belief)
    less = replace(as_expected, ratio=0.4)
    assert less.lost(0.0) == 0.0
    assert less.lost(1.0) == 1.0
    assert less.lost(0.5) == pytest.approx(1 - 0.5**0.4)
    events = {"q": Candidate(LossCurve(0.8 * SHARES), 1.0, 1.0)}
    assert Splits().split(0.5, lambda: (events, {"q": as_expected})) == 1.0
    assert Splits().split(0.5, lambda: (events, {"q": less})) == 0.0


def test_a_draw_loses_no_more_than_it_saves() -> None:
    """Where the model expects too few matches of all, the draw is no worse for it."""
    assert replace(droppable(1.0), belief=0.0, ratio=8.0).lost(0.5) == 0.5
    assert replace(droppable(1.0), belief=1.0, ratio=8.0).lost(0.5) > 0.9


def test_partial_matches_stay_where_fewer_events_make_fewer_of_them() -> None:
    alone = Splits().split(0.5, lambda: ({"q": candidate(3.0)}, {"q": droppable(1.0)}))
    assert best_split(0.5, {"q": candidate(3.0)}, {"q": droppable(1.0)}) < 0.5
    assert alone == 1.0, "those that are there now would have to go"


def test_a_split_follows_what_is_known_now() -> None:
    splits = Splits()
    assert splits.split(0.5, lambda: ({"q": candidate(8.0)}, {"q": droppable(0.1)})) > 0.8
    splits.forget()
    assert splits.split(0.5, lambda: ({"q": candidate(0.1)}, {"q": droppable(8.0)})) < 0.01


@pytest.mark.parametrize("share", np.linspace(0.05, 0.6, 12).tolist())
def test_events_that_save_it_all_at_the_least_loss_are_not_split_for_a_step_between(share: float) -> None:
    """Half of what they save at first is enough in the long run, wherever that lies between the steps."""
    events = Candidate(LossCurve(0.8 * SHARES), 1.0, 1.0, begun=LossCurve(SHARES))
    assert Splits().split(share, lambda: ({"q": events}, {"q": droppable(1.0)})) == 1.0
