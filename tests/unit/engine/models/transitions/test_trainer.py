"""The trainer: counts in, models out; windows in time become events."""

from __future__ import annotations

import pytest

from saffron.engine.models.transitions.model import LONGEST_WINDOW
from saffron.engine.models.transitions.trainer import MOST_BINS, TransitionCounts, train_latency, train_transitions

PAPER = {(0, 0): 2, (0, 1): 1, (1, 1): 2, (1, 2): 1, (2, 2): 2, (2, 3): 1}


def counts_of(window: int, *, events: bool = True, lived: int = 0) -> TransitionCounts:
    counts = TransitionCounts("q", 1, 4, window, events, lived=lived)
    for (source, target), count in PAPER.items():
        assert counts.add(source, target, count)
    return counts


def test_the_papers_example_end_to_end() -> None:
    model = train_transitions(counts_of(10), (1, 0), {})
    assert model.bin_size == 1
    assert model.completion.shape == (10, 4)
    assert model.completion[-1, 0] == pytest.approx(13795 / 19683)
    assert model.observations == 9
    assert model.remaining_ns.shape == (0, 4)


def test_measured_times_give_processing_times() -> None:
    counts = counts_of(3)
    counts.add_time(PAPER, 7 * sum(PAPER.values()))
    model = train_transitions(counts, (1, 0), {})
    assert model.remaining_ns[2] == pytest.approx([7 * 3, 7 * 26 / 9, 7 * 19 / 9, 0])


@pytest.mark.parametrize("window", [1, 2, 127, 128, 129, 1000, 10_001])
def test_bins_cover_the_window_and_stay_few(window: int) -> None:
    model = train_transitions(counts_of(window), (1, 0), {})
    bins = len(model.completion)
    assert bins <= MOST_BINS
    assert (bins - 1) * model.bin_size < window <= bins * model.bin_size


def test_a_window_in_time_is_as_long_as_the_events_a_partial_match_meets_in_it() -> None:
    # Partial matches met 6 events in 600 ms of their life (3 more met state 0): 1 in 100 ms, so 50 in 5 s.
    assert train_transitions(counts_of(5000, events=False, lived=600), (1, 0), {}).expected_events == 50
    assert not counts_of(5000, events=False).is_trainable
    assert counts_of(5000).is_trainable
    assert counts_of(10**15, events=False, lived=1).expected_events() == LONGEST_WINDOW
    assert counts_of(5, events=False, lived=10**9).expected_events() == 1


def test_what_the_automaton_has_not_is_not_counted() -> None:
    counts = counts_of(10)
    before = dict(counts.cells)
    for wrong in ((4, 0, 1), (-1, 0, 1), (0, 4, 1), (0, -3, 1), (0, 0, 0), (0, 0, -3)):
        assert not counts.add(*wrong)
    assert counts.cells == before
    assert counts.add(0, -1, 1)


@pytest.mark.parametrize(("states", "window"), [(1, 10), (0, 10), (5000, 10), (3, 0), (3, -1)])
def test_sizes_out_of_bounds_are_not_sane(states: int, window: int) -> None:
    assert not TransitionCounts("q", 1, states, window, True).is_sane


def test_halving_keeps_integers_and_drops_what_is_nothing() -> None:
    counts = TransitionCounts("q", 1, 3, 10, True, events=9, lived=5)
    counts.cells = {(0, 0): 9, (0, 1): 1}
    counts.halve()
    assert (counts.events, counts.lived, counts.cells) == (4, 2, {(0, 0): 4})


def test_latency_functions_are_fitted_by_kind() -> None:
    model = train_latency("events", [[10, 0, 100], [10, 1000, 2100], [10, 2000, 4100]], [], (3, 4), {})
    assert model.processing is not None
    assert model.processing(100) == pytest.approx(210)
    assert model.shedding is None
    assert model.observations == 30
