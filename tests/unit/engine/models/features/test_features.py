"""Keys and vectors of events against the definition, however the stream is cut (G1, G4)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.columns import Column
from saffron.engine.models.features.event_conditions import Comparison, Computed
from saffron.engine.models.features.feature_columns import KindCodes
from saffron.engine.models.features.feature_keys import MOST_KEYS, FeatureKeys, content_keys
from saffron.engine.models.features.features import Binned, FeatureError, FeatureSpec, Pane
from saffron.schema.schema import NULL_INT, Kind
from tests.reference import features as twin
from tests.unit.engine import exact_numbers
from tests.unit.engine.models.event_streams import as_columns, random_events, random_spec


@pytest.mark.parametrize("seed", range(60))
def test_vectors_are_what_the_definition_says_and_keys_tell_them_apart(seed: int) -> None:
    rng = random.Random(seed)
    spec, events = random_spec(rng), random_events(rng, 120)
    found = FeatureKeys(spec).apply(as_columns(events))
    wanted = [twin.vector_of(spec, events, index) for index in range(len(events))]
    assert [tuple(vector) for vector in found.rows().tolist()] == wanted
    by_key: dict[int, tuple[int, ...]] = {}
    for key, vector in zip(found.keys.tolist(), wanted, strict=True):
        assert by_key.setdefault(key, vector) == vector
    assert len(by_key) == len(set(wanted)) == len(found.distinct)
    assert (found.distinct[found.slots] == found.keys).all()


@pytest.mark.parametrize("seed", range(60, 90))
def test_cuts_and_forgotten_keys_change_no_key(seed: int) -> None:
    rng = random.Random(seed)
    spec, events = random_spec(rng), random_events(rng, 150)
    whole = FeatureKeys(spec).apply(as_columns(events)).keys.tolist()
    cut, keys, at = FeatureKeys(FeatureSpec.of(orjson.loads(orjson.dumps(spec.body())))), [], 0
    while at < len(events):
        size = rng.choice((0, 1, 2, 30))
        keys += cut.apply(as_columns(events[at : at + size], at)).keys.tolist()
        at += size
        if rng.random() < 0.2:
            cut.forget()
    assert keys == whole


def test_news_are_told_once_until_forgotten() -> None:
    rng = random.Random(5)
    spec = FeatureSpec(known=(("A",), ("B",)), pane=Pane(3))
    keys, events = FeatureKeys(spec), random_events(rng, 300)
    first = keys.apply(as_columns(events[:200]))
    told = keys.news()
    assert told.keys() == set(first.keys.tolist())
    assert keys.news() == {}
    keys.forget()
    again = keys.apply(as_columns(events[200:]))
    assert again.generation == first.generation + 1
    assert keys.news().keys() == set(again.keys.tolist())
    assert all(told.get(key, vector) == vector for key, vector in keys.news().items())


def test_many_keys_make_room_and_too_many_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(6)
    spec = FeatureSpec(known=(("A",), ("B",), ("C",)), pane=Pane(40), frequency_edges=tuple(range(1, 40)))
    events = random_events(rng, 3000)
    whole = FeatureKeys(spec).apply(as_columns(events))
    assert len(whole.distinct) > 1000
    monkeypatch.setattr("saffron.engine.models.features.feature_keys.MOST_KEYS", 50)
    small = FeatureKeys(spec)
    found = [small.apply(as_columns(events[at : at + 100])) for at in range(0, 3000, 100)]
    assert np.concatenate([one.keys for one in found]).tolist() == whole.keys.tolist()
    assert len({one.generation for one in found}) > 5
    assert MOST_KEYS > 1000


def test_content_keys_are_of_the_event_alone() -> None:
    rng = random.Random(7)
    spec = FeatureSpec(known=(("A",), ("B",)), pane=Pane(4), attributes=(Binned("up", (1.0,)),))
    rows = FeatureKeys(spec).apply(as_columns(random_events(rng, 200))).rows()
    keys = content_keys(spec, rows).tolist()
    assert len(set(keys)) == len({(row[0], row[-1]) for row in rows.tolist()}) == 9


def test_equal_seeds_give_equal_keys_and_others_others() -> None:
    events = as_columns(random_events(random.Random(8), 50))
    one, same, other = (FeatureKeys(FeatureSpec(seed=seed)).apply(events).keys.tolist() for seed in (1, 1, 2))
    assert one == same
    assert set(one).isdisjoint(other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kinds": ()}, "no column"),
        ({"known": (("A", "B"),)}, "a value for each column"),
        ({"known": (("A",), ("A",))}, "known twice"),
        ({"pane": Pane(0)}, "holds nothing"),
        ({"frequency_edges": (0, 1)}, "ascend from 1"),
        ({"frequency_edges": (2, 2)}, "ascend from 1"),
        ({"attributes": (Binned("x", (1.0, 0.5)),)}, "edges of an attribute"),
        ({"attributes": (Binned("x", tuple(map(float, range(20)))),)}, "16 bins"),
        ({"conditions": (Comparison("a", "<>", "b"),)}, "a condition has one of"),
        ({"conditions": (Comparison(Computed("^", ("a", 2.0)), "<", "b"),)}, "a condition computes with"),
        ({"conditions": (Comparison("a", "<", Computed("+", ("a",) * 40)),)}, "32 parts"),
        ({"conditions": tuple(Comparison("a", "<", float(n)) for n in range(17))}, "16 conditions"),
        ({"seed": -1}, "63 bits"),
    ],
)
def test_a_specification_that_does_not_fit_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        FeatureSpec(**wrong)


@pytest.mark.parametrize("body", [["a", "<"], ["a", "<", True], ["a", "<", ["abs"]], ["a", "<", None], 5])
def test_what_is_no_condition_is_not_read(body: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        FeatureSpec.of(FeatureSpec().body() | {"conditions": [body]})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (FeatureSpec(kinds=("colour",)), "no attribute 'colour'"),
        (FeatureSpec(attributes=(Binned("symbol", ()),)), "strings has no numbers"),
        (FeatureSpec(conditions=(Comparison("price", "<", "cost"),)), "no attribute 'cost'"),
    ],
)
def test_events_without_what_features_are_made_of_are_an_error(spec: FeatureSpec, message: str) -> None:
    with pytest.raises(FeatureError, match=message):
        FeatureKeys(spec).apply(as_columns(random_events(random.Random(9), 3)))


def test_kinds_of_many_columns_take_no_more_room_than_there_are_kinds() -> None:
    rng = random.Random(7)
    values = [tuple(rng.choice((None, 0, 1, 2)) for _ in range(30)) for _ in range(40)]
    spec = FeatureSpec(kinds=tuple(f"a{i}" for i in range(30)), known=tuple(dict.fromkeys(values[:20])))
    numbers = np.array([[NULL_INT if one is None else one for one in row] for row in values], dtype=np.int64)
    attributes = {name: Column(Kind.INT, numbers[:, index]) for index, name in enumerate(spec.kinds)}
    columns = replace(as_columns(random_events(rng, 40)), attributes=attributes)
    assert KindCodes(spec).of(columns).tolist() == [*range(20), *[20] * 20]


@pytest.mark.parametrize("seed", range(4))
def test_a_kind_is_a_value_whatever_its_column(seed: int) -> None:
    """Integers beyond 2^53 that queries name are told apart, beside fractions and as the stream's kinds widen."""
    rng = random.Random(seed)
    named = rng.sample([1, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 1, -(2**53) - 1], 3)
    known = tuple(("A", value) for value in (*named, None))
    for _ in range(20):
        pool = [*named, rng.choice([2**53 + 2, 2**60]), *rng.choice([(), (0.5,), (1.0, 2.0**53, 1e300), (2.0**63,)])]
        events = [{"seq": n, "ts": n, "type": "A", "x": rng.choice([*pool, None])} for n in range(12)]
        columns = exact_numbers.columns_of(events, exact_numbers.schema_of(events))
        wanted = [next((n for n, (_, value) in enumerate(known) if value == event["x"]), 3) for event in events]
        assert KindCodes(FeatureSpec(kinds=("type", "x"), known=known)).of(columns).tolist() == wanted
