"""The decoding of raw events to Spark rows: valid events, dead letters with their reasons, and a tally.

All three have the same columns, so that the input is read once. `reason` is null for an event, `TALLY` for a tally,
else the reason of a dead letter. The place of a record is (file, block of the file read at once, index in the block),
which is the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from saffron.engine.events.columns import Column
from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.raw import RawBatch
from saffron.history.arrow_batches import arrays_of, event_fields
from saffron.schema.schema import Kind, Schema

TALLY = "$tally"
"""The reason of a tally row: `place` is the number of records, `ts` of mistyped values, `latest` of `$watermark`s."""
ENDS = "$end"
"""The reason of a `$watermark` that ends the stream, which is refused."""

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Records of one block of one file, in order; their `offsets` count from the block's beginning."""

    file: int
    block: int
    records: RawBatch


def row_fields(schema: Schema) -> str:
    """The declaration of the rows' columns, as Spark's DDL."""
    return f"file int, block bigint, place bigint, reason string, detail string, line binary, {event_fields(schema)}"


def decoded_rows(pieces: Iterable[Piece], schema: Schema) -> Iterator[pa.RecordBatch]:
    """The rows of all records, with one tally for each piece."""
    decoder = Decoder(schema)
    for piece in pieces:
        decoded = decoder.decode(piece.records)
        yield _events(piece, decoded)
        yield _others(piece, decoded, schema)


def _events(piece: Piece, decoded: Decoded) -> pa.RecordBatch:
    """The rows of a piece's valid events."""
    n = len(decoded)
    columns = {
        **_places(piece, piece.records.offsets[decoded.rows]),
        "reason": pa.nulls(n, pa.string()),
        "detail": pa.nulls(n, pa.string()),
        "line": pa.nulls(n, pa.binary()),
        **arrays_of(decoded.ts, decoded.latest, decoded.type, decoded.attributes),
    }
    return pa.RecordBatch.from_pydict(columns)


def _others(piece: Piece, decoded: Decoded, schema: Schema) -> pa.RecordBatch:
    """The dead letters of a piece, and its tally."""
    records = piece.records
    letters: list[tuple[int, str, str]] = [(bad.row, bad.reason, bad.detail) for bad in decoded.bad]
    letters += [(mark.row, ENDS, "") for mark in decoded.watermarks if mark.end]
    places = np.array([*(records.offsets[row] for row, _, _ in letters), len(records)], np.int64)
    nothing = np.zeros(len(places), np.int64)
    ts, latest = nothing.copy(), nothing.copy()
    ts[-1], latest[-1] = decoded.mistyped, len(decoded.watermarks)
    kind = Column(Kind.STRING, nothing.astype(np.int32), ("",))
    columns = {
        **_places(piece, places),
        "reason": pa.array([*(reason for _, reason, _ in letters), TALLY], pa.string()),
        "detail": pa.array([*(detail for _, _, detail in letters), ""], pa.string()),
        "line": pa.array([*(records.original(row) for row, _, _ in letters), b""], pa.binary()),
        **arrays_of(ts, latest, kind, _blank(schema, len(places))),
    }
    return pa.RecordBatch.from_pydict(columns)


def _places(piece: Piece, places: Whole) -> dict[str, Any]:
    """The columns of the place (file, block, index) of each row."""
    n = len(places)
    return {
        "file": pa.array(np.full(n, piece.file, np.int32)),
        "block": pa.array(np.full(n, piece.block, np.int64)),
        "place": pa.array(np.ascontiguousarray(places, np.int64)),
    }


def _blank(schema: Schema, n: int) -> dict[str, Column]:
    """Null attributes, for rows that are no events."""
    return {name: Column(kind.column, np.full(n, kind.null, kind.dtype)) for name, kind in schema.kinds.items()}
