"""What events that a NOT refuses by are worth."""

from __future__ import annotations

from saffron.engine.models.events.event_refusals import with_refusals
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts
from tests.unit.engine.models.event_streams import SPEC


def counts(**row: object) -> FeatureCounts:
    found = FeatureCounts("q", 1, SPEC.identity)
    plain = {"occurrences": {1: 20, 2: 10, 3: 70}, "matches": [[1, 3]] * 10, "begun": {1: 10}, "met": 400}
    assert found.add({"query": "q", "query_version": 1, **plain, **row})
    return found


def test_a_refuser_ends_what_was_begun_since_the_last_one_and_half_of_it_would_have_matched() -> None:
    """20 begin, 10 match, and 10 refuse: two each, of which one would have been a match."""
    half = with_refusals(counts(refusing={2: 10}).whole())
    assert half.contributions == {1: 10 * WEIGHT, 3: 10 * WEIGHT, 2: 10 * WEIGHT}
    assert half.abandoned.lists() == {(2,): 10 * WEIGHT}


def test_it_ends_no_more_than_is_alive() -> None:
    assert with_refusals(counts(refusing={2: 10}, met=50).whole()).contributions[2] == 2.5 * WEIGHT


def test_where_nothing_was_refused_or_begun_nothing_is_estimated() -> None:
    for row in ({}, {"refusing": {2: 10}, "begun": {}}):
        half = counts(**row).whole()
        assert with_refusals(half) is half


def test_a_model_keeps_refusers_and_says_what_dropping_them_finds_too_much() -> None:
    without, found = (train_events(counts(**row), SPEC, (1, 0), {}, trees=False) for row in ({}, {"refusing": {2: 10}}))
    assert [model.curves["gspice-h"].at(1.0).false for model in (without, found)] == [0.0, 1.0]
    assert found.curves["gspice-h"].at(0.7).false == 0.0
