"""What dropping events loses, by what they contribute, and what a reader's sample says of it."""

from __future__ import annotations

import pytest

from saffron.engine.shed.losses import Extent, Losses


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


def test_a_sample_that_chance_may_have_drawn_leaves_the_promise() -> None:
    share = heard(90_000, 10_000, true=100_000, missed=20_000, firsts=3_000)
    assert share == pytest.approx(0.1, abs=0.02)


def promised(blocks: list[tuple[float, float]], length: float, reach: float = 10_000.0) -> float:
    """Of blocks of a hundred events by turns, each of so much worth of which a part goes, and matches of so many events
    that extend so far; ten are found a block in all, heard of after each as often as they are left there."""
    losses, extents = Losses(), {"q": Extent(length, reach)}
    left = sum(worth * (1 - gone) ** length for worth, gone in blocks) / len(blocks)
    found = 0.0
    for number in range(400):
        worth, gone = blocks[number % len(blocks)]
        losses.add((100 * number, 100 * number + 100), {"q": worth}, {}, {"q": gone}, extents)
        found += 10 * worth * (1 - gone) ** length / left
        losses.heard({"found": {"q": found}, "loss": {}, "position": 100 * number + 100})
    return losses.share("q")


def test_events_of_a_match_lie_in_any_blocks() -> None:
    assert promised([(100, 0.3)], 1.0) == pytest.approx(0.3, abs=0.001)
    assert promised([(100, 0.1)], 3.0) == pytest.approx(1 - 0.9**3, abs=0.001)
    assert promised([(100, 0.0), (100, 0.5)], 3.0) == pytest.approx(1 - 0.75**3, abs=0.01)


def test_blocks_weigh_as_much_as_their_events_contribute() -> None:
    """Matches that lie in one block each, most of them where half goes."""
    assert promised([(300, 0.5), (100, 0.0)], 1.0, 1.0) == pytest.approx(0.375, abs=0.01)
    assert promised([(100, 0.5), (300, 0.0)], 1.0, 1.0) == pytest.approx(0.125, abs=0.01)


def test_where_all_goes_as_many_are_lost_as_were_due() -> None:
    assert promised([(100, 0.0), (300, 1.0)], 1.0, 1.0) == pytest.approx(0.75, abs=0.02)


def test_due_grows_with_the_root_of_partial_matches() -> None:
    losses = Losses()
    for number in range(100):
        block, all_goes = (100 * number, 100 * number + 100), number % 2
        losses.add(block, {"q": 100.0}, {"q": 15 * all_goes}, {"q": float(all_goes)}, {"q": Extent(1.0, 1.0)})
        losses.heard({"found": {"q": 10 * (number // 2 + 1)}, "loss": {}, "position": block[1]})
    assert losses.share("q") == pytest.approx(4 / (4 + 1), abs=0.02)


def test_how_far_small_losses_are_off_cannot_be_told() -> None:
    losses = Losses()
    losses.add((0, 1000), {"q": 1000.0}, {}, {"q": 0.001 / 3}, {})
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    sampled = [1000.0, 10.0, 1e6, 1e6]
    losses.heard({"sampled": {"q": sampled}, "found": {"q": 990}, "loss": {"q": 0.0}, "position": 1000})
    assert losses.missed("q") == pytest.approx(0.01, abs=0.001), "ten times as much as was promised"
    assert losses.ratios("q")[0] < 2.0
