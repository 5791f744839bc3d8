"""Counts of features: sums in any order, decay, lists that stay few, and what is not for them (G2)."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from saffron.engine.models.features import feature_counts, list_sample
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts


def row(seed: int = 0, **changes: Any) -> dict[str, Any]:
    rng = random.Random(seed)
    body = {
        "query": "q",
        "query_version": 2,
        "spec": "s",
        "occurrences": {str(key): rng.randrange(1, 9) for key in range(8)},
        "matches": [[rng.randrange(8) for _ in range(3)] for _ in range(5)],
        "weight": 2.5,
        "features": {"3": [1, 2], "4": [0, 0]},
        "positions": [[0, 1, 3, 9], [1, 0, 0, 4]],
    }
    return body | changes


def counts(*rows: dict[str, Any], halves: tuple[int | None, ...] = ()) -> FeatureCounts:
    found = FeatureCounts("q", 2, "s")
    for index, one in enumerate(rows):
        assert found.add(one, halves[index] if halves else None)
    return found


def test_rows_add_up_in_any_order_and_take_turns() -> None:
    rows = [row(seed) for seed in range(6)]
    whole = counts(*rows).whole()
    assert counts(*rows[::-1], halves=(0, 1, 1, 1, 0, 0)).whole() == whole
    halves = counts(*rows).halves
    assert sum(halves[0].occurrences.values()) > 0 < sum(halves[1].occurrences.values())
    assert whole.positions == {(0, 1): [18, 54], (1, 0): [0, 24]}
    assert sum(whole.matches.lists().values()) == 6 * 5 * 2.5 * WEIGHT
    assert counts(orjson.loads(orjson.dumps(row()))).whole() == counts(row()).whole()


@pytest.mark.parametrize("wrong", [{"query": "r"}, {"query_version": 1}, {"spec": "t"}])
def test_what_is_of_something_else_is_not_counted(wrong: dict[str, Any]) -> None:
    found = counts(row())
    before = found.whole()
    assert not found.add(row(1, **wrong))
    assert (found.whole(), found.rows) == (before, 1)


def test_halving_forgets_what_is_little_and_its_vectors() -> None:
    found = counts(row(occurrences={"3": 9, "4": 1}), halves=(0,))
    found.halve()
    assert found.halves[0].occurrences == {3: 4}
    assert found.vectors == {3: (1, 2)}
    assert found.halves[0].positions == {(0, 1): [1, 4], (1, 0): [0, 2]}
    for _ in range(40):
        found.halve()
    assert found.whole() == FeatureCounts("q", 2, "s").whole()


def test_lists_stay_few_and_keep_their_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_sample, "MOST_LISTS", 200)
    rng = random.Random(1)
    found = FeatureCounts("q", 2, "s")
    for _ in range(30):
        matches = [[rng.randrange(1 << 62), rng.randrange(1 << 62)] for _ in range(50)]
        found.add(row(matches=matches, weight=1), half=0)
    half = found.halves[0]
    assert 100 < len(half.matches.held) <= 200
    assert sum(half.matches.lists().values()) / WEIGHT == pytest.approx(1500, rel=0.25)
    assert sum(half.contributions.values()) / WEIGHT == 30 * 50 * 2


def test_keys_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_counts, "MOST_KEYS", 100)
    found = counts(*(row(occurrences=dict.fromkeys(range(n, n + 60), 1) | {1: 50}) for n in range(0, 600, 60)))
    assert all(len(half.occurrences) <= 100 for half in found.halves)
    whole = found.whole()
    assert min(whole.occurrences[1], whole.contributions[1]) > 0
