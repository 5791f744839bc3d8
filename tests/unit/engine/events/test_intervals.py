"""Imprecise times: from JSON to columns, into blocks and back, and the schema that allows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.column_operations import concat_columns, slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.decoding.rules.outcomes import Bad, Event
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import batch_of_values
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.errors import SchemaError
from saffron.schema.schema import Schema
from tests.unit.engine.events.schema_documents import to_json_schema


def described(ts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"const": "A"}, "ts": ts, "x": {"type": "integer"}}}


SCHEMA = from_json_schema(described({"type": ["integer", "array"]}))
EXACT = from_json_schema(described({"type": "integer"}))


def lines(*times: Any) -> bytes:
    return b"\n".join(orjson.dumps({"type": "A", "ts": ts, "x": 1}) for ts in times)


def columns_of(schema: Schema, *times: Any) -> Columns:
    return decode_ndjson(lines(*times), schema)[1]


def reasons(schema: Schema, *times: Any, at: int | None = None) -> list[tuple[str, str]]:
    stamps = None if at is None else np.full(len(times), at, np.int64)
    decoded = Decoder(schema).decode(batch_of_values(lines(*times).split(b"\n"), times=stamps))
    return [(bad.reason, bad.detail) for bad in decoded.bad]


def test_intervals_to_columns() -> None:
    columns = columns_of(SCHEMA, ["1970-01-01", 20], 5, [7, 9], [8, 8])
    assert columns.ts.tolist() == [0, 5, 7, 8]
    assert columns.latest is not None
    assert columns.latest.tolist() == [20, 5, 9, 8]


def test_exact_times_need_no_column() -> None:
    assert columns_of(SCHEMA, 5, [7, 7]).latest is None
    assert columns_of(EXACT, [7, 7]).latest is None


@pytest.mark.parametrize(
    ("ts", "said"),
    [
        ([9, 7], "lo is later than hi"),
        ([7], "two times"),
        ([1, 2, 3], "two times"),
        ([1, None], "two times"),
        ([[1], 2], "two times"),
        ([1.5, 2], "neither whole milliseconds"),
        ([1, True], "neither whole milliseconds"),
        ([0, 1_000_000], "at most 1000000 ms"),
        ([0, 2**60], "beyond 2^53"),
        ([0, 2**63], "beyond 2^53"),
        ([-(2**63), 0], "beyond 2^53"),
    ],
)
def test_bad_intervals(ts: Any, said: str) -> None:
    ((reason, detail),) = reasons(SCHEMA, ts)
    assert reason == "bad-ts"
    assert said in detail


def test_interval_where_times_are_exact() -> None:
    ((reason, detail),) = reasons(EXACT, [1, 2])
    assert reason == "bad-ts"
    assert '"type": ["integer", "array"]' in detail
    inferred = infer_schema([batch_of_values([lines(1)])])
    assert "first events had exact times" in reasons(inferred, [1, 2])[0][1]


def test_no_time_lies_in_the_future() -> None:
    day = 86_400_000
    assert reasons(SCHEMA, [day, day + 9], at=9) == []
    assert reasons(SCHEMA, [day, day + 9], at=8)[0][0] == "future-ts"


def test_inferred() -> None:
    schema = infer_schema([batch_of_values([b'{"type":"A","ts":[1,2]}', b'{"type":"B","ts":3}'])])
    assert schema.times == {"A": "uniform"}
    assert schema.distribution("B") == "uniform"


@pytest.mark.parametrize("law", ["uniform", "triangular", [1, 0, 2.5]])
def test_distribution(law: Any) -> None:
    schema = from_json_schema(described({"type": ["integer", "array"], "x-time": {"distribution": law}}))
    assert schema.times == {"A": law if isinstance(law, str) else tuple(law)}
    assert schema_from_record(orjson.loads(orjson.dumps(schema_to_record(schema)))) == schema
    assert from_json_schema(to_json_schema(schema)) == schema


def test_exact_schema_is_recorded_as_ever() -> None:
    assert "times" not in schema_to_record(EXACT)
    assert EXACT.distribution("A") is None


@pytest.mark.parametrize("law", ["normal", [], [0, 0], [1, -1], [True], 3, [1e308, 1e308]])
def test_wrong_distribution(law: Any) -> None:
    with pytest.raises(SchemaError, match="x-time/distribution"):
        from_json_schema(described({"type": ["integer", "array"], "x-time": {"distribution": law}}))


def test_distribution_without_intervals() -> None:
    with pytest.raises(SchemaError, match="goes with intervals"):
        from_json_schema(described({"type": "integer", "x-time": {}}))
    with pytest.raises(SchemaError, match="x-time/unit"):
        from_json_schema(described({"type": ["integer", "array"], "x-time": {"unit": 1000}}))


@pytest.mark.parametrize("dense", [True, False])
def test_blocks_carry_intervals(dense: bool) -> None:
    columns = columns_of(SCHEMA, [5, 6], 7, [7, 9])
    block = Block(columns, 0, 3 if dense else 5, watermark=7)
    again = decode_block(encode_block(block)).columns
    assert again.latest is not None
    assert again.latest.tolist() == [6, 7, 9]
    assert again.ts.tolist() == [5, 7, 7]
    assert list(again.attributes) == ["x"]


def test_exact_and_imprecise_parts_together() -> None:
    columns = columns_of(SCHEMA, [5, 6], 7)
    exact = columns_of(SCHEMA, 8)
    both = concat_columns([slice_columns(columns, 0, 2), exact])
    assert both.latest is not None
    assert np.array_equal(both.latest, [6, 7, 8])


TIMES = (
    "5", "[5,5]", "[5,9]", " [ 5 , 9 ] ", "[-9,-5]", "[9,5]", "[5]", "[5,6,7]", "[]", "[5,9", "[5.0,9]", "[5,9.5]",
    "null", "[5,null]", "[0,999999]", "[0,1000000]", "[5,90000000000000000]", "[1e3,2000]", '["1970-01-01",9]',
    "[[5],9]", "[-0,9]", "[9007199254740991,9007199254740993]", '[5,9],"ts":7', '7,"ts":[5,9]', '[5,9],"ts":null',
)  # fmt: skip


@pytest.mark.parametrize("given", [True, False])
def test_the_scanner_and_the_exact_path_agree(given: bool) -> None:
    """Each time under types that may have intervals, that may not, and that nobody knows."""
    exact = {"type": "object", "properties": {"type": {"const": "B"}, "ts": {"type": "integer"}}}
    schema = from_json_schema({"oneOf": [described({"type": ["integer", "array"]}), exact]})
    if not given:
        schema = Schema(schema.kinds, schema.types, schema.required, times=schema.times)
    values = [f'{{"type":"{kind}","ts":{ts}}}'.encode() for kind in "ABC" for ts in TIMES]
    stamps = np.full(len(values), 4, np.int64)
    decoded = Decoder(schema, 10**6).decode(batch_of_values(values, times=stamps))
    bad = {one.row: one.detail for one in decoded.bad}
    at = {row: number for number, row in enumerate(decoded.rows.tolist())}
    assert decoded.latest is not None
    for row, value in enumerate(values):
        outcome = decode_exactly(value, schema, 4, 10**6)
        if isinstance(outcome, Bad):
            assert bad[row] == outcome.detail, value
        else:
            assert isinstance(outcome, Event)
            times = outcome.ts, outcome.ts if outcome.latest is None else outcome.latest
            assert (decoded.ts[at[row]], decoded.latest[at[row]]) == times, value
