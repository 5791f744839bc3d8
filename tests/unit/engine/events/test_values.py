"""A value means what the JSON of it means, whatever it comes in: dicts, tables, Parquet, Avro and Protobuf."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Context, Decimal
from typing import Any

import fastavro
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.api.source import source_of
from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.formats.avro import avro_reader
from saffron.engine.events.formats.protobuf import protobuf_reader
from saffron.engine.events.formats.tabular import parquet_events
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.schema.schema import Kind, Schema

FEW = settings(max_examples=25, deadline=None, derandomize=True)
SCHEMAS = [
    Schema({"x": kind}, {"A": ("x",)}, {"A": frozenset()}, given=given)
    for kind in (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL)
    for given in (False, True)
]


def as_text(value: Any) -> str:
    """What JSON has for a value: written down once more, in words as plain as can be."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        if value.is_nan() if isinstance(value, Decimal) else value != value:
            return '"NaN"'
        if abs(value) == math.inf:
            return '"Infinity"' if value > 0 else '"-Infinity"'
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
            return str(int(value))  # all its digits: as a number of JSON, the shortest text can be another one
        return str(value) if isinstance(value, Decimal) else repr(value)
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = "\\x"
        return json.dumps("\\x" + value.hex() if text.startswith("\\x") else text)
    if isinstance(value, datetime | date):
        return json.dumps(value.isoformat())
    if isinstance(value, timedelta):
        return str(Decimal(value // timedelta(microseconds=1)) / 1000)
    return json.dumps(value)


def outcome(batch: RawBatch, schema: Schema) -> Any:
    decoded = Decoder(schema).decode(batch)
    return column_values(decoded.attributes["x"]), [(one.row, one.reason) for one in decoded.bad], decoded.mistyped


def check(batch: RawBatch, values: Sequence[Any]) -> None:
    """The batch holds what the JSON of the values does."""
    lines = [f'{{"type":"A","ts":1,"x":{as_text(value)}}}'.encode() for value in values]
    for schema in SCHEMAS:
        assert outcome(batch, schema) == outcome(batch_of_values(lines), schema)


def read(events: Any) -> RawBatch:
    (batch,) = source_of(events).batches(None)
    return batch


WHOLE = st.integers() | st.integers(-(2**65), 2**65) | st.sampled_from([2**53 + 1, 2**63 - 1, 2**64 - 1, 10**400])
FLOATS = (
    st.floats() | st.floats(2.0**53, 2.0**63) | st.floats(-(2.0**63), -(2.0**53)) | st.sampled_from([2.0**60, 1e18])
)
DECIMALS = st.decimals(allow_nan=None, allow_infinity=True) | st.decimals(allow_nan=False, places=2)
TEXT = st.text(st.characters(codec=None), max_size=5)
MOMENTS = st.datetimes() | st.datetimes(timezones=st.just(UTC))
VALUES = st.one_of(
    st.none(), st.booleans(), WHOLE, FLOATS, DECIMALS, TEXT, st.binary(max_size=4), MOMENTS, st.timedeltas()
)


@settings(FEW, max_examples=300)
@given(st.lists(VALUES, min_size=1, max_size=8))
def test_dicts(values: list[Any]) -> None:
    values = [math.inf if isinstance(one, int) and one > 10**300 else one for one in values]
    values = [-math.inf if isinstance(one, int) and one < -(10**300) else one for one in values]
    check(read([{"type": "A", "ts": 1, "x": value} for value in values]), values)


COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "u64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "i64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float64(), FLOATS),
    "decimal": (pa.decimal128(38, 2), st.decimals(-(10**35), 10**35, places=2)),
    "whole decimal": (pa.decimal128(20, 0), st.integers(-(10**19), 10**19).map(Decimal)),
    "wide decimal": (pa.decimal256(76, 10), st.decimals(-(10**60), 10**60, places=10)),
    "bytes": (pa.binary(), st.binary(max_size=4)),
    "fixed bytes": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "text": (pa.string(), st.text(max_size=4)),
    "bool": (pa.bool_(), st.booleans()),
    "moment": (pa.timestamp("us"), st.datetimes()),
    "moment somewhere": (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    "date": (pa.date32(), st.dates()),
    "duration": (pa.duration("us"), st.timedeltas(timedelta(-(10**5)), timedelta(10**5))),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "", "b"])),
}


