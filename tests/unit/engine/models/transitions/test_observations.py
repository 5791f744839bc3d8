"""Rows of an operator become messages of the observation topics, as their schemas say."""

from __future__ import annotations

from typing import Any

import jsonschema
import orjson
import pytest
import yaml

from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.transitions.latency import LatencySamples
from saffron.engine.models.transitions.observations import DIED, feature_messages, latency_message, transition_messages
from saffron.runtime.log.topics import schema_folder


def row(source: int, target: int, count: int, **more: Any) -> dict[str, Any]:
    window = {"size": 100, "events": True}
    body = {"query": "q", "query_version": 1, "states": 3, "window": window, "from": source, "to": target}
    return {**body, "count": count, **more}


def check(topic: str, value: bytes) -> Any:
    schema = yaml.safe_load((schema_folder() / f"{topic}.yaml").read_text("utf-8"))["schema"]
    message = orjson.loads(value)
    jsonschema.validate(message, schema)
    return message


def test_rows_of_a_query_are_one_message_with_sorted_sums() -> None:
    rows = [row(1, 2, 4), row(0, 1, 2, events=7, lived=30), row(0, DIED, 1), row(1, 2, 5, nanoseconds=90)]
    ((key, value),) = transition_messages(rows, stream="events", partition=2)
    message = check("observations.transitions", value)
    assert key == b"q"
    assert (message["partition"], message["events"], message["lived"], message["nanoseconds"]) == (2, 7, 30, 90)
    assert message["transitions"] == [[0, -1, 1], [0, 1, 2], [1, 2, 9]]


def test_queries_and_versions_are_kept_apart() -> None:
    rows = [row(0, 1, 1), row(0, 1, 2, query_version=2), row(0, 1, 3, query="r")]
    messages = [orjson.loads(value) for _, value in transition_messages(rows, stream="s", partition=0)]
    assert [(m["query"], m["query_version"], m["transitions"][0][2]) for m in messages] == [
        ("q", 1, 1),
        ("q", 2, 2),
        ("r", 1, 3),
    ]


def test_no_rows_make_no_message() -> None:
    assert transition_messages([], stream="events", partition=0) == []


def test_a_row_without_its_window_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        transition_messages([{"query": "q", "query_version": 1}], stream="events", partition=0)


def test_latency_samples_make_a_message() -> None:
    samples = LatencySamples()
    samples.processed(3, 10, 500)
    key, value = latency_message(samples.drain(), stream="events", partition=1)
    message = check("observations.latency", value)
    assert key == b"events"
    assert message == {"stream": "events", "partition": 1, "processing": [[3, 10, 500]], "shedding": []}


def test_a_row_of_features_is_a_message_that_counts_as_the_row_does() -> None:
    seen = {"query": "q", "query_version": 1, "spec": "0" * 16, "features": {7: (1, 2)}, "positions": [[0, 1, 2, 3]]}
    given = {**seen, "occurrences": {7: 3, (1 << 63) - 1: 1}, "matches": [[7, (1 << 63) - 1]], "weight": 1.5}
    ((key, value),) = feature_messages([given], stream="events", partition=3)
    message = check("observations.features", value)
    assert (key, message["partition"]) == (b"q", 3)
    counts = [FeatureCounts("q", 1, "0" * 16) for _ in range(2)]
    assert counts[0].add(given)
    assert counts[1].add(message)
    assert counts[0] == counts[1]
