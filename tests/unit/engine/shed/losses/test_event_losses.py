"""What dropping events loses, by what they contribute, what waits for them, and what is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.losses.event_losses import EventLosses, Extent
from tests.reference.event_losses import Block, share_lost


def heard(blocks: list[Block], length: float, reach: float) -> EventLosses:
    """Heard of after each block."""
    losses = EventLosses(Extent(length, reach))
    losses.heard(0, 0)
    end = found = 0
    for block in blocks:
        begin, end, found = end, end + block.size, found + block.found
        losses.add((begin, end), block.contributed, block.alive, block.part)
        losses.heard(end, found)
    return losses


def promised(turns: list[tuple[float, float]], length: float, reach: float = 10_000.0, instead: float = 0.0) -> float:
    """Of blocks of a hundred events by turns, each of so much worth of which a part goes; of ten matches for each worth
    as many are found as are left, and so many in the stead of the others, where each lies within a block."""
    blocks = []
    for number in range(400):
        worth, part = turns[number % len(turns)]
        left = (1 - part) ** length
        blocks.append(Block(100, worth, 0, part, round(10 * worth * (left + instead * (1 - left)))))
    return heard(blocks, length, reach).share


BLOCKS = st.lists(
    st.builds(
        Block,
        size=st.integers(1, 300),
        contributed=st.floats(0.1, 100.0),
        alive=st.integers(0, 2000),
        part=st.floats(0.0, 1.0),
        found=st.integers(0, 30),
    ),
    min_size=1,
    max_size=12,
)


@given(BLOCKS, st.floats(1.0, 8.0), st.floats(1.0, 1000.0))
def test_as_the_slow_way_says(blocks: list[Block], length: float, reach: float) -> None:
    assert heard(blocks, length, reach).share == pytest.approx(share_lost(blocks, length, reach), abs=1e-6)


def test_events_of_a_match_lie_in_any_blocks() -> None:
    assert promised([(100, 0.3)], 1.0) == pytest.approx(0.3, abs=0.001)
    assert promised([(100, 0.1)], 3.0) == pytest.approx(1 - 0.9**3, abs=0.001)
    assert promised([(100, 0.0), (100, 0.5)], 3.0) == pytest.approx(1 - 0.75**3, abs=0.01)


@pytest.mark.parametrize("instead", [0.0, 0.5, 1.0])
def test_blocks_weigh_as_much_as_their_events_contribute_whatever_is_found_instead(instead: float) -> None:
    """Matches that lie in one block each, most of them where half goes."""
    assert promised([(300, 0.5), (100, 0.0)], 1.0, 1.0, instead) == pytest.approx(0.375, abs=0.01)
    assert promised([(100, 0.5), (300, 0.0)], 1.0, 1.0, instead) == pytest.approx(0.125, abs=0.01)


def test_where_nearly_all_goes_as_many_are_lost_as_were_due() -> None:
    assert promised([(100, 0.0), (300, 0.99)], 1.0, 1.0) == pytest.approx(0.99 * 0.75, abs=0.01)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 1.5])
def test_what_was_due_grows_with_the_power_of_partial_matches_that_was_found(power: float) -> None:
    blocks = []
    for number in range(200):
        alive, part = (3, 0.0) if number % 4 < 2 else (15, 0.5 * (number % 2))
        blocks.append(Block(100, 1.0, alive, part, round(100 * (1 - part) * (1 + alive) ** power)))
    due = 2 * 4**power, 16**power, 16**power / 2
    assert heard(blocks, 1.0, 1.0).share == pytest.approx(due[2] / (due[0] + 2 * due[1]), abs=0.01)


def test_nothing_is_lost_before_any_event_and_the_root_holds_before_any_match() -> None:
    losses = EventLosses(Extent(1.0, 1.0))
    assert losses.share == 0.0
    losses.add((0, 100), 1.0, 3, 0.0)
    losses.add((100, 200), 1.0, 15, 1.0)
    assert losses.share == pytest.approx(0.999 * 4 / (2 + 4))


def test_it_does_not_depend_on_how_often_a_reader_reports_where_nothing_changes() -> None:
    seldom, often = EventLosses(Extent(2.0, 500.0)), EventLosses(Extent(2.0, 500.0))
    seldom.heard(0, 0)
    often.heard(0, 0)
    for number in range(100):
        for losses in (seldom, often):
            losses.add((100 * number, 100 * number + 100), 10.0, 8, 0.25)
        often.heard(100 * number + 50, 10 * number + 5)
        often.heard(100 * number + 100, 10 * number + 10)
    seldom.heard(10_000, 1000)
    assert seldom.share == pytest.approx(often.share, rel=1e-6)


def test_what_a_reader_found_before_says_nothing() -> None:
    blocks = [
        Block(100, 1.0, 3 + 12 * (number % 2), 0.5 * (number % 2), 80 if number % 2 else 160) for number in range(50)
    ]
    one, other = EventLosses(Extent(1.0, 1.0)), EventLosses(Extent(1.0, 1.0))
    for number, block in enumerate(blocks):
        for losses, before in ((one, 0), (other, 1_000_000)):
            losses.add((100 * number, 100 * number + 100), block.contributed, block.alive, block.part)
            losses.heard(100 * number + 100, before + sum(each.found for each in blocks[: number + 1]))
    assert one.share == other.share
    assert one.share == pytest.approx(0.25, abs=0.02), "as many were due where half goes"


def test_what_events_contribute_counts_as_far_as_it_tells() -> None:
    """Matches fall where it says little, and where it says much, alike."""
    blocks = [
        Block(100, 20.0 + 180.0 * (number % 2), 0, 0.5 * (number % 2), 5 + 5 * (1 - number % 2)) for number in range(80)
    ]
    assert heard(blocks, 1.0, 1.0).share == pytest.approx(0.25, abs=0.01)


def test_little_is_kept_where_no_reader_tells_what_it_finds() -> None:
    losses = EventLosses(Extent(1.0, 500.0))
    for number in range(100):
        losses.add((100 * number, 100 * number + 100), 1.0, 0, 0.25)
    assert len(losses._marks) < 10
    assert losses.share == pytest.approx(0.25)


def test_a_reader_that_begins_again_further_back_finds_the_same_again() -> None:
    losses = EventLosses(Extent(1.0, 1.0))
    losses.heard(0, 0)
    for number in range(40):
        losses.add((100 * number, 100 * number + 100), 10.0, 3, 0.25)
        losses.heard(100 * number + 100, 30 * number + 30)
    for position, found in ((2_000, 0), (3_000, 300), (4_000, 600), (4_000, 600)):
        losses.heard(position, found)
    assert losses.share == pytest.approx(0.25)


def test_a_reader_that_does_not_report_any_more_takes_no_more_room() -> None:
    losses = EventLosses()
    losses.add((0, 10), 10.0, 0, 0.0)
    losses.heard(10, 1.0)
    for begin in range(10, 200_000, 10):
        losses.add((begin, begin + 10), 10.0, 0, 0.5)
    assert len(losses._marks) <= 8_192
    losses.heard(200_000, 2.0)
    assert losses.share == pytest.approx(1 - 0.5**3, abs=0.01)
    assert len(losses._marks) < 10