@pytest.mark.parametrize("name", COLUMNS)
@settings(FEW)
@given(data=st.data())
def test_tables_and_parquet(name: str, data: st.DataObject) -> None:
    kind, drawn = COLUMNS[name]
    values = data.draw(st.lists(st.none() | drawn, min_size=1, max_size=6))
    table = pa.table({"type": ["A"] * len(values), "ts": [1] * len(values), "x": pa.array(values, kind)})
    check(read(table), values)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    (rows,) = parquet_events("it", sink.getvalue())
    check(rows.batch(np.arange(len(values))), values)


AVRO: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "double": ("double", FLOATS),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 4},
        st.decimals(-(10**25), 10**25, places=4),
    ),
    "bytes": ("bytes", st.binary(max_size=4)),
    "string": ("string", st.text(max_size=4)),
    "moment": (
        {"type": "long", "logicalType": "timestamp-micros"},
        st.datetimes(timezones=st.just(UTC)),
    ),
}


@pytest.mark.parametrize("name", AVRO)
@settings(FEW)
@given(data=st.data())
def test_avro(name: str, data: st.DataObject) -> None:
    kind, drawn = AVRO[name]
    fields = [{"name": "ts", "type": "long"}, {"name": "x", "type": kind}]
    schema = {"type": "record", "name": "A", "fields": fields}
    value = data.draw(drawn)
    payload = io.BytesIO()
    fastavro.schemaless_writer(payload, fastavro.parse_schema(schema), {"ts": 1, "x": value})
    check(batch_of_values([avro_reader(json.dumps(schema))(payload.getvalue())]), [value])


_FIELD = descriptor_pb2.FieldDescriptorProto
PROTOBUF: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int64": (_FIELD.TYPE_INT64, st.integers(-(2**63), 2**63 - 1)),
    "uint64": (_FIELD.TYPE_UINT64, st.integers(0, 2**64 - 1)),
    "double": (_FIELD.TYPE_DOUBLE, FLOATS),
    "bytes": (_FIELD.TYPE_BYTES, st.binary(max_size=4)),
    "string": (_FIELD.TYPE_STRING, st.text(max_size=4)),
}


