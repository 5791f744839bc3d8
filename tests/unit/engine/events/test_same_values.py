"""One value gives one answer on every way in: scalars and arrays of NumPy, data frames, tables, maps, Avro."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import fastavro
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saffron
from saffron.api.source import source_of
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.formats.avro import avro_reader
from saffron.engine.events.formats.files import read_content
from saffron.engine.events.raw import RawBatch
from saffron.errors import InputError
from saffron.schema.schema import Kind, Schema

SOME = settings(max_examples=60, deadline=None, derandomize=True)
A_FLOAT = Schema({"x": Kind.FLOAT}, {"A": ("x",)}, {"A": frozenset()})


def read(events: Any) -> RawBatch:
    (batch,) = source_of(events).batches(None)
    return batch


def rows(events: Any) -> list[Any]:
    """The attribute x of each event, with all digits of its numbers."""
    batch = read(events)
    found = [json.loads(batch.value(row), parse_float=Decimal, parse_int=Decimal)["x"] for row in range(len(batch))]
    return [str(one) if isinstance(one, Decimal) else one for one in found]


def refused(events: Any) -> list[int]:
    return [one.row for one in Decoder(A_FLOAT).decode(read(events)).bad]


def dicts(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"type": "A", "ts": 1, "x": value} for value in values]


def table(column: Any) -> pa.Table:
    return pa.table({"type": ["A"] * len(column), "ts": [1] * len(column), "x": column})


TIMES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in ("s", "ms", "us", "ns")]
DTYPES = ["datetime64[D]", *TIMES, "int8", "uint64", "int64", "float16", "float32", "float64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@SOME
@given(data=st.data())
def test_scalars_and_arrays_of_numpy_are_what_a_table_of_them_has(dtype: str, data: st.DataObject) -> None:
    bits = np.dtype(dtype).itemsize * 8
    few = st.integers(-(2**31), 2**31 - 1) if dtype == "datetime64[D]" else st.integers(0, 2**bits - 1)
    drawn = data.draw(st.lists(few | st.integers(0, 1), min_size=1, max_size=4))
    if dtype == "bool":
        drawn = [one % 2 for one in drawn]
    values = np.array([one % 2**bits for one in drawn], f"uint{bits}").view(dtype)
    right = rows(table(pa.array(values)))
    assert rows(dicts(list(values))) == right
    lists = rows(table(pa.array([list(pa.array(values))], pa.list_(pa.array(values).type))))
    assert rows(dicts([values])) == lists
    assert rows(dicts([values.reshape(1, -1)])) == [lists]
    assert rows(dicts([np.array(one, values.dtype) for one in values])) == right


def test_times_of_numpy_in_other_units() -> None:
    values = [
        np.datetime64("2026-05"),
        np.datetime64("1969"),
        np.datetime64("2026-05-07", "W"),
        np.datetime64(-1, "ps"),
    ]
    assert rows(dicts(values)) == ["2026-05-01", "1969-01-01", "2026-05-07", "1969-12-31T23:59:59.999999999"]
    assert rows(dicts([np.timedelta64(14, "M"), np.timedelta64(1, "W"), np.timedelta64(90, "m")])) == [
        "P14M", "604800000", "5400000",
    ]  # fmt: skip
    assert refused(dicts([np.timedelta64(5), np.complex128(1), np.datetime64("NaT"), 1.5])) == [0, 1]


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(2**64, 2**66), st.floats(), st.text(max_size=3),
    st.binary(max_size=3), st.dates(), st.datetimes(), st.datetimes(timezones=st.just(UTC)), st.times(),
    st.timedeltas(timedelta(-(10**5)), timedelta(10**5)), st.decimals(allow_nan=False, places=3),
    st.lists(st.floats() | st.integers(-5, 5), max_size=2), st.builds(pd.Timedelta, st.integers(-5, 5)),
)  # fmt: skip


@settings(SOME, max_examples=400)
@given(st.lists(CELLS, min_size=1, max_size=4))
def test_objects_of_a_data_frame_are_what_they_are_in_dicts(cells: list[Any]) -> None:
    column = pd.Series(cells, dtype=object)
    frame = pd.DataFrame({"type": ["A"] * len(cells), "ts": [1] * len(cells), "x": column})
    missing = [None if isinstance(one, float) and math.isnan(one) else one for one in cells]
    assert list(map(_number, rows(frame))) == list(map(_number, rows(dicts(missing))))


def _number(value: Any) -> Any:
    """A number by its value: 1.50 in a column of decimals is 1.5."""
    try:
        return Decimal(value)
    except (ArithmeticError, TypeError, ValueError):
        return value


def test_periods_and_intervals_of_a_data_frame_are_refused_as_in_dicts() -> None:
    for cells in (pd.period_range("2026-01", periods=1, freq="M"), pd.interval_range(0, 1)):
        frame = pd.DataFrame({"type": ["A"], "ts": [1], "x": cells})
        assert refused(frame) == refused(dicts(list(cells))) == [0]


KEYS = [1, True, 1.5, math.nan, "a", b"a", b"\x80", date(2026, 5, 1), time(1), Decimal("1.50"), timedelta(seconds=1.5)]
KEYS += [
    datetime(2026, 5, 1, tzinfo=UTC).replace(tzinfo=None),
    datetime(1880, 5, 1, 2, tzinfo=UTC),
    np.float32(0.1),
    np.int64(3),
    2**70,
    None,
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_the_key_of_a_map_is_the_text_of_its_value(key: Any) -> None:
    (value,) = rows(dicts([key]))
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
    assert rows(dicts([{key: 5}])) == [{text: Decimal(5)}]
    if key is not None and key != 2**70:
        kind = pa.array([key]).type
        assert rows(table(pa.array([[(key, 5)]], pa.map_(kind, pa.int64())))) == [{text: Decimal(5)}]


def test_a_map_whose_keys_are_no_scalars_is_refused_alone() -> None:
    column = pa.array([[([1], 5)], None], pa.map_(pa.list_(pa.int64()), pa.int64()))
    assert refused(table(column)) == refused(dicts([{(1,): 5}, None])) == [0]


@dataclass
class Point:
    x: Any


class Half(float):
    pass


def test_objects_that_stand_for_values() -> None:
    values = [
        Point(math.nan),
        MappingProxyType({"a": math.inf}),
        UUID(int=5),
        Half(1.5),
        [Half(math.nan)],
        [Point(None)],
    ]
    right = [{"x": "NaN"}, {"a": "Infinity"}, str(UUID(int=5)), "1.5", ["NaN"], [{"x": None}]]
    assert rows(dicts(values)) == right


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=str)
def test_a_time_of_day_that_is_none_is_a_dead_letter_of_its_row(kind: pa.DataType) -> None:
    day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[str(kind)[-3:].strip("[]2 46")]
    stored = [day, -1, 0, day - 1, None]
    column = pa.array(stored, pa.int32() if pa.types.is_time32(kind) else pa.int64()).view(kind)
    assert refused(table(column)) == [0, 1]
    assert refused(table(pa.array([[one] for one in column], pa.list_(kind)))) == [0, 1]


def test_a_zone_that_is_not_known_leaves_the_time_in_utc() -> None:
    column = pa.array([0, -1, None], pa.int64()).view(pa.timestamp("us", tz="Mars/Olympus"))
    assert rows(table(column)) == ["1970-01-01T00:00:00+00:00", "1969-12-31T23:59:59.999999+00:00", None]


def test_a_time_whose_offset_has_seconds_is_one_time_in_every_unit() -> None:
    at = -(10**9) * 3
    found = {
        rows(table(pa.array([at * 10**power], pa.int64()).view(pa.timestamp(unit, tz="Europe/Berlin"))))[0][:19]
        for unit, power in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9))
    }
    assert len(found) == 1
    odd = pa.array([at * 10**9 + 1], pa.int64()).view(pa.timestamp("ns", tz="Europe/Berlin"))
    assert rows(table(odd)) == ["1874-12-07T18:40:00.000000001+00:00"]


def test_a_value_of_a_union_is_what_it_is_alone() -> None:
    parts: list[Any] = [pa.array([2**62, 2]).view(pa.timestamp("us")), pa.array([1.0, math.nan])]
    kinds = pa.array([0, 1], pa.int8())
    dense = pa.UnionArray.from_dense(kinds, pa.array([0, 1], pa.int32()), parts)
    assert rows(table(pa.UnionArray.from_sparse(kinds, parts))) == rows(table(dense))
    assert rows(table(dense)) == ["148108-07-06T14:00:27.387904", "NaN"]


@pytest.mark.parametrize("unit", ["millis", "micros", "nanos"])
@pytest.mark.parametrize("local", ["", "local-"])
@pytest.mark.parametrize("stored", [253_402_300_800_000, -62_167_219_200_001, -1, 0])
def test_ts_of_avro_may_be_of_any_year(stored: int, local: str, unit: str) -> None:
    size = {"millis": 1, "micros": 10**3, "nanos": 10**6}[unit]
    if abs(stored * size) >= 2**63:
        return
    kind = {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    schema = {"type": "record", "name": "A", "fields": [{"name": "ts", "type": kind}]}
    payload = io.BytesIO()
    plain = fastavro.parse_schema({**schema, "fields": [{"name": "ts", "type": "long"}]})
    fastavro.schemaless_writer(payload, plain, {"ts": stored * size})
    assert json.loads(avro_reader(json.dumps(schema))(payload.getvalue()))["ts"] == stored


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PAR1", "Parquet"), (b"PK\x03\x04", "zip"),
        (b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz"), ("type,ts".encode("utf-16"), "UTF-16"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["it.csv", "it.ndjson", "it.jsonl"])
def test_a_file_of_another_kind_is_called_by_it(name: str, content: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: is {kind}, and is read as "):
        list(read_content(name, pa.py_buffer(content + b"\n")))


DEFINITION = """
stream: shop
sources:
- topic: orders
  type: {field: kind}
  ts: {field: at, format: epoch_ms}
"""


def test_a_row_that_is_no_message_of_a_definition_keeps_its_reason(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(DEFINITION)
    (tmp_path / "orders.csv").write_text('kind,at\nA,1\nA,"2\nA,3\nA,4,5\n')
    days = pa.array([86_400, 5], pa.int32()).view(pa.time32("s"))
    pq.write_table(pa.table({"kind": ["A", "A"], "at": [1, 2], "day": days}), tmp_path / "orders.parquet")
    for name, good, why in (("csv", 2, ["a quote is not closed", "has 3 cells"]), ("parquet", 1, ["a time of day is"])):
        query = "FROM shop PATTERN A a WITHIN 1 ms"
        results = saffron.replay(query, {"orders": tmp_path / f"orders.{name}"}, stream=tmp_path / "shop.yaml")
        with pytest.warns(UserWarning, match="bad or late"):
            assert len(list(results)) == good
        assert len(results.dead_letters) == len(why)
        for letter, part in zip(results.dead_letters, why, strict=True):
            assert part in letter.detail
