"""Nested Avro and Protobuf as nested JSON: the values that their JSON would have, whatever they are in."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.formats.avro import avro_reader
from saffron.engine.events.formats.protobuf import protobuf_reader
from saffron.errors import SchemaError

WHEN = datetime(2024, 5, 1, 12, 30, 0, 250_000, UTC)
MS = 1_714_566_600_250
LINE = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "sku", "type": "string"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2}},
        {"name": "weight", "type": ["null", "double"]},
    ],
}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
            {"name": "id", "type": "long"},
            {"name": "since", "type": {"type": "int", "logicalType": "date"}},
            {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "photo", "type": "bytes"},
            {"name": "tier", "type": {"type": "enum", "name": "Tier", "symbols": ["GOLD", "NONE"]}},
        ]}},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "tags", "type": {"type": "map", "values": ["null", "string", "Line"]}},
    ],
}  # fmt: skip


def avro(schema: Any, record: Any) -> Any:
    return json.loads(avro_reader(json.dumps(schema))(payload(schema, record)), parse_float=Decimal)


def payload(schema: Any, record: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


def test_a_nested_avro_record_is_nested_json() -> None:
    line = {"sku": "a", "price": Decimal("12345678901234567890.25"), "weight": float("nan")}
    customer = {"id": 7, "since": date(2020, 2, 3), "seen": WHEN, "photo": b"\xff\x00", "tier": "GOLD"}
    found = avro(
        ORDER,
        {"ts": WHEN, "customer": customer, "lines": [line, {**line, "weight": None}], "tags": {"x": "y", "z": line}},
    )
    shown = {"sku": "a", "price": Decimal("12345678901234567890.25"), "weight": "NaN"}
    assert found == {
        "type": "Order",
        "ts": MS,
        "customer": {
            "id": 7,
            "since": "2020-02-03",
            "seen": "2024-05-01T12:30:00.250000+00:00",
            "photo": "\\xff00",
            "tier": "GOLD",
        },
        "lines": [shown, {**shown, "weight": None}],
        "tags": {"x": "y", "z": shown},
    }  # fmt: skip


def test_a_union_of_records_has_the_type_of_its_branch() -> None:
    sub = {"type": "record", "name": "a.Sub", "fields": [{"name": "s", "type": "long"}]}
    one = {"type": "record", "name": "a.Paid", "fields": [{"name": "x", "type": "long"}]}
    two = {"type": "record", "name": "a.Sent", "fields": [{"name": "y", "type": "a.Sub"}]}
    written = payload([one, {**two, "fields": [{"name": "y", "type": sub}]}], {"y": {"s": 5}})
    by_name = avro_reader(json.dumps(["a.Paid", "a.Sent"]), [json.dumps(part) for part in (sub, one, two)])
    assert json.loads(by_name(written)) == {"type": "Sent", "y": {"s": 5}}
    two = {"type": "record", "name": "a.Sent", "fields": [{"name": "y", "type": "string"}]}
    assert avro([one, two], {"x": 3}) == {"type": "Paid", "x": 3}
    assert avro([one, two], {"y": "z"}) == {"type": "Sent", "y": "z"}
    read = avro_reader(json.dumps([one, two]))
    for torn, why in ((b"", "ends within"), (b"\x01", "branch -1"), (b"\x06", "branch 3"), (b"\xff" * 20, "64 bits")):
        with pytest.raises(ValueError, match=why):
            read(torn)
    with pytest.raises(SchemaError, match="of no record"):
        avro_reader(json.dumps([one, "string"]))


def proto() -> descriptor_pb2.FileDescriptorProto:
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    for one in ("timestamp", "duration", "wrappers", "struct", "any"):
        file.dependency.append(f"google/protobuf/{one}.proto")
    tier = file.enum_type.add(name="Tier")
    tier.value.add(name="NONE", number=0)
    tier.value.add(name="GOLD", number=1)
    order = file.message_type.add(name="Order")
    line = order.nested_type.add(name="Line")
    line.field.add(name="sku_code", number=1, type=kind.TYPE_STRING, label=1)
    line.field.add(name="count", number=2, type=kind.TYPE_UINT64, label=1)
    line.field.add(name="at", number=3, type=kind.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    for name, key in (("ByName", kind.TYPE_STRING), ("ByFlag", kind.TYPE_BOOL)):
        entry = order.nested_type.add(name=f"{name}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=1)
        entry.field.add(name="value", number=2, type=kind.TYPE_MESSAGE, type_name=".shop.Order.Line", label=1)
        order.field.add(
            name={"ByName": "by_name", "ByFlag": "by_flag"}[name], number=10 + key, type=kind.TYPE_MESSAGE,
            type_name=f".shop.Order.{name}Entry", label=3,
        )  # fmt: skip
    messages = (
        ("ts", 1, ".google.protobuf.Timestamp", 1),
        ("line", 2, ".shop.Order.Line", 1),
        ("lines", 3, ".shop.Order.Line", 3),
        ("wait", 4, ".google.protobuf.Duration", 1),
        ("maybe", 5, ".google.protobuf.Int64Value", 1),
        ("free", 6, ".google.protobuf.Struct", 1),
        ("absent", 7, ".shop.Order.Line", 1),
        ("packed", 8, ".google.protobuf.Any", 1),
    )
    for field, number, of, label in messages:
        order.field.add(name=field, number=number, type=kind.TYPE_MESSAGE, type_name=of, label=label)
    order.field.add(name="tiers", number=30, type=kind.TYPE_ENUM, type_name=".shop.Tier", label=3)
    order.field.add(name="raw", number=31, type=kind.TYPE_BYTES, label=3)
    order.field.add(name="ratio", number=32, type=kind.TYPE_DOUBLE, label=3)
    return file


def order_class(file: descriptor_pb2.FileDescriptorProto) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for one in (timestamp_pb2, duration_pb2, wrappers_pb2, struct_pb2, any_pb2):
        pool.AddSerializedFile(one.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_a_nested_protobuf_message_is_nested_json() -> None:
    file = proto()
    message = order_class(file)()
    message.ts.FromDatetime(WHEN)
    message.line.sku_code, message.line.count = "a", 2**64 - 1
    message.line.at.FromDatetime(WHEN)
    message.lines.add(sku_code="b")
    message.by_name["k"].count = 3
    message.by_flag[True].sku_code = "t"
    message.wait.FromMilliseconds(1500)
    message.maybe.value = 0
    message.free.update({"n": 3, "half": 0.5, "deep": {"list": [1, None, "x", {"y": True}]}})
    message.tiers.extend([1, 0, 9])
    message.raw.extend([b"text", b"\xff"])
    message.ratio.extend([0.5, float("inf")])
    message.packed.type_url, message.packed.value = "x/y", b"z"
    read = protobuf_reader(base64.b64encode(file.SerializeToString()).decode())
    empty = {"sku_code": "", "count": 0}
    assert json.loads(read(b"\0" + message.SerializeToString())) == {
        "type": "Order",
        "ts": MS,
        "line": {"sku_code": "a", "count": 2**64 - 1, "at": "2024-05-01T12:30:00.250000+00:00"},
        "lines": [{**empty, "sku_code": "b"}],
        "by_name": {"k": {**empty, "count": 3}},
        "by_flag": {"true": {**empty, "sku_code": "t"}},
        "wait": 1500,
        "maybe": 0,
        "free": {"n": 3, "half": 0.5, "deep": {"list": [1, None, "x", {"y": True}]}},
        "tiers": ["GOLD", "NONE", 9],
        "raw": ["text", "\\xff"],
        "ratio": [0.5, "Infinity"],
        "packed": {"type_url": "x/y", "value": "z"},
    }  # fmt: skip


_TYPES = st.recursive(
    st.sampled_from(["string", "long", "double", "boolean", ["null", "string"]]),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "map", "values": values}, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda types: {"type": "record", "fields": types}),
    ),
    max_leaves=6,
)


def _named(kind: Any, path: str) -> Any:
    """A drawn type with names for its records and fields."""
    match kind:
        case {"type": "record", "fields": types}:
            named = [{"name": f"f{at}", "type": _named(one, f"{path}_{at}")} for at, one in enumerate(types)]
            return {"type": "record", "name": f"R{path}", "fields": named}
        case {"type": "array", "items": items}:
            return {"type": "array", "items": _named(items, path)}
        case {"type": "map", "values": values}:
            return {"type": "map", "values": _named(values, path)}
        case _:
            return kind


def _values(kind: Any) -> st.SearchStrategy[Any]:
    match kind:
        case {"type": "record", "fields": fields}:
            return st.fixed_dictionaries({one["name"]: _values(one["type"]) for one in fields})
        case {"type": "array", "items": items}:
            return st.lists(_values(items), max_size=3)
        case {"type": "map", "values": values}:
            return st.dictionaries(st.text(max_size=3), _values(values), max_size=3)
        case list():
            return st.one_of(st.none(), st.text(max_size=3))
    return {
        "string": st.text(max_size=5),
        "long": st.integers(-(2**63), 2**63 - 1),
        "double": st.floats(allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
    }[kind]


@given(st.data())
def test_any_avro_record_is_the_json_of_it(data: st.DataObject) -> None:
    types = data.draw(st.lists(_TYPES, min_size=1, max_size=3))
    schema = _named({"type": "record", "fields": types}, "0")
    record = data.draw(_values(schema))
    found = json.loads(avro_reader(json.dumps(schema))(payload(schema, record)))
    assert found == {"type": "R0", **json.loads(json.dumps(record))}
