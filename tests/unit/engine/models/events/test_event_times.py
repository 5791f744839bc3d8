"""What is saved by dropping an event, partial matches included."""

from __future__ import annotations

import pytest

from saffron.engine.models.events.event_times import LEAST, times_saved
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts

CONTENTS = {1: 10, 2: 10, 3: 30, 4: 40}


def counts(**row: object) -> FeatureCounts:
    found = FeatureCounts("q", 1, "s")
    assert found.add({"query": "q", "query_version": 1, **row})
    return found


def test_events_that_begin_partial_matches_are_dear_and_those_that_end_them_cheap() -> None:
    """20 of 100 events begin (10 of key 1, 10 of key 2), 9 partial matches are alive: each lives for 45 events.

    Each of 10 events of key 3 ends half a match, which would wait for 10 events more.
    """
    row = {"occurrences": {1: 10, 2: 10, 3: 10, 4: 70}, "met": 900, "begun": {1: 5}, "matches": [[1, 3]] * 5}
    times = times_saved(counts(**row).whole(), CONTENTS)
    assert times == pytest.approx({10: 1 + 45 / 10, 30: 1 - 0.5 * 10 / 10, 40: 1})


def test_no_drop_saves_less_than_nothing() -> None:
    row = {"occurrences": {1: 10, 3: 1, 4: 89}, "met": 900, "begun": {1: 5}, "matches": [[1, 3]] * 5}
    assert times_saved(counts(**row).whole(), CONTENTS)[30] == LEAST


@pytest.mark.parametrize("missing", ["met", "begun", "occurrences"])
def test_without_knowing_partial_matches_nothing_is_said(missing: str) -> None:
    row = {"occurrences": {1: 10, 4: 90}, "met": 900, "begun": {1: 5}, "matches": [[1, 4]] * 5}
    assert times_saved(counts(**{**row, missing: {} if missing != "met" else 0}).whole(), CONTENTS) == {}


def test_begun_and_met_add_up_and_are_halved() -> None:
    found = counts(begun={1: 3}, met=7)
    assert found.add({"query": "q", "query_version": 1, "begun": {1: 2, 2: 1}, "met": 4})
    assert (found.whole().begun, found.whole().met) == ({1: 5 * WEIGHT, 2: WEIGHT}, 11)
    found.halve()
    assert (found.whole().begun, found.whole().met) == ({1: 5 * WEIGHT // 2, 2: WEIGHT // 2}, 5)
