"""What dropping loses, as promised, and as a reader's sample says."""

from __future__ import annotations

import pytest

from saffron.engine.shed.losses.expected import Expected
from saffron.engine.shed.losses.losses import Correction, Losses


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
    losses.add((0, 1000), {"q": 1000.0}, {}, {"q": 0.001 / 3}, {}, {})
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    sampled = [1000.0, 10.0, 1e6, 1e6]
    told = {"sampled": {"q": sampled}, "compared": {"q": 990}}
    losses.heard({**told, "found": {"q": 990}, "loss": {"q": 0.0}, "position": 1000})
    assert losses.missed("q") == pytest.approx(0.01, abs=0.001), "ten times as much as was promised"
    assert losses.correction("q") == Correction()


def test_what_was_lost_before_a_reader_began_again_stays_lost() -> None:
    losses = Losses()
    losses.heard({"found": {"q": 1000}, "loss": {"q": 500.0}, "position": 10})
    losses.heard({"found": {"q": 200}, "loss": {"q": 100.0}, "position": 20})
    assert losses.missed("q") == pytest.approx(1 / 3)
    assert losses.expected("q").lost == pytest.approx(600, rel=0.01)


def test_what_a_reader_counted_before_this_shedder_began_is_no_part_of_its_estimate() -> None:
    losses = Losses()
    for found, lost in ((400_000, 1_000.0), (400_100, 1_300.0), (20, 60.0)):
        losses.heard({"found": {"q": found}, "loss": {"q": lost}, "position": found}, {"q"})
    assert losses.missed("q") == pytest.approx(0.75), "of 480, not of all that the reader ever found"
    assert losses.expected("q").due == pytest.approx(480, abs=5)


@pytest.mark.parametrize(("missed", "at_random"), [(0.0, 0.0), (0.01, 0.0), (0.3, 0.5), (0.9, 1.0)])
def test_where_nothing_was_promised_to_be_lost_what_was_is_told_by_what_chance_would_lose(
    missed: float, at_random: float
) -> None:
    losses = Losses()
    for begin in range(0, 10_000, 100):
        losses.add((begin, begin + 100), {"q": 100.0}, {}, {}, {}, {"q": 0.3})
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    told = {"sampled": {"q": [1e6, 1e6 * missed, 1e6, 1e6]}, "compared": {"q": 1000}}
    losses.heard({**told, "found": {"q": 1000}, "loss": {"q": 0.0}, "position": 10_000})
    correction = losses.correction("q")
    assert (correction.events, correction.partial) == (1.0, 1.0)
    assert correction.at_random == pytest.approx(at_random, abs=0.07), "a third of events is 0.66 of matches of three"


@pytest.mark.parametrize(("promised", "at_random"), [(0.3, 0.0), (0.1, 0.4), (0.0, 0.5)])
def test_a_choice_that_counted_with_less_than_its_events_foretell_is_corrected(
    promised: float, at_random: float
) -> None:
    losses = Losses()
    part, by_promise = (1 - (1 - lost) ** (1 / 3) for lost in (0.3, promised))
    for begin in range(0, 10_000, 100):
        block = (begin, begin + 100)
        losses.add(block, {"q": 100.0}, {}, {"q": part}, {}, {"q": 0.3}, {"q": by_promise})
    losses.heard({"found": {"q": 1000}, "loss": {"q": 0.0}, "position": 10_000})
    assert losses.missed("q") == pytest.approx(0.3, abs=0.01), "as the events of the blocks foretell"
    assert losses.correction("q").at_random == pytest.approx(at_random, abs=0.07)


def false_beside(promised: float, told: dict[str, float]) -> float:
    """The share of 900 that were found that is none, where so many are promised for each true one."""
    losses = Losses()
    losses.let_on({"q": 500.0}, {"q": 2 * promised})
    losses.let_on({"q": 500.0}, {})
    losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
    sampled = [told["true"], 0.0, told["firsts"], told["firsts"]]
    reader = {"sampled": {"q": sampled}, "false": {"q": told["false"]}, "compared": {"q": 900}}
    losses.heard({**reader, "found": {"q": 900}, "loss": {"q": 0.0}, "position": 1})
    expected = losses.expected("q")
    assert expected.found == 901
    assert expected.false_share == pytest.approx(losses.false("q"))
    assert expected.missed_share == pytest.approx(losses.missed("q"))
    assert expected.due - expected.lost == pytest.approx(901, abs=901 * losses.false("q"))
    return losses.false("q")


def test_where_no_sample_is_models_say_how_much_of_what_is_found_is_none() -> None:
    assert false_beside(0.0, {"true": 0, "false": 0, "firsts": 0}) == 0.0
    assert false_beside(0.25, {"true": 0, "false": 0, "firsts": 0}) == pytest.approx(0.2)


@pytest.mark.parametrize("promised", [0.0, 0.02, 0.5])
def test_a_sample_says_how_much_of_what_is_found_is_none(promised: float) -> None:
    assert false_beside(promised, {"true": 9000, "false": 1000, "firsts": 10_000}) == pytest.approx(0.1, abs=0.01)
    assert false_beside(promised, {"true": 10_000, "false": 0, "firsts": 10_000}) == pytest.approx(0.0, abs=0.01)


def test_where_most_is_missed_few_first_events_tell_of_what_was_found() -> None:
    def beside_a_promise(missed: float) -> float:
        losses = Losses()
        losses.heard({"sampled": {"q": [0.0, 0.0, 0.0, 0.0]}})
        losses.let_on({"q": 1.0}, {"q": (1 - missed) / 4})
        sampled = {"sampled": {"q": [1000.0, 1000.0 * missed, 1000.0, 1000.0]}, "false": {"q": 0.0}}
        losses.heard({**sampled, "compared": {"q": 900}, "found": {"q": 900}, "loss": {"q": 0.0}, "position": 1})
        return losses.false("q")

    assert beside_a_promise(0.99) > 2 * beside_a_promise(0.5) > 0


def test_what_was_found_is_summed_over_restarts_of_the_reader() -> None:
    losses = Losses()
    for count in (10, 15, 4):
        losses.heard({"found": {"q": count}, "loss": {"q": 0.0}, "position": count})
    assert losses.expected("q").found == 15 + 4 + 1


def test_of_several_partitions_the_larger_counts_for_more() -> None:
    large, small = Expected.of(899.0, 0.1, 0.0), Expected.of(9.0, 0.9, 0.5)
    assert (large.due, large.lost) == pytest.approx((1000.0, 100.0))
    assert (small.due, small.lost, small.found, small.false) == pytest.approx((55.0, 49.5, 10.0, 5.0))
    both = Expected.together([(1.0, large), (1.0, small)])
    assert both.missed_share == pytest.approx(149.5 / 1055)
    assert both.false_share == pytest.approx(5 / 910)


@pytest.mark.parametrize("missed", [0.0, 0.4, 1.0])
def test_a_share_is_left_where_nothing_was_found(missed: float) -> None:
    assert Expected.of(0.0, missed, 1.0).missed_share == missed
    assert Expected.of(0.0, missed, 1.0).false_share == 1.0
