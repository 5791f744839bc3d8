"""Bytes that are no Avro record: each gives the value that was written, or a reason, and takes a bounded time."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.events.formats.avro import avro_reader, avro_values
from saffron.engine.events.formats.avro_values import MOST_WITHOUT_BYTES
from saffron.errors import SchemaError
from tests.unit.engine.events.damage import damaged, whole


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{at}", "type": one} for at, one in enumerate(types)],
    }


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapped(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


ENUM = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL", "NONE"]}
FIXED = {"type": "fixed", "name": "Four", "size": 4}
NOTHING = {"type": "fixed", "name": "Nothing", "size": 0}
NULLS = record("null", record("null", NOTHING, name="M"), name="N")
DAY = {"type": "int", "logicalType": "time-millis"}

WRONG = [
    (ENUM, whole(-1), "no symbol -1"),
    (ENUM, whole(3), "no symbol 3"),
    (["null", "string"], whole(-1) + whole(2) + b"ab", "no branch -1"),
    (["null", "string"], whole(2), "no branch 2"),
    ("bytes", whole(-1) + b"abc", "-1 bytes, where 3 are left"),
    ("string", whole(-1) + b"abc", "-1 bytes"),
    ("string", whole(2**62) + b"abc", "bytes, where 3 are left"),
    ("string", whole(2) + b"\xff\xfe", "utf-8"),
    (mapped("long"), whole(1) + whole(-3) + b"abc" + whole(1) + whole(0), "-3 bytes"),
    (mapped("null"), whole(10**7), "10000000 items"),
    (FIXED, b"abc", "4 bytes, where 3 are left"),
    ("double", b"abc", "8 bytes"),
    ("float", b"abc", "4 bytes"),
    ("boolean", b"\x02", "neither 0 nor 1"),
    ("int", whole(2**31), "32 bits"),
    ("long", b"\xff" * 9 + b"\x7f", "64 bits"),
    ("long", b"\x80", "ends within"),
    (array("long"), whole(-2) + whole(-5) + whole(1) * 2 + whole(0), "-5 bytes"),
    (array("long"), whole(-2) + whole(100) + whole(1) * 2 + whole(0), "100 bytes"),
    (array("long"), whole(3 * 10**7), "30000000 items"),
    (array("null"), whole(3 * 10**7) + whole(0), "take no bytes"),
    (array(NOTHING), whole(3 * 10**7) + whole(0), "take no bytes"),
    (array(NULLS), whole(3 * 10**7) + whole(0), "take no bytes"),
    (array(NULLS), whole(MOST_WITHOUT_BYTES // 5 + 1) + whole(0), "take no bytes"),
    (array(array("null")), whole(3) + (whole(9000) + whole(0)) * 3 + whole(0), "18,000"),
    (mapped(array("null")), whole(2) + (whole(1) + b"k" + whole(9000) + whole(0)) * 2 + whole(0), "18,000"),
    (array("null"), (whole(9000)) * 2 + whole(0), "18,000"),
    (record("R"), b"\0" * 9, "nested too deep"),
    (array(record("S", name="S")), whole(1) + b"\0" * 9, "nested too deep"),
    (DAY, whole(-1), "time of day"),
    (DAY, whole(86_400_000), "time of day"),
    ({"type": "string", "logicalType": "uuid"}, whole(2) + b"ab", "UUID"),
]


@pytest.mark.parametrize(("kind", "payload", "why"), WRONG)
def test_bytes_that_are_no_value_are_refused_with_the_reason(kind: Any, payload: bytes, why: str) -> None:
    schema = kind if isinstance(kind, dict) and kind.get("name") == "R" else record(kind)
    with pytest.raises(ValueError, match=why):
        avro_reader(json.dumps(schema))(payload)


@pytest.mark.parametrize("kind", ["null", NOTHING, NULLS])
def test_items_without_bytes_are_read_up_to_the_limit(kind: Any) -> None:
    read = avro_reader(json.dumps(record(array(kind))))
    number = MOST_WITHOUT_BYTES // (5 if kind is NULLS else 1)
    for _ in range(2):  # each message has a count of its own
        assert len(json.loads(read(whole(number) + whole(0)))["f0"]) == number


def test_a_schema_of_very_many_values_without_bytes_is_refused() -> None:
    kinds = [record("null", "null", name="R0")]
    kinds += [record(f"R{at}", f"R{at}", name=f"R{at + 1}") for at in range(40)]
    with pytest.raises(SchemaError, match=r"record R\d+ has [\d,]+ values that take no bytes"):
        avro_reader(json.dumps(kinds[-1]), [json.dumps(one) for one in kinds[:-1]])


NANOS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("nanos", "micros"))


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        (NANOS, 1_777_636_800_123_456_789, "2026-05-01T12:00:00.123456789+00:00"),
        (NANOS, 1_777_636_800_000_000_000, "2026-05-01T12:00:00+00:00"),
        (MICROS, 2**62, "148108-07-06T14:00:27.387904+00:00"),
        ({**MICROS, "logicalType": "local-timestamp-micros"}, -1, "1969-12-31T23:59:59.999999"),
        ({"type": "int", "logicalType": "date"}, 2**30, "2941775-04-07"),
        (DAY, 86_399_999, "23:59:59.999000"),
        ({"type": "long", "logicalType": "of nobody"}, 5, 5),
    ],
)
def test_times_have_any_year_and_all_digits(kind: Any, number: int, text: Any) -> None:
    assert json.loads(avro_reader(json.dumps(record(kind)))(whole(number)))["f0"] == text


# ------------------------------------------------------------ any bytes

LEAVES: list[Any] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string", ENUM, FIXED, NULLS]


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A record that has each named type at most once, and may have itself in it."""
    left = list(LEAVES)

    def kind(depth: int) -> Any:
        shape = draw(st.integers(0, 5)) if depth else 5
        if shape == 0:
            return array(kind(depth - 1))
        if shape == 1:
            return mapped(kind(depth - 1))
        if shape == 2:
            return ["null", "R"]
        found = draw(st.sampled_from(left))
        if isinstance(found, dict):
            left.remove(found)
        return found if shape > 3 or found == "null" else ["null", found]

    return record(*(kind(2) for _ in range(draw(st.integers(1, 4)))))


