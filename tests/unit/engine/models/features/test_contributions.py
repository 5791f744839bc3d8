"""How often events are part of matches, where little or much was seen of them, and where it comes in clumps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from saffron.engine.models.features.contributions import contributions
from saffron.engine.models.features.event_model import SortedMap
from saffron.engine.models.features.feature_counts import FeatureCounts, Half
from tests.unit.engine.models.event_streams import SPEC

VECTORS = {10 * kind + pane: (kind, pane, 0, 0, 0, 0) for kind in range(3) for pane in range(4)}
"""Three contents of four keys each."""


def half(occurred: Mapping[int, int], contributed: Mapping[int, int]) -> Half:
    found = Half()
    found.add({"occurrences": dict(occurred), "matches": [[key] for key, n in contributed.items() for _ in range(n)]})
    return found


def learned(*halves: Half) -> tuple[SortedMap, SortedMap]:
    counts = FeatureCounts("q", 1, SPEC.identity, halves=(halves[0], halves[-1]))
    whole = counts.whole() if len(halves) == 2 else halves[0]
    return contributions(whole, halves if len(halves) == 2 else (), VECTORS, SPEC)


def rates(table: SortedMap) -> dict[int, float]:
    return dict(zip(table.keys.tolist(), table.values.tolist(), strict=True))


def test_rates_that_both_halves_show_are_believed() -> None:
    """By content 3 : 1 : 0, the same in all panes; the mean of all events is one."""
    seen = half(dict.fromkeys(VECTORS, 500), {key: (300, 100, 0)[key // 10] for key in VECTORS if key < 20})
    keys, contents = learned(seen, seen)
    assert sorted(contents.values.tolist()) == pytest.approx([0.0, 0.75, 2.25], abs=0.01)
    assert keys.values.mean() == pytest.approx(1.0)
    assert rates(keys) == pytest.approx({key: (2.25, 0.75, 0.0)[key // 10] for key in VECTORS}, abs=0.01)


def test_panes_that_differ_in_both_halves_are_believed() -> None:
    seen = half(dict.fromkeys(VECTORS, 500), {0: 400, 1: 400, 10: 100, 11: 100, 20: 100, 21: 100})
    keys, _ = learned(seen, seen)
    assert all(rates(keys)[key] == pytest.approx(0.0, abs=0.02) for key in VECTORS if key % 10 > 1)
    assert rates(keys)[0] == pytest.approx(4.0, abs=0.05)


def test_a_hot_spot_of_one_half_says_nothing_of_the_other() -> None:
    occurred = dict.fromkeys(VECTORS, 500)
    keys, contents = learned(half(occurred, {3: 200}), half(occurred, {12: 200}))
    assert contents.values == pytest.approx(np.ones(3), abs=0.05)
    assert keys.values == pytest.approx(np.ones(len(VECTORS)), abs=0.05)


def test_where_only_one_half_has_matches_little_that_was_seen_is_believed_less() -> None:
    keys, contents = learned(half(dict.fromkeys(VECTORS, 4), {0: 8}))
    assert contents.values.max() == pytest.approx((8 * 48 / 8 + 16) / (16 + 16))
    assert rates(keys)[0] == pytest.approx((48 + 16 * contents.values.max()) / (4 + 16))


def test_keys_of_unknown_vectors_are_left_out_and_without_matches_nothing_contributes() -> None:
    keys, contents = learned(half({0: 5, 99: 5}, {}))
    assert keys.keys.tolist() == [0]
    assert contents.values.tolist() == pytest.approx([16 / 21])
