"""Models of events as records: they come back, in parts, in any order; what is broken, older or foreign is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import orjson
import pytest
import yaml

from saffron.engine.models.events.event_record import records_of
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.reader import ModelReader, records
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel
from saffron.records.envelope import ModelError, seal, unseal
from saffron.runtime.log.topics import schema_folder
from tests.unit.engine.models.event_streams import SPEC, observed

Records = list[tuple[bytes, bytes]]


@cache
def model(version: tuple[int, int] = (3, 1), rows: int = 10) -> EventModel:
    return train_events(observed(rows, rows, 200)[0], SPEC, version, {"p.observations.features": {"0": 5}})


def read(reader: ModelReader, given: Records) -> list[Any]:
    return [found for key, value in given if (found := reader.take(key, value)) is not None]


@pytest.mark.parametrize("most", [900_000, 20_000, 6_000])
def test_a_model_comes_back_from_any_number_of_parts_in_any_order(most: int) -> None:
    written = records_of(model(), most)
    assert all(len(value) <= most + 4_000 for _, value in written)
    random.Random(most).shuffle(written)
    (found,) = read(ModelReader(), written)
    assert records_of(found) == records_of(model())
    assert found.forest is not None
    assert (found.kinds == model().kinds)[~np.isnan(found.kinds)].all()


def test_every_part_is_as_the_schema_says() -> None:
    topic = yaml.safe_load((schema_folder() / "models.yaml").read_text("utf-8"))
    for key, value in records_of(model(), 6_000):
        jsonschema.validate(orjson.loads(value), topic["schema"])
        jsonschema.validate(key.decode(), topic["key"] | {"type": "string", "description": ""})


def test_a_new_model_replaces_the_old_only_when_it_is_whole() -> None:
    old, new = records_of(model(), 6_000), records_of(model((3, 2), 12), 6_000)
    reader = ModelReader()
    assert [found.version for found in read(reader, old)] == [(3, 1)]
    assert read(reader, new[:-1]) == []
    assert [found.version for found in read(reader, new[-1:])] == [(3, 2)]
    assert [found.version for found in read(reader, new)] == [(3, 2)]
    with pytest.raises(ModelError, match="came behind") as caught:
        read(reader, old)
    assert caught.value.reason == "older"


def test_parts_left_over_from_a_longer_model_are_no_part_of_a_shorter_one() -> None:
    long, short = records_of(model(), 6_000), records_of(model((3, 2), 12))
    kept = dict(long) | dict(short)
    found = read(ModelReader(), [(key, kept[key]) for key, _ in long if key not in dict(short)] + short)
    assert [one.version for one in found] == [(3, 2)]


def changed(part: bytes, change: Callable[[Any], Any]) -> bytes:
    content = unseal(part)
    change(content)
    return seal(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["model"].pop("head"),
        lambda body: body["model"]["arrays"].pop(),
        lambda body: body["model"]["arrays"].pop(0),
        lambda body: body["model"]["arrays"][0].update({"from": 1}),
        lambda body: body["model"]["arrays"][0].update({"type": "f2"}),
        lambda body: body["model"]["arrays"][0].update({"data": "%"}),
        lambda body: body["model"]["arrays"][2].update({"data": ""}),
        lambda body: body["model"]["head"]["spec"].update({"kinds": []}),
        lambda body: body["model"]["head"]["spec"].update({"known": [["A"]]}),
        lambda body: body["model"]["head"]["curves"].append("best"),
        lambda body: body["model"]["head"]["trees"].pop(),
        lambda body: body["model"]["head"].update({"length": -1.0}),
        lambda body: body["model"]["head"].update({"length": "three"}),
        lambda body: body.update({"part": 1}),
        lambda body: body.update({"parts": 0}),
        lambda body: body.pop("observations"),
    ],
)
def test_a_sealed_part_that_does_not_fit_is_refused(change: Callable[[Any], Any]) -> None:
    ((key, value),) = records_of(model())
    with pytest.raises(ModelError) as caught:
        ModelReader().take(key, changed(value, change))
    assert caught.value.reason == "incomplete"


def test_an_array_that_nothing_asks_for_is_passed_over() -> None:
    """Builders that come before or after this reader may tell more."""
    ((key, value),) = records_of(model())
    more = changed(value, lambda body: body["model"]["arrays"].append({**body["model"]["arrays"][0], "name": "more"}))
    found = ModelReader().take(key, more)
    assert isinstance(found, EventModel)
    assert records_of(found) == [(key, value)]


def test_the_length_of_matches_is_told_and_may_be_missing() -> None:
    ((key, value),) = records_of(model())
    found = ModelReader().take(key, value)
    assert isinstance(found, EventModel)
    assert found.length == model().length > 1
    older = ModelReader().take(key, changed(value, lambda body: body["model"]["head"].pop("length")))
    assert isinstance(older, EventModel)
    assert older.length == 0.0


def test_trees_that_would_not_end_are_refused() -> None:
    learned = model()
    assert learned.tree is not None
    nodes = learned.tree.nodes.copy()
    nodes[0, 2:] = 0
    assert not type(learned.tree)(nodes, learned.tree.values, learned.tree.roots).fits(len(SPEC.fields))
    assert learned.tree.fits(len(SPEC.fields))
    assert not learned.tree.fits(1)


def test_a_torn_record_and_a_foreign_key_are_refused() -> None:
    ((key, value),) = records_of(model())
    for wrong, reason in (((key, value[:-9]), "broken"), ((b"other/events", value), "query")):
        with pytest.raises(ModelError) as caught:
            ModelReader().take(*wrong)
        assert caught.value.reason == reason


def test_other_models_are_one_record_and_a_tombstone_is_none() -> None:
    latency = LatencyModel("s", (1, 1), LatencyFunction("linear", 1.0, 2.0, 0.0), None, 3, {})
    reader = ModelReader()
    ((key, value),) = records(latency)
    assert reader.take(key, value) == latency
    assert reader.take(key, None) is None
    parts = records(model())
    assert [name for name, _ in parts] == [b"q/events"]
    assert read(reader, parts)[0].key == b"q/events"


def test_a_tombstone_of_another_model_leaves_half_read_parts_alone() -> None:
    written = records_of(model(), most=6_000)
    assert len(written) > 1
    reader = ModelReader()
    assert read(reader, written[:-1]) == []
    reader.take(b"q/transitions", None)
    assert len(read(reader, written[-1:])) == 1
    read(reader, written[:-1])
    reader.take(b"q/events", None)
    assert read(reader, written[-1:]) == []
