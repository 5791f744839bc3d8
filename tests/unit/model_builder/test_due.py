"""What is published of partial matches: models become right however rarely they advance, and rest where none moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.models.model import TransitionModel
from saffron.engine.models.trainer import TransitionCounts, train_transitions
from saffron.model_builder import due
from saffron.model_builder.batch import train
from saffron.model_builder.books import Books
from saffron.model_builder.policy import Policy
from saffron.model_builder.rows import TRANSITION, Row

STATES, WINDOW, EACH, RARE = 11, 8000, 200, 1e-3
"""A batch has `EACH` observations of each of ten states, each of which advances with probability `RARE`."""
BASE = Row("t", 0, TRANSITION, "q", 1, "events", STATES, WINDOW, True, 0, 0, 0, 0, 0, 1, 10)
Advanced = Iterable[int]


class Builder:
    """The books and what is published of them, batch by batch."""

    def __init__(self, seed: int = 0) -> None:
        self.books = Books()
        self.published: list[TransitionModel] = []
        self.rng = np.random.default_rng(seed)

    def batch(self, rows: Iterable[Row]) -> None:
        self.books.add(self.books.batch + 1, rows)
        models = train(self.books, (1, self.books.batch), Policy())
        self.published += [model for model in models if isinstance(model, TransitionModel)]

    def observe(self, batches: int, p: float) -> None:
        for _ in range(batches):
            self.batch(rows_of(self.rng.binomial(EACH, p, STATES - 1).tolist()))

    @property
    def in_force(self) -> float:
        """What it says of a partial match that has just begun."""
        return self.published[-1].probability(1, WINDOW)


def rows_of(advanced: Advanced) -> list[Row]:
    rows = []
    for state, count in enumerate(advanced):
        rows.append(replace(BASE, a=state, b=state, count=EACH - count))
        rows += [replace(BASE, a=state, b=state + 1, count=count)] if count else []
    return rows


def true(p: float) -> float:
    counts = TransitionCounts("q", 1, STATES, WINDOW, True)
    for state in range(STATES - 1):
        counts.add(state, state, round(1e9 * (1 - p)))
        counts.add(state, state + 1, round(1e9 * p))
    return train_transitions(counts, (1, 0), {}).probability(1, WINDOW)


@pytest.mark.parametrize("seed", range(6))
def test_a_first_model_of_few_observations_becomes_right(seed: int) -> None:
    builder = Builder(seed)
    builder.batch(rows_of([0] * (STATES - 1)))
    assert builder.in_force == 0.0, "nothing advanced so far"
    builder.observe(600, RARE)
    assert builder.in_force == pytest.approx(true(RARE), abs=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_a_doubling_is_published_long_before_observations_have_doubled(seed: int) -> None:
    """Within 60 batches, though the matrices are nearer each other than a mean squared error of 1e-6."""
    builder = Builder(seed)
    builder.observe(129, RARE)
    before, count = builder.in_force, len(builder.published)
    builder.observe(60, 2 * RARE)
    assert len(builder.published) > count
    assert builder.in_force > 1.2 * before
    builder.observe(140, 2 * RARE)
    counts = builder.books.queries["q"].counts
    assert builder.in_force == pytest.approx(train_transitions(counts, (1, 0), {}).probability(1, WINDOW), rel=0.15)


@pytest.mark.parametrize("seed", range(6))
def test_of_a_stream_that_stays_as_it_is_models_are_few(seed: int) -> None:
    builder = Builder(seed)
    builder.observe(1024, RARE)
    assert len(builder.published) <= 2 * np.log2(1024)


def test_a_state_that_is_reached_late_is_learned_before_all_observations_have_doubled() -> None:
    builder = Builder()
    waiting = replace(BASE, a=1, b=1, count=100_000)
    builder.batch([waiting])
    builder.batch([replace(waiting, count=1000)])
    assert len(builder.published) == 1
    builder.batch([replace(BASE, a=9, b=9, count=60), replace(BASE, a=9, b=10, count=60)])
    assert [model.matrix[9, 10] for model in builder.published] == [0.0, 0.5]


def test_no_table_is_computed_where_nothing_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder()
    builder.observe(64, RARE)
    monkeypatch.setattr(due, "chain_of", lambda counts: pytest.fail("computed"))
    builder.observe(30, RARE)
