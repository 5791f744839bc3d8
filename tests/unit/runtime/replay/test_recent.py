"""Why, asked of the newest blocks: what the schema and the other queries say is taken into account."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from saffron.engine.events.codec import encode_block
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import batch_of_values
from saffron.engine.why.as_dict import to_dict
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.tags import BlockTag
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.replay.recent import Question, why_now
from saffron.runtime.result_formats.forms import codec, dataschema
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("t.")
QUERY = "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 1 second CONFIDENCE >= 0.1"
EVENTS: list[dict[str, Any]] = [
    {"type": "A", "ts": [10, 19], "x": 1},
    {"type": "B", "ts": [10, 19], "x": 2},
    {"type": "B", "ts": 30, "x": 0},
]


def schema(distribution: Any) -> dict[str, Any]:
    time = {"type": ["integer", "array"], "x-time": {"distribution": distribution}}
    return {
        "type": "object",
        "properties": {"type": {"enum": ["A", "B"]}, "ts": time, "x": {"type": "integer"}},
    }


def log_of(given: dict[str, Any]) -> MemoryLog:
    """A log whose admitted events are these, in one block."""
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics(topic_specs("t.", 1))
    windowing = WindowingOperator(0, "events", from_json_schema(given))
    windowing.ingest(batch_of_values([orjson.dumps(event) for event in EVENTS], None))
    producer = log.producer()
    for block in windowing.flush():
        headers = BlockTag(0, -1, -1, False).headers()
        producer.send(TOPICS.admitted_of("events"), 0, encode_block(block), headers=headers)
    producer.flush(1.0)
    return log


@pytest.mark.filterwarnings("ignore:query warning")
@pytest.mark.parametrize(
    ("distribution", "told", "chance"),
    [("uniform", True, 0.45), ("uniform", False, 0.45), ([1, 0, 0, 0, 0], True, 0.25), ([1, 0, 0, 0, 0], False, 0.45)],
)
def test_confidences_follow_the_schema_that_the_stream_was_given(distribution: Any, told: bool, chance: float) -> None:
    """Ten instants each; all the weight in the first two of them: 1 of 4 times is in order."""
    given = schema(distribution)
    question = Question("q", QUERY, StreamRecord("events", TOPICS.events, schema=given if told else None), "*")
    answer = why_now(log_of(given), TOPICS, "why", question)
    rows = to_dict(answer.trace)["events"]
    assert rows[1]["event"] == {"seq": 1, "ts": [10, 19], "type": "B", "x": 2}
    assert [(one["what"], one["confidence"]) for one in rows[1]["outcomes"]] == [
        ("takes", pytest.approx(chance)),
        ("matches", pytest.approx(chance)),
    ]
    (refused,) = rows[2]["outcomes"]
    assert refused["refused_by"] == [{"variable": "b", "condition": "b.x > a.x", "values": "0 > 1"}]
    assert answer.trace.matches == 1


@pytest.mark.parametrize("form", ["json", "avro", "protobuf"])
def test_a_match_is_found_by_its_id_whatever_it_is_written_as_and_what_others_write(form: str) -> None:
    log = log_of(schema("uniform"))
    result = {"id": "ab" * 16, "query": "q", "partition": 0, "key": {}, "start": 10, "end": 19, "window": None}
    result["events"] = {
        "a": {"seq": 0, "ts": [10, 19], "type": "A", "x": 1},
        "b": {"seq": 1, "ts": [10, 19], "type": "B", "x": 2},
    }
    value = orjson.dumps(result | {"return": {}, "confidence": 0.45, "detected_at": 5})
    headers: tuple[tuple[str, bytes], ...] = (("ce_id", b"ab" * 16),)
    if form != "json":
        value = b"\0\0\0\0\1" + codec(form, "complex-events").payload(value)
        headers += (("content-type", f"application/{form}".encode()), ("ce_dataschema", dataschema("complex-events")))
    producer = log.producer()
    foreign = (
        b'{"of":"abab"}',
        b'{"of":"abab',
        b'{"of":"abab","query":"q"}',
        b'{"id":"abab","query":"q","detected_at":5}',
    )
    for one, more in ((foreign[0], ()), (foreign[1], ()), (value, headers), *((one, ()) for one in foreign[2:])):
        producer.send(TOPICS.complex_events, 0, one, key=b"q", headers=more)
    producer.flush(1.0)
    answer = why_now(
        log,
        TOPICS,
        "why",
        Question("q", QUERY, StreamRecord("events", TOPICS.events, schema=schema("uniform")), "ABAB"),
    )
    assert answer.trace.matches == 1


def test_the_newest_of_the_results_whose_id_begins_so() -> None:
    log = log_of(schema("uniform"))
    producer = log.producer()
    for name in ("ab1", "ab2", "ac3"):
        result = {
            "id": name,
            "query": "q",
            "partition": 0,
            "key": {},
            "events": {"a": None, "b": None},
            "timeout": True,
            "detected_at": 1,
        }
        producer.send(TOPICS.complex_events, 0, orjson.dumps(result), headers=(("ce_id", name.encode()),))
    producer.flush(1.0)
    stream = StreamRecord("events", TOPICS.events, schema=schema("uniform"))
    with pytest.raises(InputError, match="result ab2 is a partial match"):
        why_now(log, TOPICS, "why", Question("q", QUERY, stream, "ab"))