def values(schema: Any, named: Any, depth: int = 3) -> st.SearchStrategy[Any]:
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    match schema:
        case list():
            return st.one_of([values(one, named, depth - 1) for one in (schema if depth > 0 else schema[:1])])
        case {"type": "array", "items": items}:
            return st.lists(values(items, named, depth - 1), max_size=3)
        case {"type": "map", "values": items}:
            return st.dictionaries(st.text(max_size=2), values(items, named, depth - 1), max_size=3)
        case {"type": "enum", "symbols": symbols}:
            return st.sampled_from(symbols)
        case {"type": "fixed", "size": size}:
            return st.binary(min_size=size, max_size=size)
        case {"fields": fields}:
            return st.fixed_dictionaries({one["name"]: values(one["type"], named, depth - 1) for one in fields})
    of: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.integers(-(2**31), 2**31 - 1),
        "long": st.integers(-(2**63), 2**63 - 1),
        "float": st.floats(width=32),
        "double": st.floats(),
        "bytes": st.binary(max_size=3),
        "string": st.text(max_size=3),
    }
    return of[schema]


@given(st.data())
def test_any_bytes_are_read_as_they_were_written_or_refused(data: st.DataObject) -> None:
    named: dict[str, Any] = {}
    schema = fastavro.parse_schema(data.draw(schemas()), named_schemas=named)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, data.draw(values(schema, named)))
    payload = data.draw(damaged(out.getvalue()))
    try:
        found = avro_values(schema, named)(payload)
    except ValueError:
        assert payload != out.getvalue()
        return
    assert repr(found) == repr(fastavro.schemaless_reader(io.BytesIO(payload), schema, None))


@pytest.mark.parametrize(
    ("size", "payload", "text"),
    [
        (12, bytes([14, 0, 0, 0, 3, 0, 0, 0, 0xC4, 9, 0, 0]), "P14M3DT2.5S"),
        (12, bytes(12), "PT0S"),
        (12, bytes([1, *bytes(11)]), "P1M"),
        (3, b"abc", "abc"),
    ],
)
def test_a_duration_is_iso_8601(size: int, payload: bytes, text: str) -> None:
    kind = {"type": "fixed", "name": "D", "size": size, "logicalType": "duration"}
    assert json.loads(avro_reader(json.dumps(record(kind)))(payload))["f0"] == text


def test_a_decimal_is_that_of_fastavro() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(record(kind)), {"f0": Decimal("-1234.567")})
    assert json.loads(avro_reader(json.dumps(record(kind)))(out.getvalue()), parse_float=Decimal) == {
        "type": "R",
        "f0": Decimal("-1234.567"),
    }


@pytest.mark.parametrize(
    ("written", "scale", "text"),
    [
        (2**1023, 0, str(2**1023)),
        (2**1024, 0, '"Infinity"'),
        (-(2**1025), 0, '"-Infinity"'),
        (2**1025, 2, str(2**1025)[:-2] + "." + str(2**1025)[-2:]),
        (2**7_999_990, 2, '"Infinity"'),
        (-(2**7_999_990), 1000, '"-Infinity"'),
    ],
    ids=["largest", "beyond", "below", "fraction", "million", "million, below"],
)
def test_a_decimal_beyond_every_float_is_infinite_and_costs_little(written: int, scale: int, text: str) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 1000, "scale": scale}
    digits = written.to_bytes(written.bit_length() // 8 + 1, "big", signed=True)
    read = avro_reader(json.dumps(record(kind)))
    assert read(whole(len(digits)) + digits).decode() == f'{{"type":"R","f0":{text}}}'


def test_a_decimal_of_a_very_large_scale_is_refused() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10**6, "scale": 1001}
    with pytest.raises(SchemaError, match="a decimal of scale 1,001; the largest is 1,000"):
        avro_reader(json.dumps(record(kind)))
