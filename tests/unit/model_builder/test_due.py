"""What is published of partial matches: models become right however rarely they advance, and rest where none moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.models.transitions.ages import A_BIN, AGES, FOLDS, SHARES
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.trainer import TransitionCounts, chain_of, train_transitions
from saffron.model_builder import due
from saffron.model_builder.batch import train
from saffron.model_builder.books import Books
from saffron.model_builder.cell_sums import FOLLOWED, TRANSITION, Row
from saffron.model_builder.decay import decay
from saffron.model_builder.policy import Policy

STATES, WINDOW, EACH, RARE = 11, 8000, 200, 1e-3
"""A batch has `EACH` observations of each of ten states, each of which advances with probability `RARE`."""
BASE = Row("t", 0, TRANSITION, "q", 1, "events", STATES, WINDOW, True, 0, 0, 0, 0, 0, 1, 10)
STATE, EVERY = 5, range(FOLDS * AGES)
"""The state of partial matches that are followed, and all ages at which they are noted."""
Advanced = Iterable[int]


class Builder:
    """The books and what is published of them, batch by batch."""

    def __init__(self, seed: int = 0, half_life: int = 10_000) -> None:
        self.policy = Policy(half_life=half_life)
        self.books = Books()
        self.published: list[TransitionModel] = []
        self.rng = np.random.default_rng(seed)

    def batch(self, rows: Iterable[Row]) -> None:
        self.books.add(self.books.batch + 1, rows)
        decay(self.books, self.policy)
        models = train(self.books, (1, self.books.batch), self.policy)
        self.published += [model for model in models if isinstance(model, TransitionModel)]

    def observe(self, batches: int, p: float, clump: int = 1) -> None:
        """`clump`: so many partial matches of a state do the same."""
        for _ in range(batches):
            self.batch(rows_of((clump * self.rng.binomial(EACH // clump, p, STATES - 1)).tolist()))

    def follow(self, batches: int, likely: Callable[[int], bool]) -> None:
        """Ten partial matches of each age that were followed: those of a `likely` one match as the chain has it,
        others a tenth as often."""
        chance = np.repeat(chain_of(truth(RARE)).expected[:, STATE], A_BIN)
        for _ in range(batches):
            found = [self.rng.binomial(10, chance[age % AGES] * (1.0 if likely(age) else 0.1)) for age in EVERY]
            sums = [(age, int(n) * SHARES) for age, n in zip(EVERY, found, strict=True)]
            self.batch([replace(BASE, kind=FOLLOWED, a=STATE, b=age, count=10, time=n) for age, n in sums])

    @property
    def in_force(self) -> float:
        """What it says of a partial match that has just begun."""
        return begun(self.published[-1])


def rows_of(advanced: Advanced) -> list[Row]:
    rows = []
    for state, count in enumerate(advanced):
        rows.append(replace(BASE, a=state, b=state, count=EACH - count))
        rows += [replace(BASE, a=state, b=state + 1, count=count)] if count else []
    return rows


def truth(p: float) -> TransitionCounts:
    counts = TransitionCounts("q", 1, STATES, WINDOW, True)
    for state in range(STATES - 1):
        counts.add(state, state, round(1e9 * (1 - p)))
        counts.add(state, state + 1, round(1e9 * p))
    return counts


def begun(model: TransitionModel) -> float:
    """How likely a partial match that has just begun completes."""
    return float(model.completion[-1, 1])


def true(p: float) -> float:
    return begun(train_transitions(truth(p), (1, 0), {}))


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
    assert builder.in_force == pytest.approx(begun(train_transitions(counts, (1, 0), {})), rel=0.15)


@pytest.mark.parametrize("clump", [1, 10])
@pytest.mark.parametrize("seed", range(3))
def test_of_a_stream_that_stays_as_it_is_models_are_few(seed: int, clump: int) -> None:
    builder = Builder(seed)
    builder.observe(1024, RARE, clump)
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


# ------------------------------------------------------------ what age adds


def test_what_age_adds_is_published_though_the_matrix_stays_as_it_is() -> None:
    """Partial matches are followed to the end of their windows: where these are long the matrix is known by then."""
    builder = Builder()
    builder.observe(64, RARE)
    count = len(builder.published)
    assert not len(builder.published[-1].lift)
    builder.follow(1, lambda age: age % 2 == 1)
    assert len(builder.published) == count + 1
    lift = builder.published[-1].lift[STATE]
    assert lift[-31::2].mean() > 1.5 * lift[-32::2].mean()


def test_factors_that_stay_as_they_are_are_published_when_twice_as_many_were_followed() -> None:
    builder = Builder()
    builder.observe(64, RARE)
    count = len(builder.published)
    builder.follow(32, lambda age: age % 2 == 1)
    assert len(builder.published) - count <= 1 + np.log2(32) + 2


def test_factors_that_have_moved_are_published_before() -> None:
    builder = Builder()
    builder.observe(64, RARE)
    builder.follow(16, lambda age: age % 2 == 1)
    count, before = len(builder.published), builder.published[-1].lift[STATE]
    builder.follow(8, lambda age: age % 2 == 0)
    assert len(builder.published) > count
    assert builder.published[-1].lift[STATE, -32::2].mean() > 2 * before[-32::2].mean()


# ------------------------------------------------------------ history


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_stream_is_followed_within_two_half_lives_however_long_it_was_another(seed: int) -> None:
    builder = Builder(seed, half_life=100)
    builder.observe(2000, RARE)
    builder.observe(200, 2 * RARE)
    forward = builder.published[-1].matrix.diagonal(1)
    assert forward.mean() == pytest.approx(1.75 * RARE, rel=0.1), "three quarters of what is remembered are of now"


def test_once_in_a_half_life_a_model_is_made_anew_in_any_case() -> None:
    builder = Builder(half_life=16)
    builder.observe(160, RARE)
    versions = [model.version[1] for model in builder.published]
    assert {15, 31, 47, 63, 79, 95, 111, 127, 143, 159} <= set(versions)
