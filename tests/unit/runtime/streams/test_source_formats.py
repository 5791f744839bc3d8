"""Messages of a definition's source are translated as those of a stream are: by its format and its registry."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import fastavro
import numpy as np
import pytest

from saffron.engine.events.formats.framed import frame_head
from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition import SourceDefinition, TypeRule
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.flat.flattening import Flattener
from saffron.records.stream import StreamRecord
from saffron.runtime.streams import stream_formats
from saffron.runtime.streams.stream_formats import Formats, Written

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "customer", "type": {"type": "record", "name": "C", "fields": [{"name": "tier", "type": "string"}]}},
    ],
}


def at_once(act: Any) -> Any:
    future: Future[Any] = Future()
    future.set_result(act())
    return future


@pytest.fixture
def formats(monkeypatch: pytest.MonkeyPatch) -> Formats:
    def answer(path: str) -> Mapping[str, Any]:
        assert path == "/schemas/ids/7"
        return {"schema": json.dumps(SCHEMA)}

    monkeypatch.setattr(stream_formats, "over_http", lambda *_: answer)
    return Formats("", lambda: 0, at_once)


def avro() -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(SCHEMA), {"id": "O-1", "customer": {"tier": "gold"}})
    return frame_head(7) + stream.getvalue()


def test_a_source_in_avro_is_flattened_and_what_is_none_refused(formats: Formats) -> None:
    text = "stream: s\nsources:\n- topic: t\n  format: avro\n  registry: http://r:1\n  type: {field: type}"
    (source,) = read_definition(text).sources
    batch = batch_of_values([avro(), b"\1", b'{"type":"T","id":"O-2"}'], times=np.full(3, 5))
    found = Flattener(source).flatten(formats.translated_now(source, batch))
    assert [json.loads(found.value(event)) for event in range(2)] == [
        {"id": "O-1", "customer.tier": "gold", "type": "Order", "ts": 5},
        {"id": "O-2", "type": "T", "ts": 5},
    ]
    assert [(row, one.reason) for row, one in found.refused] == [(1, "no-frame")]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (SourceDefinition("t", 0, TypeRule("T"), format="csv"), True),
        (SourceDefinition("t", 0, TypeRule("T")), True),
        (StreamRecord("s", "t"), True),
        (SourceDefinition("t", 0, TypeRule("T"), format="json-schema"), False),
        (StreamRecord("s", "t", format="json-schema"), False),
    ],
)
def test_only_what_has_a_frame_is_translated(formats: Formats, written: Written, same: bool) -> None:
    batch = batch_of_values([frame_head(1) + b'{"a":1}'])
    found = formats.translated_now(written, batch)
    assert (found is batch) == same
    assert found.value(0).endswith(b'{"a":1}')
    assert base64.b64encode(found.value(0)).startswith(b"AA") == same
