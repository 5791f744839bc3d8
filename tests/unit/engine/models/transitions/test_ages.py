"""Ages of partial matches: their bins, what more comes of them, and how much is to be learned from what was seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.models.transitions import ages as module
from saffron.engine.models.transitions.ages import A_BIN, AGES, FOLDS, LEFT_BINS, MOST_STATES, SHARES, ages, lifts
from saffron.engine.models.transitions.model import TransitionModel, decode
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.records.envelope import ModelError, seal, unseal
from tests.reference import ages as reference

FLAT = np.full((LEFT_BINS, 3), 0.25)


@given(st.integers(1, 10**9), st.data())
def test_ages_are_those_of_the_definition(window: int, data: st.DataObject) -> None:
    left, waited = data.draw(st.integers(0, window)), data.draw(st.integers(0, 2 * window))
    matched = data.draw(st.booleans())
    found = ages(np.array([left]), np.array([waited]), np.array([matched]), window)
    assert found.tolist() == [reference.age(left, waited, matched, window)]
    assert 0 <= found[0] < AGES


def seen(lift: dict[int, float], number: int = 4000, *, fold: int = -1) -> dict[tuple[int, int], tuple[int, int]]:
    """Tracked ones of state 1, matching by so much more than a quarter by age; in both halves of the stream or one."""
    folds = range(FOLDS) if fold < 0 else [fold]
    return {
        (1, f * AGES + age): (number, round(number * 0.25 * factor) * SHARES)
        for f in folds
        for age, factor in lift.items()
    }


def test_what_is_alike_in_both_halves_of_the_stream_is_learned() -> None:
    wanted = {A_BIN * 3: 0.1, A_BIN * 3 + 4: 2.0, A_BIN * 9: 0.5, A_BIN * 9 + 4: 3.0}
    lift = lifts(seen(wanted), FLAT, most=1.0)
    for age, factor in wanted.items():
        assert lift[1, age] == pytest.approx(factor, rel=0.05)
    assert (lift[0] == 1).all()


def test_what_only_one_half_shows_is_not_learned() -> None:
    one = seen({0: 3.0, 8: 0.1, 16: 2.0}, fold=0)
    other = seen({0: 0.1, 8: 3.0, 16: 0.3}, fold=FOLDS // 2)
    lift = lifts(one | other, FLAT, most=1.0)
    assert lift.shape == (0, AGES)


def test_nothing_followed_or_too_many_states_make_no_table() -> None:
    assert lifts({}, FLAT, most=1.0).shape == (0, AGES)
    assert len(lifts(seen({0: 3.0}), np.full((LEFT_BINS, MOST_STATES + 1), 0.25), most=1.0)) == 0


def test_a_probability_stays_one() -> None:
    lift = lifts(seen({0: 3.9, 8: 0.2}), np.full((LEFT_BINS, 3), 0.5), most=1.0)
    assert (lift * 0.5 <= 1.0).all()
    assert (lifts(seen({0: 40.0, 8: 0.2}), FLAT, most=1e12) * 0.25 > 1.0).any()


def test_levels_are_learned_as_the_definition_says() -> None:
    random = np.random.default_rng(4)
    for beside in (2.0, 32.0):
        number, matches = random.integers(0, 50, (1, LEFT_BINS, A_BIN)), random.exponential(9, (1, LEFT_BINS, A_BIN))
        expected = random.random(LEFT_BINS)
        chain = np.broadcast_to(expected[None, :, None], number.shape)
        found = module._learned(number.astype(float), matches, chain, beside)
        cells = {
            (k, g): (int(number[0, k, g]), float(matches[0, k, g])) for k in range(LEFT_BINS) for g in range(A_BIN)
        }
        for (k, g), factor in reference.lift(cells, expected.tolist(), beside).items():
            assert found[0, k, g] == pytest.approx(factor)


def counts_of(followed: dict[tuple[int, int], tuple[int, int]]) -> TransitionCounts:
    counts = TransitionCounts("q", 1, 3, 100, True)
    for source, target, count in ((0, 1, 50), (1, 1, 900), (1, 2, 10)):
        counts.add(source, target, count)
    for cell, sums in followed.items():
        assert counts.add_followed(*cell, *sums)
    return counts


def test_sums_of_parts_are_the_model_of_the_whole_and_half_is_forgotten() -> None:
    one, other = seen({0: 0.2, 60: 3.0}, 900), seen({0: 0.3, 33: 2.0}, 500)
    whole = counts_of(one)
    for cell, sums in other.items():
        whole.add_followed(*cell, *sums)
    backwards = counts_of(other)
    for cell, sums in one.items():
        backwards.add_followed(*cell, *sums)
    model = train_transitions(whole, (1, 0), {})
    assert model.encode() == train_transitions(backwards, (1, 0), {}).encode()
    assert len(model.lift) == 3
    whole.halve()
    assert whole.followed[1, 0] == ((900 + 500) // 2, (45 + 38) * SHARES // 2)


@pytest.mark.parametrize(
    "wrong", [(0, 0, 5, 1), (2, 0, 5, 1), (1, -1, 5, 1), (1, FOLDS * AGES, 5, 1), (1, 0, 0, 1), (1, 0, 5, -1)]
)
def test_counts_that_cannot_be_are_refused(wrong: tuple[int, int, int, int]) -> None:
    counts = counts_of({})
    assert not counts.add_followed(*wrong)
    assert counts.followed == {}


def test_a_model_of_before_has_no_factors_and_wrong_ones_are_refused() -> None:
    model = train_transitions(counts_of(seen({0: 0.2, 60: 3.0}, 900)), (1, 0), {})
    again = decode(model.encode())
    assert isinstance(again, TransitionModel)
    assert (again.lift == model.lift).all()
    content = unseal(model.encode())
    content["model"]["lift"] = [[1.0] * 5] * 3
    with pytest.raises(ModelError, match=r"\(3, 5\) states and ages, for 3 of 128"):
        decode(seal(content))
    del content["model"]["lift"]
    older = decode(seal(content))
    assert isinstance(older, TransitionModel)
    assert older.lift.shape == (0, AGES)
