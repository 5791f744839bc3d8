"""Events to rows and back; what is no event, and the tally."""

from __future__ import annotations

import numpy as np
import orjson
import pyarrow as pa

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.raw import batch_of_lines
from saffron.history.arrow_batches import attribute_name, columns_of
from saffron.history.decoding import ENDS, TALLY, Piece, decoded_rows, row_fields
from saffron.schema.schema import Kind, Schema

KINDS = {"x": Kind.INT, "X": Kind.FLOAT, "a b.c": Kind.STRING, "t": Kind.BOOL}
SCHEMA = Schema(KINDS, {"A": tuple(KINDS)}, {}, times={"A": "uniform"})
EVENTS = [
    {"type": "A", "ts": 4, "x": 2**53 + 1, "X": -0.0, "a b.c": "é", "t": True},
    {"type": "A", "ts": [1, 3], "x": None, "X": None, "a b.c": None, "t": None},
    {"type": "B", "ts": 2, "x": "mistyped"},
]
OTHERS = [b"nothing", b'{"type": "$watermark", "ts": 9}', b'{"type": "$watermark", "ts": 9, "end": true}']


def rows() -> pa.Table:
    lines = [orjson.dumps(EVENTS[0]), OTHERS[0], *map(orjson.dumps, EVENTS[1:]), *OTHERS[1:]]
    batches = list(decoded_rows([Piece(3, 128, batch_of_lines(b"\n".join(lines)))], SCHEMA))
    assert all(batch.schema == batches[0].schema for batch in batches)
    return pa.Table.from_batches(batches)


def test_events_come_back_as_they_were() -> None:
    table = rows()
    events = table.filter(table["reason"].is_null()).combine_chunks()
    assert events["place"].to_pylist() == [0, 2, 3]
    assert set(events["file"].to_pylist()) == {3}
    assert set(events["block"].to_pylist()) == {128}
    numbered = events.append_column("seq", pa.array(np.arange(3) * 10))
    columns = columns_of(numbered.to_batches()[0], SCHEMA)
    assert columns.seq.tolist() == [0, 10, 20]
    assert columns.ts.tolist() == [4, 1, 2]
    assert columns.latest is not None
    assert columns.latest.tolist() == [4, 3, 2]
    assert column_values(columns.type) == ["A", "A", "B"]
    assert {name: column_values(column) for name, column in columns.attributes.items()} == {
        "x": [2**53 + 1, None, None],
        "X": [-0.0, None, None],
        "a b.c": ["é", None, None],
        "t": [True, None, None],
    }
    assert columns.attributes["x"].data.flags.writeable


def test_what_is_no_event_keeps_its_place_and_text() -> None:
    table = rows()
    others = table.filter(table["reason"].is_valid()).to_pylist()
    assert [(one["reason"], one["place"]) for one in others] == [("not-json", 1), (ENDS, 5), (TALLY, 6)]
    assert [one["line"] for one in others] == [OTHERS[0], OTHERS[2], b""]
    assert (others[-1]["ts"], others[-1]["latest"]) == (1, 2), "mistyped values, and watermarks"


def test_attributes_are_numbered_as_names_in_sql_are_not_case_sensitive() -> None:
    declared = row_fields(SCHEMA)
    assert declared.endswith("a0 bigint, a1 double, a2 string, a3 tinyint")
    assert [attribute_name(SCHEMA, name) for name in ("x", "X", "ts")] == ["a0", "a1", "ts"]
