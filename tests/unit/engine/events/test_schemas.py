"""JSON Schema to schema and back; schemas inferred from events; schemas in the log."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.errors import InputError, LogError, SchemaError
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.events.schema_documents import to_json_schema


def typed(name: Any, properties: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"type": name, **properties}, **rest}


STOCK = typed(
    {"const": "Stock", "description": "a quote"},
    {"ts": {"type": "integer"}, "symbol": {"type": "string"}, "price": {"type": ["integer", "null"]}},
    required=["type", "ts", "symbol", "price"],
)
NEWS = typed({"type": "string", "enum": ["News", "Rumour"]}, {"price": {"type": "number"}, "up": {"type": "boolean"}})


def test_one_type() -> None:
    schema = from_json_schema({"$schema": "x", "title": "t", **STOCK, "additionalProperties": False})
    assert schema == Schema(
        {"symbol": Kind.STRING, "price": Kind.INT},
        {"Stock": ("symbol", "price")},
        {"Stock": frozenset({"symbol"})},
        closed=True,
        given=True,
    )


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_several_types(keyword: str) -> None:
    schema = from_json_schema({keyword: [STOCK, NEWS]})
    assert list(schema.kinds.items()) == [("symbol", Kind.STRING), ("price", Kind.FLOAT), ("up", Kind.BOOL)]
    assert schema.types == {"Stock": ("symbol", "price"), "News": ("price", "up"), "Rumour": ("price", "up")}
    assert not schema.closed
    assert from_json_schema(to_json_schema(schema)) == schema


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (3, "#: should be a JSON object"),
        ({}, "#/type: an event is an object"),
        ({"type": "object"}, "#/properties/type: is missing"),
        (typed({"type": "string"}, {}), "#/properties/type: needs either const"),
        (typed({"const": 5}, {}), "event types are strings"),
        (typed({"const": "A"}, {"a": {"type": "date"}}), "#/properties/a/type: should be string"),
        (typed({"const": "A"}, {"a": {"type": [{}]}}), "#/properties/a/type: should be string"),
        (typed({"const": "A"}, {"a": {"type": "string", "pattern": "x"}}), "#/properties/a/pattern: this keyword"),
        (typed({"const": "A"}, {"ts": {"type": "boolean"}}), "#/properties/ts/type"),
        (typed({"const": "A"}, {}, required=["b"]), "#/required: 'b'"),
        (typed({"const": "A"}, {}, additionalProperties={}), "#/additionalProperties: should be true or false"),
        ({"oneOf": []}, "#/oneOf: should list"),
        ({"oneOf": [STOCK], "anyOf": [NEWS]}, "both oneOf and anyOf"),
        ({"oneOf": [STOCK, STOCK]}, "'Stock' is described twice"),
        (
            {"oneOf": [STOCK, typed({"const": "B"}, {"price": {"type": "string"}})]},
            "#/oneOf/1/properties/price: 'price'",
        ),
        ({"oneOf": [STOCK, {**NEWS, "additionalProperties": False}]}, "#/oneOf/0/additionalProperties"),
    ],
)
def test_refusals_name_the_place(document: Any, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        from_json_schema(document)
    assert words in str(caught.value)


def infer(*lines: str) -> Schema:
    return infer_schema([batch_of_lines("\n".join(lines).encode())])


def test_inference() -> None:
    schema = infer(
        '{"type":"A","ts":1,"n":1,"x":1,"s":"a","none":null,"big":9223372036854775808}',
        "not json",
        '{"type":"$watermark","ts":1,"odd":1}',
        '{"type":"B","ts":1,"b":true,"n":2}',
        '{"type":"A","ts":1,"x":1.5,"late":1}',
    )
    assert list(schema.kinds.items()) == [
        ("n", Kind.INT), ("x", Kind.FLOAT), ("s", Kind.STRING), ("none", Kind.NULL), ("big", Kind.FLOAT),
        ("b", Kind.BOOL), ("late", Kind.INT),
    ]  # fmt: skip
    assert schema.types == {"A": ("n", "x", "s", "none", "big", "late"), "B": ("b", "n")}
    assert not schema.given


def test_majority_wins_then_the_first() -> None:
    rows = ['{"type":"A","a":1,"b":"x","c":"1"}', '{"type":"A","a":"x","b":1,"c":1}', '{"type":"A","a":2.5,"c":2}']
    kinds = infer(*rows).kinds
    assert kinds == {"a": Kind.FLOAT, "b": Kind.STRING, "c": Kind.INT}


def test_inference_stops_at_the_limit() -> None:
    batch = batch_of_lines(b'{"type":"A","a":1}\n{"type":"B","b":1}\n')
    assert list(infer_schema([batch], limit=1).types) == ["A"]
    assert list(infer_schema([batch, batch], limit=3).types) == ["A", "B"]


def test_record() -> None:
    schema = from_json_schema({"oneOf": [STOCK, NEWS]})
    assert schema_from_record(schema_to_record(schema)) == schema
    with pytest.raises(LogError, match="schema that cannot be read"):
        schema_from_record({"kinds": {"a": "nothing"}})


def test_decode_ndjson_sorts_by_time() -> None:
    schema, columns = decode_ndjson(b'{"type":"A","ts":5,"n":0}\n{"type":"A","ts":3,"n":1}\n{"type":"A","ts":5,"n":2}')
    assert schema.kinds == {"n": Kind.INT}
    assert columns.seq.tolist() == [0, 1, 2]
    assert columns.attributes["n"].data.tolist() == [1, 0, 2]
    with pytest.raises(InputError, match="event 1: not-json"):
        decode_ndjson(b'{"type":"A","ts":5}\nx')


def test_objects_inside_are_attributes_with_dotted_names() -> None:
    inner = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}
    document = typed(
        {"const": "A"},
        {"order": inner, "by": {**inner, "type": ["object", "null"]}, "tags": {"type": "array", "items": {}}},
        required=["type", "order", "by", "tags"],
    )
    schema = from_json_schema(document)
    assert schema.kinds == {
        "order.id": Kind.STRING, "order.n": Kind.INT, "by.id": Kind.STRING, "by.n": Kind.INT, "tags": Kind.ARRAY,
    }  # fmt: skip
    assert schema.required["A"] == {"order.id", "tags"}
    assert from_json_schema(to_json_schema(schema)) == schema
    with pytest.raises(SchemaError, match="every event type of a stream and every object"):
        from_json_schema({**document, "additionalProperties": False})
    with pytest.raises(SchemaError, match="#/properties/order/properties/id/type: should be"):
        from_json_schema(typed({"const": "A"}, {"order": {**inner, "properties": {"id": {"type": "date"}}}}))
