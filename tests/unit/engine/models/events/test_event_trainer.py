"""Models of events: the paper's tables, what an unseen key is worth, shares and losses that come true (G2-G6)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from saffron.engine.models.events.event_shedding import EventShedding
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.shed.drops.shedders import EventChoice
from saffron.experiments.kind_dropping import KindDropping
from saffron.experiments.virtual_learning import rates_of
from tests.unit.engine.models.event_streams import SPEC, as_columns, observed, random_events


def counts(**row: Any) -> FeatureCounts:
    found = FeatureCounts("q", 1, SPEC.identity)
    assert found.add({"query": "q", "query_version": 1, "spec": SPEC.identity, **row})
    return found


def test_tables_one_and_two_of_the_paper() -> None:
    """Two contributions in three occurrences: 2/3."""
    found = counts(occurrences={7: 3, 8: 2}, matches=[[7, 9], [7, 9]])
    model = train_events(found, SPEC, (1, 0), {}, prior=0.0, trees=False)
    assert model.keys.of(np.array([7, 8], dtype=np.uint64)) == pytest.approx([2 / 3, 0.0])


def test_weights_and_events_twice_in_a_match() -> None:
    found = counts(occurrences={7: 10}, matches=[[7, 7], [7]], weight=2.5)
    assert train_events(found, SPEC, (1, 0), {}, prior=0.0, trees=False).keys.values == pytest.approx([3 * 2.5 / 10])


def test_shoplifting_values_the_event_that_refuses() -> None:
    """Shelf1 Counter2 Exit3 Shelf4 Exit5: (4, 5) is the match; Counter2 refused (1): it is worth one, too."""
    found = counts(occurrences={1: 2, 2: 1, 3: 2}, matches=[[1, 3]], begun={1: 1}, refusing={2: 1}, met=10)
    model = train_events(found, SPEC, (1, 0), {}, prior=0.0, trees=False)
    assert model.keys.values == pytest.approx([0.5, 1.0, 0.5])
    cuts = [model.curves["gspice-h"].at(share) for share in (0.8, 1.0)]
    assert [(cut.lost, cut.false) for cut in cuts] == [(1.0, 0.0), (1.0, 1.0)]


@pytest.mark.parametrize("shedder", ["gspice-h", "gspice-tree", "gspice-forest", "bl"])
def test_what_a_cut_promises_comes_true_on_other_events(shedder: str) -> None:
    counted, _ = observed(1, 40, 500)
    model = train_events(counted, SPEC, (1, 0), {})
    by_kind = KindDropping(model, rates_of(counted, SPEC))
    shedding: EventChoice = by_kind if shedder == "bl" else EventShedding(model, shedder)
    rng = random.Random(99)
    happened = random_events(rng, 20_000)
    features = FeatureKeys(SPEC).apply(as_columns(happened))
    matches = [
        i
        for i in range(len(happened) - 1)
        if happened[i]["type"] == "A" and (happened[i]["price"] or 0) > 2.5 and happened[i + 1]["type"] == "B"
    ]
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        cut = shedding.at(share)
        gone = shedding.dropped(features, np.arange(20_000), share, seed=3)
        lost = np.mean([gone[i] or gone[i + 1] for i in matches])
        assert gone.mean() == pytest.approx(share, abs=0.05)
        assert lost == pytest.approx(cut.lost, rel=0.2, abs=0.04)


def test_better_features_lose_less() -> None:
    counted, _ = observed(2, 40, 500)
    model = train_events(counted, SPEC, (1, 0), {})
    lost = [EventShedding(model, name).at(0.6).lost for name in ("gspice-h", "gspice-forest")]
    assert max(lost) < 0.1 < rates_of(counted, SPEC).at(0.6).lost


@pytest.mark.parametrize("trees", ["tree", "forest"])
def test_trees_make_no_leaves_of_chance(trees: str) -> None:
    """Every tenth A is in a match, whatever its pane, and no B: panes in which none was by chance are worth no less
    than what is worth nothing."""
    draw = np.random.default_rng(8)
    panes = [(kind, *pane, 0) for kind in (0, 1) for pane in np.ndindex(4, 4, 4, 4)]
    of_a = range(256)
    found = counts(
        occurrences=dict.fromkeys(range(512), 10),
        features=dict(enumerate(panes)),
        matches=[[key] for key in of_a for _ in range(draw.binomial(10, 0.1))],
    )
    grown = getattr(train_events(found, SPEC, (1, 0), {}), trees)
    worth = grown.utilities(np.array(panes, dtype=np.int16))
    assert not set(of_a) <= set(found.whole().contributions)
    assert worth[:256].min() > worth[256:].max() + 0.02