def protobuf(kind: Any) -> tuple[Any, Any]:
    """A { int64 ts = 1; KIND x = 2; google.protobuf.Timestamp at = 3 }: (its class, its reader)."""
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="p", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    made = file.message_type.add(name="A")
    made.field.add(name="ts", number=1, type=_FIELD.TYPE_INT64, label=1)
    made.field.add(name="x", number=2, type=kind, label=1)
    made.field.add(name="at", number=3, type=_FIELD.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    reader = protobuf_reader(base64.b64encode(file.SerializeToString()).decode())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.A")), reader


@pytest.mark.parametrize("name", PROTOBUF)
@settings(FEW)
@given(data=st.data())
def test_protobuf(name: str, data: st.DataObject) -> None:
    kind, drawn = PROTOBUF[name]
    made, reader = protobuf(kind)
    value = data.draw(drawn)
    check(batch_of_values([reader(b"\0" + made(ts=1, x=value).SerializeToString())]), [value])


def test_a_time_of_protobuf_that_no_calendar_has_ends_nothing() -> None:
    made, reader = protobuf(_FIELD.TYPE_INT64)
    message = made(ts=1, x=2)
    message.at.seconds = 253_402_300_800
    message.at.nanos = 5001
    assert json.loads(reader(b"\0" + message.SerializeToString()))["at"] == "10000-01-01T00:00:00.000005001+00:00"


FAR: dict[str, tuple[Any, int, Any]] = {
    "seconds": (pa.timestamp("s"), 253_402_300_800, "10000-01-01T00:00:00"),
    "seconds somewhere": (pa.timestamp("s", tz="Asia/Tokyo"), 253_402_300_800, "10000-01-01T00:00:00+00:00"),
    "microseconds": (pa.timestamp("us"), -62_135_596_800_000_001, "0000-12-31T23:59:59.999999"),
    "beyond microseconds": (pa.timestamp("s"), 2**62, "146138514283-06-19T07:45:04"),
    "days": (pa.date32(), 2_932_897, "10000-01-01"),
    "duration": (pa.duration("s"), 2**60, 2**60 * 1000),
    "nanoseconds before 1970": (pa.timestamp("ns"), -1, "1969-12-31T23:59:59.999999999"),
    "nanoseconds somewhere": (pa.timestamp("ns", tz="Asia/Tokyo"), 1, "1970-01-01T09:00:00.000000001+09:00"),
    "nanoseconds of a day": (pa.time64("ns"), 1, "00:00:00.000000001"),
}


@pytest.mark.parametrize("name", FAR)
def test_times_that_python_does_not_have_are_values_of_their_row_alone(name: str) -> None:
    kind, stored, text = FAR[name]
    storage = pa.int32() if kind == pa.date32() else pa.int64()
    column = pa.array([stored, 0, None], storage).view(kind)
    batch = read(pa.table({"type": ["A"] * 3, "ts": [1, 2, 3], "x": column}))
    values = [json.loads(batch.value(row))["x"] for row in range(3)]
    assert values[0] == text
    assert values[1] == (0 if pa.types.is_duration(kind) else values[1])
    assert values[2] is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_ts_is_cut_to_milliseconds_towards_the_past(unit: str) -> None:
    count = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    stored = [-count * 3 // 2, -1, 0, 1, 2**62]
    table = pa.table({"type": ["A"] * 5, "ts": pa.array(stored, pa.int64()).cast(pa.timestamp(unit))})
    batch = read(table)
    assert [json.loads(batch.value(row))["ts"] for row in range(5)] == [one * 1000 // count for one in stored]


def test_different_bytes_are_different_texts() -> None:
    values = [b"\x80\x81", b"\x90\x91", b"\\x8081", b"\\x80\x81", b"text", b""]
    batch = read([{"type": "A", "ts": 1, "x": value} for value in values])
    texts = [json.loads(batch.value(row))["x"] for row in range(len(values))]
    assert texts[0] == "\\x8081"
    assert texts[-2:] == ["text", ""]
    assert len(set(texts)) == len(values)


def test_text_of_a_file_that_is_none_is_read_as_bytes() -> None:
    broken = pa.array([b"a", b"\xff", None], pa.binary()).view(pa.string())
    batch = read(pa.table({"type": ["A"] * 3, "ts": [1, 2, 3], "x": broken}))
    assert [json.loads(batch.value(row))["x"] for row in range(3)] == ["a", "\\xff", None]


def test_lists_and_structs_are_arrays_and_objects_of_the_same_values() -> None:
    far = pa.array([[253_402_300_800, None], None, []], pa.list_(pa.timestamp("s")))
    nested = pa.array([{"a": [b"x"], "b": {"c": 1}}, None, {"a": None, "b": None}])
    pairs = pa.array([[("k", 1.5)], None, []], pa.map_(pa.string(), pa.float64()))
    table = pa.table({"type": ["A"] * 3, "ts": [1, 2, 3], "x": far, "n": nested, "m": pairs})
    for read_table in (table, pa.concat_tables([table, table]).combine_chunks().slice(1, 4)):
        rows = [json.loads(line) for line in map(read(read_table).value, range(read_table.num_rows))]
        whole: dict[int, dict[str, Any]] = {
            1: {"x": ["10000-01-01T00:00:00", None], "n": {"a": ["x"], "b": {"c": 1}}, "m": {"k": 1.5}},
            2: {"x": None, "n": None, "m": None},
            3: {"x": [], "n": {"a": None, "b": None}, "m": {}},
        }
        assert rows == [{"type": "A", "ts": row["ts"], **whole[row["ts"]]} for row in rows]


def test_what_a_time_is_does_not_depend_on_the_times_beside_it() -> None:
    kind = pa.timestamp("s", tz="Asia/Tokyo")
    far = pa.array([0, 253_402_300_800, None, 1], pa.int64()).view(kind)
    alone = pa.array([0], pa.int64()).view(kind)
    texts = []
    for column in (alone, far, alone.dictionary_encode(), pa.array([0, 0], pa.int64()).view(kind)):
        batch = read(pa.table({"type": ["A"] * len(column), "ts": [1] * len(column), "x": column}))
        texts.append(json.loads(batch.value(0))["x"])
    assert texts == ["1970-01-01T09:00:00+09:00"] * 4


ODD: dict[str, tuple[Any, Any]] = {
    "day": (pa.array([2_932_897], pa.int32()).view(pa.date32()), "10000-01-01"),
    "nanosecond": (pa.array([1], pa.int64()).view(pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
    "duration": (pa.array([1], pa.int64()).view(pa.duration("ns")), 1e-06),
    "interval": (pa.array([(14, 3, 2_500_000_000)], pa.month_day_nano_interval()), "P14M3DT2.5S"),
    "bytes": (pa.array([b"\x80"]), "\\x80"),
    "text that is none": (pa.array([b"\xff"]).view(pa.string()), "\\xff"),
    "infinity": (pa.array([math.inf]), "Infinity"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_values_are_the_same_alone_and_in_lists_structs_and_maps(name: str) -> None:
    value, right = ODD[name]
    spans: Any = pa.array([0, 1], pa.int32())
    whole = pa.types.is_string(value.type)  # Arrow validates the text of runs itself
    columns = {
        "x": value,
        "runs": value if whole else pa.RunEndEncodedArray.from_arrays(spans[1:], value),
        "list": pa.ListArray.from_arrays(spans, value),
        "struct": pa.StructArray.from_arrays([value], ["a"]),
        "map": pa.MapArray.from_arrays(spans, pa.array(["k"]), value),
        "maps": pa.ListArray.from_arrays(spans, pa.MapArray.from_arrays(spans, pa.array(["k"]), value)),
    }
    event = json.loads(read(pa.table({"type": ["A"], "ts": [1], **columns})).value(0))
    assert [event["x"], event["runs"], event["list"], event["struct"]] == [right, right, [right], {"a": right}]
    assert [event["map"], event["maps"]] == [{"k": right}, [{"k": right}]]


KEYS: dict[str, tuple[Any, str]] = {
    "bytes": (pa.array([b"\x80"]), "\\x80"),
    "day": (pa.array([1], pa.int32()).view(pa.date32()), "1970-01-02"),
    "moment": (pa.array([1], pa.int64()).view(pa.timestamp("s")), "1970-01-01T00:00:01"),
    "truth": (pa.array([True]), "true"),
    "number": (pa.array([1]), "1"),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_maps_are_texts_as_values_are(name: str) -> None:
    keys, right = KEYS[name]
    spans: Any = pa.array([0, 1], pa.int32())
    column = pa.MapArray.from_arrays(spans, keys, pa.array([5]))
    assert json.loads(read(pa.table({"type": ["A"], "ts": [1], "m": column})).value(0))["m"] == {right: 5}


def test_objects_that_are_no_values_are_refused_with_their_event() -> None:
    events = [{"type": "A", "ts": 1}, 5, {"type": "A", "ts": 2, "x": object()}, {"type": "A", ("a",): 1}]
    events.append({"type": "A", "ts": 3, "x": {1: {2, 3}}})
    decoded = Decoder(SCHEMAS[0]).decode(read(events))
    assert decoded.rows.tolist() == [0]
    assert [one.reason for one in decoded.bad] == ["not-json", "not-json", "not-json", "not-json"]
    assert decoded.bad[0].detail == "a int; each event is a dict with 'type' and 'ts'"
    assert decoded.bad[1].detail.startswith("attribute 'x' cannot be written as JSON: ")


def test_a_data_frame_of_mixed_cells() -> None:
    mixed: list[Any] = [10.5, "9000.00", 7, None, float("nan")]
    frame = pd.DataFrame({"type": ["A"] * 5, "ts": range(5), "x": mixed, "at": [pd.Timestamp(0), *[pd.NaT] * 4]})
    batch = read(frame)
    rows = [json.loads(batch.value(row)) for row in range(5)]
    assert [row["x"] for row in rows] == [10.5, "9000.00", 7, None, None]
    assert [row["at"] for row in rows] == ["1970-01-01T00:00:00", None, None, None, None]
    halves = pd.DataFrame({"type": ["A", "A"], "ts": [1, 2], "x": ["a\ud800", "b"]})
    assert [one.row for one in Decoder(SCHEMAS[0]).decode(read(halves)).bad] == [0]


def test_missing_values_of_pandas_in_dicts_are_null() -> None:
    batch = read([{"type": "A", "ts": 1, "x": pd.NaT}, {"type": "A", "ts": 2, "x": pd.NA}])
    assert [json.loads(batch.value(row))["x"] for row in range(2)] == [None, None]


def test_a_number_that_is_none_makes_no_attribute_one_of_strings() -> None:
    unknown = Schema({"x": Kind.NULL}, {"A": ("x",)}, {"A": frozenset()})
    batch = read(pa.table({"type": ["A"] * 2, "ts": [1, 2], "x": [math.nan, math.inf]}))
    decoded = Decoder(unknown).decode(batch)
    assert (dict(decoded.growth), decoded.mistyped) == ({}, 2)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_value_that_holds_itself_or_is_nested_without_end_is_one_dead_letter() -> None:
    itself: list[Any] = []
    itself.append(itself)
    within: dict[str, Any] = {}
    within["x"] = within

    class Broken:
        def __repr__(self) -> str:
            raise ValueError("no words")

    values = [1, itself, within, nested(5000), Broken(), {"a": nested(5000)}, 2]
    batch = read([{"type": "A", "ts": number, "x": value} for number, value in enumerate(values)])
    assert [one.row for one in Decoder(SCHEMAS[0]).decode(batch).bad] == [1, 2, 3, 4, 5]


A = {"type": "record", "name": "A", "fields": [{"name": "x", "type": ["null", "A"]}]}
INNER = {"type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]}


@pytest.mark.parametrize(
    ("schema", "referenced", "head", "layer"),
    [
        (A, [], b"", b"\x02"),
        ({**A, "fields": [{"name": "x", "type": {"type": "array", "items": "A"}}]}, [], b"", b"\x02"),
        ({**A, "fields": [{"name": "x", "type": {"type": "map", "values": [INNER]}}]}, [], b"", b"\x02\x02k\x00"),
        (["B", "A"], [A, INNER], b"\x00", b"\x02"),
    ],
)
def test_a_record_of_avro_that_is_nested_without_end_is_refused(
    schema: Any, referenced: list[Any], head: bytes, layer: bytes
) -> None:
    read = avro_reader(json.dumps(schema), [json.dumps(one) for one in referenced])
    ends = 0 if layer == b"\x02" and "array" not in json.dumps(schema) else 20
    assert json.loads(read(head + layer * 20 + b"\x00" * (ends + 1)))
    for depth in (600, 5_000, 100_000):  # fastavro's compiled reader overflows its stack at the second
        with pytest.raises(ValueError, match="nested too deep"):
            read(head + layer * depth + b"\x00" * (depth + 1))


@pytest.mark.parametrize("seconds", [0, 1, 28, -28, 59])
def test_a_time_is_the_same_whatever_the_seconds_of_its_offset(seconds: int) -> None:
    at = datetime(2024, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=seconds)))
    batch = read([{"type": "A", "ts": at, "x": at}])
    row = json.loads(batch.value(0))
    assert datetime.fromisoformat(row["ts"]) == datetime.fromisoformat(row["x"]) == at
    assert Decoder(SCHEMAS[0]).decode(batch).ts.tolist() == [int(at.timestamp()) * 1000]


@pytest.mark.parametrize("kind", ["bytes", "fixed"])
@pytest.mark.parametrize("number", [0, 1, -1, 123_456_789, -(2**95), 2**95 - 1])
def test_a_decimal_of_avro_keeps_digits_beyond_the_precision_of_its_schema(kind: str, number: int) -> None:
    written = {"type": kind, "name": "D", "size": 12, "logicalType": "decimal", "precision": 3, "scale": 2}
    read = avro_reader(json.dumps({"type": "record", "name": "A", "fields": [{"name": "x", "type": written}]}))
    size = b"\x18" if kind == "bytes" else b""
    found = json.loads(read(size + number.to_bytes(12, "big", signed=True)), parse_float=Decimal, parse_int=Decimal)
    assert found["x"] == Decimal(number).scaleb(-2, Context(prec=60))


def test_structs_without_fields_and_columns_without_rows() -> None:
    kinds = {"s": pa.struct([]), "m": pa.map_(pa.string(), pa.int8()), "l": pa.list_(pa.struct([]))}
    table = pa.table({"type": ["A", "A"], "ts": [1, 2], "s": pa.array([{}, None], kinds["s"])})
    assert [json.loads(read(table).value(row)).get("s", "none") for row in range(2)] == [{}, None]
    empty = pa.table({"type": pa.array([], pa.string()), "ts": pa.array([], pa.int64())})
    for name, kind in kinds.items():
        empty = empty.append_column(name, pa.array([], kind))
    assert list(source_of(empty).batches(None)) == []


def test_a_sparse_column_of_a_data_frame() -> None:
    frame = pd.DataFrame({"type": ["A", "A"], "ts": [1, 2], "x": pd.arrays.SparseArray(np.array([0, 7]))})
    assert [json.loads(read(frame).value(row))["x"] for row in range(2)] == [0, 7]
