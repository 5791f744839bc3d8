"""Versions of the schema: inferred, given, and given anew."""

from __future__ import annotations

import pytest

from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows import WindowingOperator
from saffron.errors import SchemaError
from saffron.records.stream import StreamRecord
from saffron.schema.schema import Kind
from tests.unit.engine.windows.records import batch, controls, events


def test_inferred_from_what_is_at_hand_when_flushed() -> None:
    operator = WindowingOperator(0, "events")
    operator.ingest(batch('{"type":"A","ts":1,"y":1}', '{"type":"A","ts":2,"y":1.5}'))
    assert operator.schema is None
    (block,) = operator.flush()
    assert operator.schema is not None
    assert operator.schema.kinds == {"y": Kind.FLOAT}
    assert controls([block]) == [(0, "schema", None)]
    assert block.controls[0].body == {"schema": schema_to_record(operator.schema)}


def test_inferred_at_the_limit() -> None:
    operator = WindowingOperator(0, "events", infer_events=3)
    operator.ingest(events(1, 2))
    assert operator.schema is None
    operator.ingest(events(3, 4, first=2))
    assert operator.schema is not None
    assert operator.flush()[0].columns.ts.tolist() == [1, 2, 3, 4]


def test_records_without_an_event_infer_nothing() -> None:
    operator = WindowingOperator(0, "events")
    operator.ingest(batch("no", '{"type":"$watermark","ts":5}'))
    assert [block.watermark for block in operator.flush()] == [5]
    assert operator.schema is None
    assert [letter.reason for letter in operator.take_dead_letters()] == ["not-json"]
    operator.ingest(events(6, first=2))
    assert operator.flush()[0].columns.ts.tolist() == [6]


def test_schema_from_the_stream_and_its_change() -> None:
    document = {"type": "object", "properties": {"type": {"const": "A"}, "x": {"type": "integer"}}}
    operator = WindowingOperator(0, "events")
    operator.configure(StreamRecord("events", "t", schema=document, disorder=5))
    operator.configure(StreamRecord("events", "t", schema=document, disorder=5))
    assert operator.disorder_ms == 5
    assert controls(operator.flush()) == [(0, "schema", None)]
    document["properties"]["y"] = {"type": "string"}  # type: ignore[index]
    operator.configure(StreamRecord("events", "t", schema=document))
    assert controls(operator.flush()) == [(0, "schema", None)]
    document["properties"]["x"] = {"type": "string"}  # type: ignore[index]
    with pytest.raises(SchemaError, match="another name"):
        operator.configure(StreamRecord("events", "t", schema=document))
