"""What dropping loses, as promised, and as a reader's sample says."""

from __future__ import annotations

import pytest

from saffron.engine.shed.losses import Losses


def heard(found: int, promised_lost: int, *, true: float, missed: float, firsts: float, covered: float = 1.0) -> float:
    """The share missed as believed once a sample has told of so many matches; `covered`: of those found, meanwhile."""
    losses = Losses()
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    told = {"sampled": {"q": [true, missed, firsts, firsts * 100]}, "compared": {"q": int(covered * found)}}
    losses.heard({**told, "found": {"q": found}, "loss": {"q": promised_lost}, "position": 1})
    return losses.missed("q")


def test_a_sample_of_all_the_time_outweighs_the_promise() -> None:
    share = heard(70_000, 30_000, true=100_000, missed=10_000, firsts=100_000)
    assert share == pytest.approx(0.1, abs=0.01)


def test_a_sample_of_the_worst_time_does_not_speak_for_the_rest() -> None:
    share = heard(90_000, 10_000, true=3_000, missed=1_500, firsts=2_500, covered=0.03)
    assert share == pytest.approx(0.1, abs=0.002)


def test_a_sample_that_chance_may_have_drawn_leaves_the_promise() -> None:
    share = heard(90_000, 10_000, true=100_000, missed=20_000, firsts=3_000)
    assert share == pytest.approx(0.1, abs=0.02)


def test_how_far_small_losses_are_off_cannot_be_told() -> None:
    losses = Losses()
    losses.add((0, 1000), {"q": 1000.0}, {}, {"q": 0.001 / 3}, {})
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    sampled = [1000.0, 10.0, 1e6, 1e6]
    told = {"sampled": {"q": sampled}, "compared": {"q": 990}}
    losses.heard({**told, "found": {"q": 990}, "loss": {"q": 0.0}, "position": 1000})
    assert losses.missed("q") == pytest.approx(0.01, abs=0.001), "ten times as much as was promised"
    assert losses.ratios("q")[0] < 2.0
