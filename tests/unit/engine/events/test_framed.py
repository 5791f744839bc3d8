"""Messages in a registry's frame: Avro and Protobuf by their writers' schemas, JSON, and what is none of them."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.formats.avro import avro_reader
from saffron.engine.events.formats.framed import NoReader, Reader, schema_ids, translated, unframed
from saffron.engine.events.formats.protobuf import protobuf_reader
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows import WindowingOperator
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"symbol": Kind.STRING, "price": Kind.FLOAT, "size": Kind.INT},
    {"Quote": ("symbol", "price", "size")},
    {"Quote": frozenset()},
)
FIRST: dict[str, Any] = {
    "type": "record",
    "name": "market.Quote",
    "fields": [
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "symbol", "type": "string"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
    ],
}
SECOND: dict[str, Any] = {
    **FIRST,
    "fields": [
        *FIRST["fields"][:2],
        {"name": "price", "type": "double"},
        {"name": "size", "type": ["null", "long"], "default": None},
    ],
}
WHEN = datetime(2024, 5, 1, 12, 30, 0, 250_000, UTC)
MS = 1_714_566_600_250


def framed(schema: int, payload: bytes) -> bytes:
    return b"\0" + schema.to_bytes(4, "big") + payload


def avro(schema: int, written: Mapping[str, Any], record: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(written)), record)
    return framed(schema, stream.getvalue())


def decoded(batch: RawBatch) -> Decoded:
    return Decoder(SCHEMA).decode(batch)


def columns(found: Decoded) -> dict[str, list[Any]]:
    return {name: column_values(column) for name, column in found.attributes.items()}


def read(values: list[bytes], readers: Mapping[int, Reader | NoReader]) -> Decoded:
    batch = batch_of_values(values, times=np.full(len(values), MS, np.int64))
    return decoded(translated(batch, schema_ids(batch), readers))


def test_avro_of_two_versions_comes_out_as_the_same_columns() -> None:
    readers: dict[int, Reader | NoReader] = {1: avro_reader(json.dumps(FIRST)), 70_000: avro_reader(json.dumps(SECOND))}
    found = read(
        [
            avro(1, FIRST, {"ts": WHEN, "symbol": "IBM", "price": Decimal("77.25")}),
            avro(70_000, SECOND, {"ts": WHEN, "symbol": "KO", "price": 43.5, "size": 7}),
            b'{"type":"Quote","ts":5,"symbol":"XOM"}',
        ],
        readers,
    )
    assert found.ts.tolist() == [MS, MS, 5]
    assert column_values(found.type) == ["Quote"] * 3
    assert columns(found) == {"symbol": ["IBM", "KO", "XOM"], "price": [77.25, 43.5, None], "size": [None, 7, None]}


def test_a_record_may_name_its_type_itself_and_refer_to_another_schema() -> None:
    side = {"type": "enum", "name": "market.Side", "symbols": ["BUY", "SELL"]}
    order = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "type", "type": "string"}, {"name": "symbol", "type": "market.Side"}],
    }
    written = fastavro.parse_schema([side, order])[1]
    found = read(
        [avro(3, written, {"type": "Quote", "symbol": "SELL"})],
        {3: avro_reader(json.dumps(order), [json.dumps(side)])},
    )
    assert (column_values(found.type), columns(found)["symbol"], found.ts.tolist()) == (["Quote"], ["SELL"], [MS])


def proto() -> descriptor_pb2.FileDescriptorProto:
    """Quote { Timestamp ts = 1; string symbol = 2; double price = 3; int64 size = 4; message Other {} }"""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="quote.proto", package="market", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Before")
    quote = file.message_type.add(name="Quote")
    quote.field.add(name="ts", number=1, type=kind.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    quote.field.add(name="symbol", number=2, type=kind.TYPE_STRING, label=1)
    quote.field.add(name="price", number=3, type=kind.TYPE_DOUBLE, label=1)
    quote.field.add(name="size", number=4, type=kind.TYPE_INT64, label=1)
    return file


def test_protobuf_comes_out_as_the_same_columns() -> None:
    file = proto()
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("market.Quote"))
    message = made(symbol="IBM", price=77.25)
    message.ts.FromDatetime(WHEN)
    path = b"\x02\x02"  # one index: the second message
    reader = protobuf_reader(base64.b64encode(file.SerializeToString()).decode())
    found = read([framed(9, path + message.SerializeToString()), framed(9, path)], {9: reader})
    assert found.ts.tolist() == [MS, MS]
    assert column_values(found.type) == ["Quote", "Quote"]
    assert columns(found) == {"symbol": ["IBM", ""], "price": [77.25, 0.0], "size": [0, 0]}
    short = read([framed(9, b"\0"), framed(9, b"\x02\x08"), framed(9, b"\x02\x02\x0a\x7f")], {9: reader})
    assert column_values(short.type) == ["Before"], "no indexes mean the first message"
    assert [bad.reason for bad in short.bad] == ["bad-payload", "bad-payload"]


def test_json_in_a_frame_is_the_json_behind_it() -> None:
    batch = batch_of_values(
        [framed(4, b'{"type":"Quote","ts":1,"size":3}'), b'{"type":"Quote","ts":2}', b"\1torn", b""]
    )
    found = decoded(unframed(batch, schema_ids(batch)))
    assert found.ts.tolist() == [1, 2]
    assert columns(found)["size"] == [3, None]
    assert [(bad.row, bad.reason) for bad in found.bad] == [(2, "no-frame"), (3, "no-frame")]


def test_what_cannot_be_read_is_a_dead_letter_with_its_own_bytes_and_the_reason() -> None:
    good = avro(1, FIRST, {"ts": WHEN, "symbol": "IBM", "price": Decimal("77.25")})
    values = [good, good[:-1], good + b"x", b"\0\0", framed(8, b"x"), good]
    batch = batch_of_values(values, np.arange(100, 106), np.full(6, MS, np.int64))
    readers: dict[int, Reader | NoReader] = {1: avro_reader(json.dumps(FIRST)), 8: NoReader("unknown-schema", "none")}
    operator = WindowingOperator(0, "s", SCHEMA)
    operator.ingest(translated(batch, schema_ids(batch), readers))
    assert sum(len(block.columns) for block in operator.flush()) == 2
    letters = operator.take_dead_letters()
    assert [(one.offset, one.reason, one.value) for one in letters] == [
        (101, "bad-payload", good[:-1]),
        (102, "bad-payload", good + b"x"),
        (103, "no-frame", b"\0\0"),
        (104, "unknown-schema", framed(8, b"x")),
    ]
    assert letters[1].detail == "not by schema 1, which it names: 1 byte is left over"
