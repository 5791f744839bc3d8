"""A registry may answer anything: a message by its schema is read, refused or waits, with the reason; nothing ends."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.formats.framed import frame_head
from saffron.engine.events.raw import batch_of_values
from saffron.errors import UnavailableError
from saffron.records.stream import StreamRecord
from saffron.runtime.process.background import at_once
from saffron.runtime.streams import stream_formats
from saffron.runtime.streams.stream_formats import Formats

REGISTRY = "http://odd:1"
STREAM = StreamRecord("s", "t", format="avro", registry=REGISTRY)
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "b", "type": ["null", {"type": "fixed", "name": "F", "size": 2}, "R"]},
        {"name": "c", "type": {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}}},
        {"name": "d", "type": {"type": "map", "values": {"type": "long", "logicalType": "timestamp-nanos"}}},
    ],
}
SERIAL = "?format=serialized"
ODD = st.sampled_from([None, True, -1, 10**30, 1.5, "", "x", "R", "null", "decimal", [], {}, ["null"], {"type": "R"}])


def protobuf(*imports: str) -> str:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", dependency=imports, syntax="proto3")
    file.message_type.add(name="A")
    return base64.b64encode(file.SerializeToString()).decode()


def nested(depth: int) -> str:
    """A schema with a union of arrays in an array, and so on: in as many levels."""
    return (
        '{"type":"record","name":"R","fields":[{"name":"a","type":'
        + '["null",{"type":"array","items":' * depth
        + '"null"'
        + "}]" * depth
        + "}]}"
    )


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """A JSON document with one of its values replaced, or one of its members left out."""
    found = copy.deepcopy(document)
    at = found
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 3)):
            at = at[key]
            continue
        if draw(st.integers(0, 4)):
            at[key] = draw(ODD)
        else:
            del at[key]
        return found


def outcome(answers: Mapping[str, Any], payload: bytes = b"") -> str:
    """`read`, the reason of the dead letter, or `waits: ` with the reason, of a message by schema 7."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_formats, "over_http", lambda *_: answers.__getitem__)
        try:
            batch = batch_of_values([frame_head(7) + payload])
            refused = Formats("", lambda: 0, at_once).translated_now(STREAM, batch).refused
        except UnavailableError as error:
            return f"waits: {error}"
    return " ".join(next(iter(refused.values()))) if refused else "read"


@given(changed(AVRO), st.binary(max_size=12))
def test_any_schema_reads_or_refuses_its_messages(schema: Any, payload: bytes) -> None:
    found = outcome({"/schemas/ids/7": {"schema": json.dumps(schema)}}, payload)
    assert found.partition(" ")[0] in ("read", "bad-payload", "unknown-schema")


ANSWER = {"schema": json.dumps(AVRO), "schemaType": "AVRO", "references": [{"name": "A", "subject": "a", "version": 1}]}


@given(changed(ANSWER))
def test_any_answer_is_a_schema_or_is_waited_for(answer: Any) -> None:
    found = outcome({"/schemas/ids/7": answer, "/subjects/a/versions/1": {"schema": '{"type":"fixed"}'}})
    assert found.partition(" ")[0] in ("read", "bad-payload", "unknown-schema", "waits:")


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        ({"/schemas/ids/7": [1]}, "waits: no schema registry"),
        ({"/schemas/ids/7": {"schema": 5}}, "waits: no schema registry"),
        ({"/schemas/ids/7": {"schema": "{}", "references": "x"}}, "waits: no schema registry"),
        ({"/schemas/ids/7": {"schema": "{}", "references": [{"name": "A"}]}}, "waits: no schema registry"),
        ({"/schemas/ids/7": {"schema": nested(60)}}, "bad-payload"),
        ({"/schemas/ids/7": {"schema": nested(400)}}, "unknown-schema schema 7 cannot be used"),
    ],
)
def test_the_reason_says_what_was_wrong(answers: Mapping[str, Any], right: str) -> None:
    assert outcome(answers).startswith(right)


@pytest.mark.parametrize(("kind", "text"), [("AVRO", '{"type":"B"}'), ("PROTOBUF", protobuf("b"))])
def test_schemas_that_name_each_other_are_refused(kind: str, text: str) -> None:
    body = {"schema": text, "schemaType": kind, "references": [{"name": "b", "subject": "b", "version": 1}]}
    answers = {f"{path}{form}": body for path in ("/schemas/ids/7", "/subjects/b/versions/1") for form in ("", SERIAL)}
    assert outcome(answers).startswith("unknown-schema schema 7 cannot be used: ")
    assert "TypeError" not in outcome(answers)


def test_a_chain_of_references_without_an_end_is_waited_for() -> None:
    class Endless(dict[str, Any]):
        def __missing__(self, path: str) -> Any:
            longer = "x" * (path.count("x") + 1)
            return {"schema": "{}", "references": [{"name": longer, "subject": longer, "version": 1}]}

    assert outcome(Endless()).startswith("waits: schema 7 cannot be fetched: RecursionError")


def test_a_registry_that_hangs_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    released, asked = Event(), Event()

    def client(url: str, _: str) -> Any:
        def get(path: str) -> Any:
            if url == REGISTRY:
                asked.set()
                released.wait()
            return {"schema": '{"type":"record","name":"R","fields":[]}'}

        return get

    monkeypatch.setattr(stream_formats, "over_http", client)
    formats = Formats("", lambda: 0)
    batch = batch_of_values([frame_head(7)])
    try:
        hanging = formats.translation(lambda: STREAM)
        assert hanging(batch) is None
        asked.wait()
        other = formats.translation(lambda: StreamRecord("o", "o", format="avro", registry="http://well:1"))
        while (found := other(batch)) is None:
            pass
        assert found.value(0) == b'{"type":"R"}'
    finally:
        released.set()
        formats.close()
