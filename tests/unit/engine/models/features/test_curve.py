"""Thresholds: any share of events is reached, and what is lost is what counting match by match says (G6)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from saffron.engine.models.events.position_curve import position_curve, position_table
from saffron.engine.models.features.curve import STEPS, Curve, curve_of
from saffron.engine.models.features.feature_counts import WEIGHT, Half
from saffron.engine.models.features.list_sample import Lists
from saffron.engine.shed.drops.rates import rates_at
from saffron.experiments.kind_rates import kind_rates
from tests.reference import thresholds as twin


def some(seed: int, *, keys: int, values: int) -> tuple[dict[int, float], dict[int, int], Lists, Lists]:
    rng = random.Random(seed)
    utility = {key: rng.randrange(values) / values for key in range(keys)}
    counts = {key: rng.choice((1, 5, 100)) for key in range(keys)}
    matches = {tuple(sorted(rng.choices(range(keys), k=rng.randrange(1, 5)))): rng.randrange(1, 9) for _ in range(60)}
    abandoned = {tuple(rng.choices(range(keys), k=rng.randrange(1, 4))): rng.randrange(1, 9) for _ in range(30)}
    return utility, counts, matches, abandoned


def probabilities(curve: Curve, share: float, utility: dict[int, float]) -> dict[int, float]:
    """With which an event of each key is dropped, as `Cut` says."""
    cut, values = curve.at(share), np.array(list(utility.values()))
    found = np.where(values < cut.lower, 1.0, np.where(values <= cut.upper, cut.ties, 0.0))
    return dict(zip(utility, found.tolist(), strict=True))


@pytest.mark.parametrize(("seed", "keys", "values"), [(1, 20, 1), (2, 20, 3), (3, 30, 30), (4, 300, 1000), (5, 2, 2)])
def test_shares_and_losses_are_those_of_each_match(seed: int, keys: int, values: int) -> None:
    utility, counts, matches, abandoned = some(seed, keys=keys, values=values)
    curve = curve_of(utility, counts, matches, abandoned)
    highest = 0.0
    for point, share in enumerate(curve.share.tolist()):
        gone = probabilities(curve, share, utility)
        assert twin.share(counts, gone) == pytest.approx(share)
        assert curve.lost[point] == pytest.approx(twin.lost(matches, gone))
        highest = max(highest, twin.false(abandoned, gone, sum(matches.values())))
        assert curve.false[point] == pytest.approx(highest)
    for share in np.random.default_rng(seed).random(50).tolist():
        gone = probabilities(curve, share, utility)
        assert twin.share(counts, gone) == pytest.approx(share)
        assert curve.at(share).lost == pytest.approx(twin.lost(matches, gone), abs=0.05)


def test_levels_are_few_and_the_ends_are_nothing_and_everything() -> None:
    utility, counts, matches, abandoned = some(6, keys=5000, values=100_000)
    curve = curve_of(utility, counts, matches, abandoned)
    assert len(curve.end) <= 2 * STEPS
    assert len(curve.share) <= 3 * STEPS
    for share, wanted in ((-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (7.0, 1.0)):
        gone = probabilities(curve, share, utility)
        assert set(gone.values()) == {wanted}
    assert (np.diff(curve.lost) >= 0).all()


def test_without_events_or_matches_nothing_is_lost() -> None:
    empty = curve_of({}, {}, {}, {})
    assert probabilities(empty, 0.5, {1: 0.0, 2: 1.0}) == {1: 0.0, 2: 0.0}
    assert curve_of({1: 0.5}, {1: 4}, {}, {}).at(0.5).lost == 0.0


@pytest.mark.parametrize("seed", range(40))
def test_rates_are_inverse_to_utility_and_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frequency = rng.random(6) * (rng.random(6) < 0.8) + 1e-12
    frequency /= frequency.sum()
    utility = rng.choice([0.0, 0.1, 0.2, 1.0, 5.0], 6)
    for share in (0.0, 0.05, 0.3, 0.7, 0.99, 1.0):
        rates = rates_at(share, frequency, utility)
        assert ((rates >= 0) & (rates <= 1 + 1e-12)).all()
        assert rates @ frequency == pytest.approx(share, abs=1e-9)
        partly = (rates < 1 - 1e-9) & (utility > 0)
        factors = (rates * utility)[partly]
        assert factors == pytest.approx(np.full(len(factors), factors.max(initial=0.0)))
        if factors.any():
            assert (rates[utility == 0] == 1).all()
            assert (utility[(rates >= 1 - 1e-9)] <= factors.max() + 1e-9).all()


def test_losses_of_rates_are_those_of_each_match() -> None:
    rng = random.Random(7)
    kinds = {key: key % 4 for key in range(40)}
    half = Half()
    half.add(
        {
            "occurrences": {key: rng.randrange(1, 50) for key in range(40)},
            "matches": [rng.choices([key for key in range(40) if key % 4 != 3], k=3) for _ in range(30)],
        }
    )
    for _ in range(10):
        half.abandoned.add(tuple(rng.choices(range(40), k=2)), WEIGHT)
    found = kind_rates(half, kinds, 5)
    assert found.frequency.sum() == pytest.approx(1.0)
    highest = 0.0
    for point in range(257):
        cut = found.at(point / 256)
        gone = {key: float(cut.rates[kind]) for key, kind in kinds.items()}
        assert cut.share == pytest.approx(twin.share(half.occurrences, gone))
        assert cut.lost == pytest.approx(twin.lost(half.matches.lists(), gone))
        highest = max(highest, twin.false(half.abandoned.lists(), gone, sum(half.matches.lists().values())))
        assert cut.false == pytest.approx(highest)


def test_of_two_kinds_that_a_match_needs_the_frequent_one_goes_first() -> None:
    half = Half()
    half.add({"occurrences": {1: 90, 2: 10}, "matches": [[1, 2]] * 10})
    found = kind_rates(half, {1: 0, 2: 1}, 3)
    assert found.at(0.3).rates[0] > 3 * found.at(0.3).rates[1]
    assert found.at(0.3).lost < 0.4


def test_positions_without_matches_go_first() -> None:
    half = Half()
    half.add({"positions": [[0, 0, 8, 10], [0, 1, 0, 10], [1, 1, 8, 80]], "matches": [[1, 2]] * 8})
    table = position_table(half.positions, 3)
    assert table[:2].ravel() == pytest.approx([0.8, 0.0, np.nan, 0.1], nan_ok=True)
    curve = position_curve(half, table, np.full(3, np.nan), 0.2, {})
    assert curve.at(0.1).lost == 0.0
    assert curve.at(0.9).lost == pytest.approx(1 - (1 - 0.5) ** 2)
    assert curve.at(1.0).lost == 1.0


def test_of_positions_that_nothing_was_learned_of_the_kind_is_known() -> None:
    """Learned elsewhere: there nothing had come at the second position, and the first kind was worth 0.3."""
    half = Half()
    half.add({"positions": [[0, 0, 8, 10], [0, 1, 8, 10]], "matches": [[1, 2]] * 8})
    table = np.array([[0.1], [np.nan], [np.nan]])
    curve = position_curve(half, table, np.array([0.3, np.nan, np.nan]), 0.2, {})
    assert curve.lower.tolist() == [0.1, 0.3]
    assert curve.at(0.5).lost == pytest.approx(1 - (1 - 0.5) ** 2)


def test_what_a_not_refuses_by_makes_false_matches_wherever_its_kind_is() -> None:
    """The second kind is in no match: its events go first, and with all of them every refusal."""
    half = Half()
    half.add({"positions": [[0, 0, 8, 10], [1, 0, 0, 2], [1, 1, 0, 8]], "matches": [[1]] * 8})
    table = position_table(half.positions, 2)
    curve = position_curve(half, table, np.full(2, np.nan), 0.2, {1: 4 * WEIGHT})
    assert curve.at(0.5).lost == 0.0
    assert curve.at(0.5).false == pytest.approx(4 / 8)
    assert curve.at(0.25).false == pytest.approx(curve.at(0.5).false / 2, rel=0.1)
