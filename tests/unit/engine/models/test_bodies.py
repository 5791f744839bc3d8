"""Counts survive JSON and teach the same behind it."""

from __future__ import annotations

import orjson
import pytest

from saffron.engine.models.bodies import costs_body, costs_of, features_body, features_of
from saffron.engine.models.events.event_record import records_of
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features import list_sample
from saffron.engine.models.transitions.transition_costs import TransitionCosts
from tests.unit.engine.models.event_streams import SPEC, observed


def test_features_come_back_equal_and_go_on_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_sample, "MOST_LISTS", 2)
    counts, _ = observed(3, 7, 150)
    row = {"query": "q", "query_version": 1, "positions": [[0, 1, 2, 3]]}
    assert counts.add({**row, "occurrences": {1: 5}, "met": 9, "begun": {1: 2}, "refusing": {1: 3}})
    again = features_of(orjson.loads(orjson.dumps(features_body(counts))))
    assert again == counts
    assert features_of({**features_body(counts), "more": 1}) == counts, "other builders may keep more"
    assert any(half.matches.level for half in counts.halves)
    for one in (counts, again):
        one.add({**row, "matches": [[5, 1]], "occurrences": {5: 1}})
        one.halve()
    models = [train_events(one, SPEC, (1, 0), {}, trees=False) for one in (counts, again)]
    assert records_of(models[0]) == records_of(models[1])


def test_costs_come_back_equal() -> None:
    costs = TransitionCosts()
    costs.add({(0, 0): 5, (0, 1): 7, (1, -1): 2}, 900)
    costs.add({(0, 0): 1 << 40, (1, -1): 1}, 1 << 50)
    again = costs_of(orjson.loads(orjson.dumps(costs_body(costs))))
    assert again == costs
    assert again.fit() == costs.fit()
