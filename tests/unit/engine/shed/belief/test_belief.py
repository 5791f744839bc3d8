"""Learned orders are believed as far as trials have proved them right, and no longer than these do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials, gain
from saffron.engine.shed.belief.belief import Belief, Counted
from saffron.engine.shed.belief.beliefs import Beliefs
from saffron.engine.shed.belief.event_trials import EventTrials
from tests.reference import belief as reference

GAINS = st.floats(-2, 1).filter(lambda one: abs(one) > 1e-3)


def believed(gains: Sequence[float], before: Sequence[float] = ()) -> float:
    """After these trials of a reader, and those that a model brings."""
    model = sum((Trials.of(one) for one in before), Trials())
    return reduce(lambda own, one: own.after(Trials.of(one)), gains, Belief()).share(model)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 3)), max_size=30))
def test_a_gain_is_that_of_its_twin(rows: list[tuple[int, int, int]]) -> None:
    rows = [row for row in rows if row[1]]
    worth, time, matches = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    found = gain(*(np.array(column, np.float64) for column in (worth, time, matches)))
    expected = reference.gain([float(one) for one in worth], time, matches)
    assert found == (None if expected is None else pytest.approx(expected))


def test_an_order_gains_all_nothing_or_loses() -> None:
    worth, time = np.arange(100.0), np.ones(100)
    matches = (worth >= 50).astype(np.float64)
    assert gain(worth, time, matches) == pytest.approx(1.0)
    assert gain(np.zeros(100), time, matches) == pytest.approx(0.0)
    assert gain(-worth, time, matches) == pytest.approx(-1.0)


@given(st.lists(GAINS, max_size=12))
def test_belief_is_that_of_its_twin(gains: list[float]) -> None:
    assert believed(gains) == pytest.approx(reference.belief(gains), abs=1 / 16 + 1e-9)


@given(st.lists(GAINS, min_size=1, max_size=12))
def test_trials_told_together_count_by_their_mean(gains: list[float]) -> None:
    mean = sum(gains) / len(gains)
    together = Belief().after(sum((Trials.of(mean) for _ in gains), Trials()))
    one_by_one = reduce(lambda own, _: own.after(Trials.of(mean)), gains, Belief())
    assert together.gains == pytest.approx(one_by_one.gains)
    assert together.squares == pytest.approx(one_by_one.squares)


@given(st.integers(3, 40), st.floats(0.05, 1), st.floats(1, 3))
def test_a_regime_change_ends_belief_within_three_trials(count: int, right: float, times: float) -> None:
    """Where the order is as bad then as it was good, or worse, whoever had tried it before."""
    assert believed([-times * right] * 3, [right] * count) == 0.0
    assert believed([right] * count + [-times * right] * 3) == 0.0


def test_few_trials_prove_nothing() -> None:
    assert believed([]) == believed([1.0]) == 0.0
    assert believed([1.0, 1.0]) < 0.5
    assert believed([1.0] * 4) > 0.8
    assert believed([], [1.0] * 6) == 1.0


def test_chance_is_seldom_believed() -> None:
    random = np.random.default_rng(0)
    shares = [believed(random.normal(0.0, 0.3, 20).tolist()) for _ in range(2_000)]
    assert np.mean(np.array(shares) >= 0.5) < 0.1


def test_a_reader_that_begins_again_counts_anew() -> None:
    counted = Counted()
    assert counted.grown(Trials(2, 1.0, 0.5)) == Trials(2, 1.0, 0.5)
    assert counted.grown(Trials(2, 1.0, 0.5)) == Trials()
    assert counted.grown(Trials(3, 0.5, 0.75)) == Trials(1, -0.5, 0.25)
    assert counted.grown(Trials(1, 0.25, 0.0625)) == Trials(1, 0.25, 0.0625)


def tried(matches: Sequence[Sequence[int]], goes: np.ndarray, window: float = 50.0) -> Trials:
    """Of an order that would drop these of 200 events, told of all matches at once."""
    trials = EventTrials()
    for begin in range(0, 200, 10):
        trials.saw(np.arange(begin, begin + 10), goes[begin : begin + 10], 200.0)
    return trials.add_report(len(matches), matches, window)


def test_an_order_of_events_is_tried_on_matches() -> None:
    odd = np.arange(200) % 2 == 1
    even_matches = [[10 * i, 10 * i + 4] for i in range(20)]
    odd_matches = [[10 * i + 1, 10 * i + 3] for i in range(20)]
    assert tried(even_matches, odd) == Trials.of(1.0)
    assert tried(odd_matches, odd).gains == pytest.approx(1 - 1 / 0.75)
    assert tried(odd_matches[: int(LEAST_MATCHES) - 1], odd) == Trials()
    assert tried(odd_matches, odd, window=500.0) == Trials()


def test_matches_that_begin_before_what_is_remembered_are_not_tried() -> None:
    trials = EventTrials()
    for begin in range(0, 4_000, 10):
        trials.saw(np.arange(begin, begin + 10), np.ones(10, np.bool_), 50.0)
    assert trials.add_report(40, [[100 + i, 3_999] for i in range(40)], 50.0) == Trials()
    assert trials.add_report(80, [[3_950, 3_999]] * 40, 50.0) == Trials.of(0.0)
    assert trials.add_report(80, [[3_950, 3_999]] * 40, 50.0) == Trials()


def test_a_query_that_begins_anew_is_believed_anew() -> None:
    beliefs = Beliefs()
    beliefs.heard({"trials": {"q": [6, 6.0, 6.0]}})
    assert beliefs._of("q").partial.share(Trials()) == 1.0
    beliefs.forget("q")
    assert beliefs._of("q").partial.share(Trials()) == 0.0
