"""Completion probability and processing time against the paper's example and the exact twin (P3, P4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saffron.engine.models.transitions import markov
from tests.reference import markov as twin

# seq(A; B; C) over uniform types: each state moves on with 1/3 (P3, the example of pSPICE).
PAPER = {(0, 0): 2, (0, 1): 1, (1, 1): 2, (1, 2): 1, (2, 2): 2, (2, 3): 1}
UNIT = np.ones(4)


@pytest.mark.parametrize(
    ("state", "remaining", "expected"),
    [(2, 1, Fraction(1, 3)), (1, 2, Fraction(1, 9)), (0, 3, Fraction(1, 27)), (0, 10, Fraction(13795, 19683))],
)
def test_completion_of_the_papers_example(state: int, remaining: int, expected: Fraction) -> None:
    exact = twin.transition_matrix(PAPER, 4)
    table = markov.completion_table(markov.transition_matrix(PAPER, 4), 1, 10)
    assert table[remaining - 1, state] == pytest.approx(float(twin.completion(exact, state, remaining)), abs=1e-15)
    assert twin.completion(exact, state, remaining) == expected


def test_processing_time_of_the_papers_example() -> None:
    exact = twin.transition_matrix(PAPER, 4)
    cost = [[Fraction(1)] * 4 for _ in range(4)]
    table = markov.remaining_time_table(markov.transition_matrix(PAPER, 4), UNIT, 1, 3)
    expected = [Fraction(3), Fraction(26, 9), Fraction(19, 9)]
    assert [twin.remaining_time(exact, cost, state, 3) for state in range(3)] == expected
    assert table[2, :3] == pytest.approx([float(value) for value in expected])
    assert table[2, 3] == 0.0


counts = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(-1, 3)), st.integers(1, 1000), min_size=1, max_size=12
)


@settings(max_examples=80, deadline=None)
@given(counts=counts, bin_size=st.integers(1, 7), bins=st.integers(1, 6))
def test_tables_equal_the_exact_twin(counts: dict[tuple[int, int], int], bin_size: int, bins: int) -> None:
    exact = twin.transition_matrix(counts, 4)
    matrix = markov.transition_matrix(counts, 4)
    assert matrix == pytest.approx(np.array(exact, dtype=float))
    completion = markov.completion_table(matrix, bin_size, bins)
    cost = np.arange(16.0).reshape(4, 4)
    remaining = markov.remaining_time_table(matrix, (matrix * cost).sum(axis=1), bin_size, bins)
    exact_cost = [[Fraction(4 * row + column) for column in range(4)] for row in range(4)]
    for row in range(bins):
        events = (row + 1) * bin_size
        for state in range(4):
            assert completion[row, state] == pytest.approx(float(twin.completion(exact, state, events)), abs=1e-12)
            wanted = float(twin.remaining_time(exact, exact_cost, state, events))
            assert remaining[row, state] == pytest.approx(wanted, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(counts=counts, extra=st.lists(st.integers(0, 90), min_size=4, max_size=4), bins=st.integers(1, 3))
@example(counts={(0, 0): 45, (0, 3): 46}, extra=[90, 0, 0, 0], bins=3)  # 91 successors: 91^6 is below `MOST`
def test_expected_matches_of_runs_that_split_equal_the_exact_twin(
    counts: dict[tuple[int, int], int], extra: list[int], bins: int
) -> None:
    leaving = [sum(count for (source, _), count in counts.items() if source == state) for state in range(4)]
    met = [max(min(total, 1), total - split) for total, split in zip(leaving, extra, strict=True)]
    succession = markov.succession_matrix(counts, met)
    table = markov.matches_table(succession, 2, bins)
    for row in range(bins):
        for state in range(4):
            wanted = float(twin.matches(counts, met, state, 2 * (row + 1)))
            assert table[row, state] == pytest.approx(wanted, rel=1e-9)
    if met == leaving:
        assert table == pytest.approx(markov.completion_table(markov.transition_matrix(counts, 4), 2, bins))


def test_runs_that_split_without_end_stay_numbers() -> None:
    succession = markov.succession_matrix({(0, 0): 10, (0, 1): 10, (1, 1): 30, (1, 2): 3}, [10, 10, 0])
    matches = markov.matches_table(succession, 1000, 100)
    times = markov.remaining_time_table(succession, np.ones(3), 1000, 100)
    assert matches[-1, 0] == times[-1, 0] == markov.MOST
    assert (np.diff(matches[:, 1]) >= 0).all()


@pytest.mark.parametrize("remaining", [0, 1, 2, 3, 4, 5, 7, 9, 11, 12])
def test_lookup_is_linear_between_bins_and_starts_at_zero(remaining: int) -> None:
    exact = twin.transition_matrix(PAPER, 4)
    table = markov.completion_table(markov.transition_matrix(PAPER, 4), 4, 3)
    for state in range(4):
        found = markov.lookup(table, 4, state, remaining)
        expected = Fraction(0) if remaining == 0 else twin.interpolated(exact, state, Fraction(remaining), 4)
        assert found == pytest.approx(float(expected))


def test_lookup_beyond_the_window_is_the_last_bin() -> None:
    table = markov.completion_table(markov.transition_matrix(PAPER, 4), 4, 3)
    assert markov.lookup(table, 4, 0, 1e9) == table[-1, 0]


def test_a_state_never_seen_stays_and_a_death_completes_nothing() -> None:
    matrix: Any = markov.transition_matrix({(0, -1): 1, (0, 2): 1}, 3)
    assert matrix.tolist() == [[0.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert markov.completion_table(matrix, 5, 1)[0].tolist() == [0.5, 0.0, 1.0]


def test_the_shortest_way_to_a_match_counts_its_events() -> None:
    assert markov.steps(markov.transition_matrix(PAPER, 4)) == 3
    either = {(0, 0): 1, (1, 1): 5, (1, 2): 1, (2, 5): 1, (1, 3): 1, (3, 4): 1, (4, 5): 1}
    assert markov.steps(markov.transition_matrix(either, 6)) == 3, "the shorter alternative"
    assert markov.steps(markov.transition_matrix({(1, 1): 1}, 4)) == 3, "nothing was ever seen to match"
