"""Utilities of partial matches (P5): worth by probability and time, one scale over queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.observations import FORKED
from saffron.engine.models.transitions.partial_match import partial_match_models
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions

PAPER = {(0, 0): 2, (0, 1): 1, (1, 1): 2, (1, 2): 1, (2, 2): 2, (2, 3): 1}


def model(query: str = "q", *, cost: int = 10, window: int = 10, events: bool = True) -> TransitionModel:
    counts = TransitionCounts(query, 1, 4, window, events, lived=0 if events else 6)
    for (source, target), count in PAPER.items():
        counts.add(source, target, count)
    if cost:
        counts.add_time(PAPER, cost * sum(PAPER.values()))
    return train_transitions(counts, (1, 0), {})


def test_the_papers_example_is_ordered_by_probability_over_time() -> None:
    """P(s3,1) = 1/3, P(s2,2) = 1/9, tau_3 = 3, 26/9, 19/9 at unit cost: U is their quotient, but for one factor."""
    learned = model()
    found = partial_match_models([learned])["q"]
    wanted = learned.completion / np.maximum(learned.remaining_ns, 1e-9)
    assert found.utility[:, :3] / found.utility[-1, 2] == pytest.approx(wanted[:, :3] / wanted[-1, 2])
    assert learned.remaining_ns[2, :3] / 10 == pytest.approx([3, 26 / 9, 19 / 9])
    assert found.bin_size == 1
    assert [found.loss[0, 2], found.loss[1, 1]] == pytest.approx([1 / 3, 1 / 9])


def timeless(measured: TransitionModel) -> TransitionModel:
    """The model without the times of its transitions."""
    return replace(measured, remaining_ns=np.zeros((0, measured.states)))


def test_of_two_queries_as_likely_the_dearer_is_worth_less_and_a_weight_makes_up_for_it() -> None:
    cheap, dear = model("cheap"), model("dear", cost=40)
    found = partial_match_models([cheap, dear])
    assert found["cheap"].utility[:, 1:3] == pytest.approx(4 * found["dear"].utility[:, 1:3])
    weighted = partial_match_models([cheap, dear], {"dear": 4.0})
    assert weighted["cheap"].utility[:, 1:3] == pytest.approx(weighted["dear"].utility[:, 1:3])
    assert (weighted["dear"].loss == dear.completion).all()
    blind = partial_match_models([timeless(cheap), timeless(dear)])
    assert (blind["cheap"].utility == blind["dear"].utility).all()


def test_the_mean_over_states_that_live_is_one() -> None:
    found = partial_match_models([timeless(model("one")), timeless(model("two", window=20))])
    means = [table.utility[:, 1:3].mean(axis=0) @ [3, 3] / 6 for table in found.values()]
    assert sum(means) / 2 == pytest.approx(1.0)


def test_what_costs_nothing_has_a_worth() -> None:
    free = model("free")
    free = replace(free, remaining_ns=np.zeros_like(free.remaining_ns))
    for found in (partial_match_models([free]), partial_match_models([free, model("q")])):
        assert np.isfinite(found["free"].utility).all()
        assert (found["free"].utility[:, 2] > 0).all()


def test_without_times_it_is_the_probability() -> None:
    learned = model(cost=0)
    found = partial_match_models([learned])["q"]
    assert found.utility / found.utility[-1, 2] == pytest.approx(learned.completion / learned.completion[-1, 2])
    assert partial_match_models([]) == {}


def test_runs_that_split_are_worth_all_their_matches() -> None:
    counts = TransitionCounts("any", 1, 3, 4, True)
    for source, target, count in ((0, 0, 5), (0, 1, 5), (1, 1, 10), (1, 2, 10), (1, FORKED, 10)):
        counts.add(source, target, count)
    learned = train_transitions(counts, (1, 0), {})
    assert learned.met == (10, 10, 0)
    assert learned.expected[:, 1].tolist() == [1, 2, 3, 4]
    assert learned.completion[:, 1].tolist() == [0.5, 0.75, 0.875, 0.9375]
    assert partial_match_models([learned])["any"].loss[2, 1] == 3


def test_the_body_is_what_an_order_carries() -> None:
    found = partial_match_models([model(window=600, events=False)])["q"]
    assert found.body().keys() == {"utility", "loss", "bin", "per_ms", "lift"}
    assert found.body()["per_ms"] == pytest.approx(1.0)
