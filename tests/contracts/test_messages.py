"""What the code writes is what schemas/ say: keys and values of each topic, from the functions that write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.engine.events.codec import encode_block
from saffron.engine.events.raw import batch_of_values
from saffron.engine.models.transitions.ages import AGES
from saffron.engine.models.transitions.latency import LatencyFunction, LatencySamples
from saffron.engine.models.transitions.model import LatencyModel, Model, TransitionModel
from saffron.engine.models.transitions.observations import feature_messages, latency_message, transition_messages
from saffron.engine.models.transitions.trials import Trials
from saffron.engine.windows import WindowingOperator
from saffron.records.query import ADD, EARLIEST, PAUSE, RESUME, QueryRecord
from saffron.records.status import ENDED, FAILED, PAUSED, REMOVED, WAITING, QueryStatus
from saffron.runtime.hops.tags import claim_value
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.statuses import Statuses
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.digest import Digest, send
from saffron.runtime.telemetry.histogram import Buckets
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
TOPICS = Topics("")


def check(topic: str, key: bytes, value: bytes) -> None:
    raw: dict[str, Any] = yaml.safe_load((SCHEMAS / f"{topic}.yaml").read_text("utf-8"))
    Draft202012Validator(raw["schema"]).validate(orjson.loads(value))
    assert re.search(raw["key"]["pattern"], key.decode()), f"{key!r} is no key of {topic}"


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec(name, 1, {}) for name in (TOPICS.health, TOPICS.query_status)])
    return log


def written(log: MemoryLog, topic: str) -> list[Record]:
    consumer = log.consumer("test", committed_only=True)
    consumer.assign({TopicPartition(topic, 0): 0})
    return consumer.poll(100, 0.0)


@pytest.mark.parametrize("times", [[], [0.5], [20.0, 45.0, 1e12]])
def test_health(log: MemoryLog, times: list[float]) -> None:
    latency = Buckets()
    latency.observe(np.array(times))
    advice = Advice(log, "matcher")
    send(advice, TOPICS, Digest("matcher", "events", 0, at=5, interval_ms=1000, events=3, latency=latency))
    send(advice, TOPICS, Digest("windowing", "trades", 2, at=5, interval_ms=1000, events=3, watermark=7, lag=0))
    records = written(log, TOPICS.health)
    assert len(records) == 2
    for record in records:
        check(TOPICS.health, record.key or b"", record.value or b"")


@pytest.mark.parametrize("service", ["windowing", "shedder", "matcher", "greta"])
def test_query_status(log: MemoryLog, service: str) -> None:
    producer = log.producer()
    statuses = Statuses(producer, TOPICS)
    statuses.report(QueryStatus("q", 1, service, "events", 0, "ready"))
    statuses.report(QueryStatus("q", 1, service, "events", 0, "rejected", "query error: no"))
    statuses.report(QueryStatus("q", 1, service, "events", 1, "active", None, 8200))
    for state in (PAUSED, WAITING, REMOVED, ENDED, FAILED):
        statuses.report(QueryStatus("q", 1, service, "events", 1, state, "why", 8200))
    producer.flush(1.0)
    records = written(log, TOPICS.query_status)
    assert len(records) == 8
    for record in records:
        check(TOPICS.query_status, record.key or b"", record.value or b"")


def test_observations() -> None:
    row = {"query": "q", "query_version": 1, "states": 3, "window": {"size": 60_000, "events": False}}
    rows = [
        {**row, "from": 0, "to": 1, "count": 4, "nanoseconds": 900, "lived": 3},
        {**row, "from": 1, "to": -1, "count": 1},
    ]
    for key, value in transition_messages(rows, stream="events", partition=0):
        check(TOPICS.observations_transitions, key, value)
    seen = {
        "query": "q",
        "query_version": 1,
        "occurrences": {1 << 62: 4},
        "matches": [[1 << 62, 5]],
        "features": {5: [0]},
    }
    for key, value in feature_messages([seen], stream="events", partition=0):
        check(TOPICS.observations_features, key, value)
    samples = LatencySamples()
    samples.processed(10, 100, 5000)
    check(TOPICS.observations_latency, *latency_message(samples.drain(), stream="events", partition=0))


def models() -> list[Model]:
    none = np.zeros((0, 3))
    tables = {"matrix": np.eye(3), "completion": np.array([[0.1, 0.5, 1.0]]), "matches": none, "remaining_ns": none}
    through = {"p.observations.transitions": {"0": 7}}
    transitions = TransitionModel(
        query="q.up",
        query_version=1,
        version=(3, 14),
        states=3,
        window_size=60_000,
        window_events=False,
        expected_events=12.5,
        bin_size=2,
        met=(3, 2, 0),
        lift=np.zeros((0, AGES)),
        seen=np.zeros((0, AGES)),
        observations=5,
        trained_through=through,
        trials=Trials(2.0, 1.5, 1.25),
        **tables,
    )
    function = LatencyFunction("linear", 100.0, 2.5, 7.0)
    return [transitions, LatencyModel("events", (3, 15), function, None, 9, through)]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_models(model: Model) -> None:
    check(TOPICS.models, model.key, model.encode())


@pytest.mark.parametrize("topic", [TOPICS.windows, TOPICS.admitted])
def test_claims(topic: str) -> None:
    with pa.ipc.open_stream(claim_value("0123456789abcdef" * 2)) as reader:
        header = reader.schema.metadata[b"saffron"]
    raw = yaml.safe_load((SCHEMAS / f"{topic}.yaml").read_text("utf-8"))
    Draft202012Validator(raw["schema"]).validate(orjson.loads(header))


def test_controls_of_windowing() -> None:
    """A query in each of its states, a schema that grows, and checkpoints."""
    raw = yaml.safe_load((SCHEMAS / "windows.yaml").read_text("utf-8"))
    operator = WindowingOperator(0, "events", infer_events=1, checkpoint_every=1)
    add = QueryRecord("q", 1, ADD, "PATTERN SEQ(A a, A b) WHERE b.x > 1 WITHIN 9 s", EARLIEST)
    changes: list[Callable[[], None]] = [
        lambda: operator.query("q", add),
        lambda: operator.query("q", replace(add, version=2, op=PAUSE)),
        lambda: operator.query("q", replace(add, version=3, op=RESUME)),
        lambda: operator.fail("q", 1, "it broke"),
        lambda: operator.query("q", None),
    ]
    found: Counter[str] = Counter()
    for at, change in enumerate(changes):
        event = {"type": "A", "ts": at, "x": 1} if at else {"type": "A", "ts": at}
        operator.ingest(batch_of_values([orjson.dumps(event)], np.array([at])))
        change()
        operator.advance_watermark(at + 1)
        for block in operator.flush():
            with pa.ipc.open_stream(encode_block(block)) as reader:
                Draft202012Validator(raw["schema"]).validate(orjson.loads(reader.schema.metadata[b"saffron"]))
            found.update(str(one.body.get("op", one.kind)) for one in block.controls)
    assert found.keys() == {"schema", "checkpoint", "add", "pause", "resume", "fail", "remove"}
