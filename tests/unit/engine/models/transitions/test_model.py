"""The models' encoding: what goes out comes back, and what is not right is refused with its reason."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import orjson
import pytest
import yaml

from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel, Model, TransitionModel, decode
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.records.envelope import ModelError, seal, unseal
from saffron.runtime.log.topics import schema_folder

OFFSETS = {"saffron.observations.transitions": {"0": 17, "3": 4}}


def transition_model(version: tuple[int, int] = (5, 2)) -> TransitionModel:
    counts = TransitionCounts("q3", 7, 3, 300, False, events=50, lived=3000)
    counts.cells = {(0, 0): 200, (0, 1): 100, (1, 1): 50, (1, 2): 25, (1, -1): 25}
    return train_transitions(counts, version, OFFSETS)


def splitting_model() -> TransitionModel:
    counts = TransitionCounts("any", 1, 3, 9, True)
    counts.cells = {(0, 1): 4, (1, 1): 9, (1, 2): 6, (1, -2): 6}
    counts.add_time({(0, 1): 4, (1, 1): 9, (1, 2): 6, (1, -2): 6}, 1900)
    return train_transitions(counts, (5, 2), OFFSETS)


def latency_model() -> LatencyModel:
    return LatencyModel("events", (5, 2), LatencyFunction("sqrt", 900.5, 3.25, 1.5), None, 1000, OFFSETS)


def same(one: Model, other: Model) -> bool:
    return one.encode() == other.encode()


@pytest.mark.parametrize("model", [transition_model(), splitting_model(), latency_model()])
def test_a_model_comes_back_as_it_went(model: Model) -> None:
    found = decode(model.encode(), key=model.key)
    assert same(found, model)
    assert found.version == (5, 2)
    assert found.trained_through == OFFSETS


@pytest.mark.parametrize("model", [transition_model(), splitting_model(), latency_model()])
def test_a_model_is_as_its_schema_says(model: Model) -> None:
    topic = yaml.safe_load((schema_folder() / "models.yaml").read_text("utf-8"))
    jsonschema.validate(orjson.loads(model.encode()), topic["schema"])
    assert re.fullmatch(topic["key"]["pattern"], model.key.decode())


def test_equal_models_are_equal_bytes() -> None:
    assert transition_model().encode() == transition_model().encode()
    assert unseal(transition_model().encode())["model"]["expected_events"] == 300 * 100 / 3000


def test_utility_is_the_completion_table() -> None:
    model = transition_model()
    assert model.bin_size == 1
    assert model.completion[0] == pytest.approx([0.0, 0.25, 1.0])
    assert model.utility()["utility"] == model.completion.tolist()
    assert model.utility()["per_ms"] == pytest.approx(100 / 3000)
    assert replace(model, window_events=True).utility()["per_ms"] == 0.0


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "broken"),
        (b"\xff\xfe", "broken"),
        (b"[1, 2]", "broken"),
        (b'{"kind": "transitions"}', "broken"),
        (transition_model().encode()[:-20], "broken"),
        (transition_model().encode().replace(b'"states":3', b'"states":4'), "broken"),
        (seal({"kind": "transitions"}), "broken"),
        (seal({"kind": "transitions", "version": [1, 2]}), "incomplete"),
        (seal({"kind": "forest", "version": [1, 2]}), "incomplete"),
        (seal({"version": [1, 2]}), "incomplete"),
    ],
)
def test_what_is_no_model_is_refused(value: bytes, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        decode(value)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("states", 4),
        ("transition", [[1.0]]),
        ("transition", [[0.5, 0.5, 0.0]] * 2),
        ("completion", []),
        ("completion", [[0.1, 1.5, 1.0]]),
        ("completion", [[None, 1, 1]]),
        ("bin", 0),
        ("expected_events", None),
        ("expected_events", 0),
        ("expected_events", 4e18),
        ("bin", 1 << 63),
        ("window", {"size": 0, "events": True}),
        ("window", 9),
        ("remaining_ns", [[1.0, 2.0, 0.0]]),
        ("remaining_ns", [[-1.0, 2.0, 0.0]] * 10),
        ("matches", [[1.0, 2.0, 0.0]]),
        ("met", [1, 2]),
    ],
)
def test_a_sealed_model_that_does_not_fit_together_is_refused(field: str, wrong: Any) -> None:
    content = unseal(transition_model().encode())
    content["model"][field] = wrong
    with pytest.raises(ModelError) as caught:
        decode(seal(content))
    assert caught.value.reason == "incomplete"


def test_another_querys_key_is_refused() -> None:
    value = transition_model().encode()
    with pytest.raises(ModelError) as caught:
        decode(value, key=b"q4/transitions")
    assert caught.value.reason == "query"


@pytest.mark.parametrize(("shape", "slope"), [("cubic", 1.0), ("linear", -1.0), ("linear", None)])
def test_a_latency_function_must_be_one(shape: str, slope: float | None) -> None:
    content = unseal(latency_model().encode())
    content["model"]["processing"].update(shape=shape, slope=slope)
    with pytest.raises(ModelError, match="lacks a field"):
        decode(seal(content))


def test_numbers_survive_the_journey_exactly() -> None:
    model = replace(transition_model(), matrix=np.array([[1 / 3, 2 / 3, 0], [0.1, 0.2, 0.7], [0, 0, 1]]))
    found = decode(orjson.dumps(orjson.loads(model.encode()), option=orjson.OPT_SORT_KEYS))
    assert isinstance(found, TransitionModel)
    assert (found.matrix == model.matrix).all()
