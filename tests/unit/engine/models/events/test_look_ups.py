"""Hash table, trees and draws against slow and obvious ones (G4, G5)."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from saffron.engine.models.events.event_shedding import EventShedding
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_model import SortedMap
from saffron.engine.models.features.feature_keys import FeatureKeys, content_keys
from saffron.engine.models.features.forest import (
    LEAST_EVENTS,
    MOST_DEPTH,
    TREES,
    copied,
    train_forest,
    train_tree,
    trees_of_samples,
)
from saffron.engine.models.features.key_table import key_table
from saffron.engine.shed.drops.shedders import EventChoice, by_curve
from saffron.experiments.kind_dropping import KindDropping
from saffron.experiments.virtual_learning import rates_of
from tests.unit.engine.models.event_streams import SPEC, as_columns, observed, random_events


@pytest.mark.parametrize("size", [0, 1, 2, 7, 64, 3000])
def test_the_hash_table_is_a_dictionary(size: int) -> None:
    rng = np.random.default_rng(size)
    keys = np.unique(np.append(rng.integers(0, 1 << 63, size, dtype=np.uint64), [0, 1 << 40, 2 << 40][: size // 2]))
    values = dict(zip(keys.astype(np.uint64).tolist(), rng.random(len(keys)).tolist(), strict=True))
    table = key_table(np.array(list(values), dtype=np.uint64), np.array(list(values.values())))
    asked = np.array([*values, 0, 5, 3 << 40], dtype=np.uint64)
    wanted = [values.get(key, np.nan) for key in asked.tolist()]
    assert table.utilities(asked) == pytest.approx(wanted, nan_ok=True, abs=0)


def rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 12, (700, 6)).astype(np.int16)
    utility = vectors[:, 0] * 0.1 + (vectors[:, 3] > 5) * rng.random(700)
    return vectors, utility, rng.integers(1, 30, 700).astype(np.float64)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_trees_predict_to_the_bit_what_the_library_does(seed: int) -> None:
    vectors, utility, weight = rows(seed)
    grown = {"max_depth": MOST_DEPTH, "min_weight_fraction_leaf": LEAST_EVENTS / weight.sum(), "random_state": seed}
    tree = DecisionTreeRegressor(**grown).fit(vectors, utility, sample_weight=weight)
    trees = trees_of_samples(vectors, utility, weight, seed)
    unseen = np.random.default_rng(-seed % 99).integers(-2, 15, (5000, 6)).astype(np.int16)
    theirs = np.zeros(len(unseen))
    for one in trees:
        theirs += one.predict(unseen)
    for train, wanted in ((train_tree, tree.predict(unseen)), (train_forest, theirs / TREES)):
        found = train(vectors, utility, weight, seed)
        assert found.fits(6)
        assert (found.utilities(unseen) == wanted).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_forest_is_as_good_as_the_librarys(seed: int) -> None:
    vectors, utility, weight = rows(seed)
    copies, weights = copied(weight)
    assert np.bincount(copies, weights[copies]) == pytest.approx(weight)
    least = LEAST_EVENTS / weight.sum()
    library = RandomForestRegressor(TREES, max_depth=MOST_DEPTH, min_weight_fraction_leaf=least, random_state=seed)
    library.fit(vectors[copies], utility[copies], sample_weight=weights[copies])
    unseen = np.random.default_rng(seed + 9).integers(0, 12, (5000, 6)).astype(np.int16)
    truth = unseen[:, 0] * 0.1 + (unseen[:, 3] > 5) * 0.5
    ours = np.mean((train_forest(vectors, utility, weight, seed).utilities(unseen) - truth) ** 2)
    assert ours == pytest.approx(np.mean((library.predict(unseen) - truth) ** 2), rel=0.25)


@pytest.mark.parametrize("shedder", ["gspice-h", "gspice-forest", "bl"])
def test_cuts_of_the_stream_and_restarts_change_no_drop(shedder: str) -> None:
    counts, _ = observed(1, 6, 200)
    model, rates = train_events(counts, SPEC, (1, 0), {}), rates_of(counts, SPEC)

    def made() -> EventChoice:
        return KindDropping(model, rates) if shedder == "bl" else EventShedding(model, shedder)

    events, rng = random_events(random.Random(2), 400), random.Random(3)
    seq = np.arange(400)
    keys = FeatureKeys(SPEC)
    whole = made().dropped(keys.apply(as_columns(events)), seq, 0.6, seed=9)
    shedding, keys, found, at = made(), FeatureKeys(SPEC), [], 0
    while at < 400:
        size = rng.choice((0, 1, 40))
        features = keys.apply(as_columns(events[at : at + size], at))
        found += shedding.dropped(features, seq[at : at + size], 0.6, seed=9).tolist()
        at += size
        if rng.random() < 0.2:
            keys.forget()
        if rng.random() < 0.1:
            shedding = made()
    assert found == whole.tolist()
    assert 0.4 < np.mean(found) < 0.8


def test_a_model_without_positions_teaches_no_order_by_them() -> None:
    model = train_events(observed(1, 6, 200)[0], SPEC, (1, 0), {}, trees=False)
    assert by_curve("gspice-h")(model) is not None
    assert by_curve("espice")(model) is by_curve("gspice-tree")(model) is None


def test_a_key_never_seen_is_worth_its_content_then_its_kind_then_the_mean() -> None:
    model = train_events(observed(4, 8, 200)[0], SPEC, (1, 0), {}, trees=False)
    content = next(iter(model.contents.keys.tolist()))
    rare = FeatureKeys(SPEC).apply(as_columns(random_events(random.Random(1), 50))).rows()[:1].repeat(3, axis=0)
    rare[1, -1] = 2  # another bin of the price
    rare[2, 0] = 3  # another kind
    strange = np.array([1, 2, 3], dtype=np.uint64)
    by_content = model.by_key(strange, rare)
    assert set(by_content[:2].tolist()) <= set(model.contents.values.tolist())
    blank = type(model.contents)(model.contents.keys[:0], model.contents.values[:0])
    bare = type(model)(**{**vars(model), "contents": blank})
    assert bare.by_key(strange, rare).tolist() == model.kinds[rare[:, 0]].tolist()
    nothing = type(model)(**{**vars(model), "contents": blank, "kinds": np.full(SPEC.codes, np.nan)})
    assert nothing.by_key(strange, rare).tolist() == [model.overall] * 3
    assert content in model.contents.keys


def test_what_an_event_contributes_is_told_by_its_key_then_its_content_else_it_is_like_any_other() -> None:
    counts, _ = observed(4, 8, 200)
    model = train_events(counts, SPEC, (1, 0), {}, trees=False)
    vectors = np.array(list(counts.vectors.values()), dtype=np.int16)
    keys = np.array(list(counts.vectors), dtype=np.uint64)
    found = model.contributed(keys, vectors)
    assert np.array_equal(found, model.contributions.of(keys))
    occurrences = counts.whole().occurrences
    assert np.average(found, weights=[occurrences.get(key, 0) for key in keys.tolist()]) == pytest.approx(1.0, abs=0.02)
    strange = keys + np.uint64(1)
    contents = content_keys(SPEC, vectors)
    assert np.array_equal(model.contributed(strange, vectors), model.content_contributions.of(contents))
    bare = replace(model, content_contributions=SortedMap(contents[:0], np.zeros(0)))
    assert bare.contributed(strange, vectors).tolist() == [1.0] * len(keys)
