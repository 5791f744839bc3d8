"""What a reader's sample says of the matches missed, beside what was promised."""

from __future__ import annotations

import pytest

from saffron.engine.shed.losses import Losses


def heard(found: int, promised_lost: int, *, true: float, missed: float, firsts: float) -> float:
    """The share missed as believed once a sample has told of so many matches."""
    losses = Losses()
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    sampled = [true, missed, firsts, firsts * 100]
    losses.heard({"sampled": {"q": sampled}, "found": {"q": found}, "loss": {"q": promised_lost}, "position": 1})
    return losses.missed("q")


def test_a_sample_of_all_the_time_outweighs_the_promise() -> None:
    share = heard(70_000, 30_000, true=100_000, missed=10_000, firsts=100_000)
    assert share == pytest.approx(0.1, abs=0.01)


def test_a_sample_of_the_worst_time_does_not_speak_for_the_rest() -> None:
    share = heard(90_000, 10_000, true=3_000, missed=1_500, firsts=2_500)
    assert share == pytest.approx(0.1, abs=0.002)
