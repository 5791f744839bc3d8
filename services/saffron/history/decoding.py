"""Raw events to the rows that Spark carries: good events, what is none with its reason, and a tally of both.

All three are rows of one form, so that the input is read once. `reason` says which: null for an event, `TALLY`, else
why the record is no event. A record's place is that of its file, of the block of the file that was read at once, and
its own in the block; the three together are the order of arrival.
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
from saffron.history.rows import arrays_of, event_fields
from saffron.schema.schema import Kind, Schema

TALLY = "$tally"
"""Of a row that counts: `place` records were read, `ts` values were mistyped, `latest` records were `$watermark`s."""
ENDS = "$end"
"""Why a `$watermark` that ends a stream is refused."""

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Records of one block of one file, in order; their `offsets` count from the beginning of the block."""

    file: int
    block: int
    records: RawBatch


def row_fields(schema: Schema) -> str:
    """The columns of all rows, as Spark wants them declared."""
    return f"file int, block bigint, place bigint, reason string, detail string, line binary, {event_fields(schema)}"


def decoded_rows(pieces: Iterable[Piece], schema: Schema) -> Iterator[pa.RecordBatch]:
    """Rows of these records."""
    decoder = Decoder(schema)
    for piece in pieces:
        decoded = decoder.decode(piece.records)
        yield _events(piece, decoded)
        yield _others(piece, decoded, schema)


def _events(piece: Piece, decoded: Decoded) -> pa.RecordBatch:
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
    """What is no event, and the tally."""
    records = piece.records
    told: list[tuple[int, str, str]] = [(bad.row, bad.reason, bad.detail) for bad in decoded.bad]
    told += [(mark.row, ENDS, "") for mark in decoded.watermarks if mark.end]
    places = np.array([*(records.offsets[row] for row, _, _ in told), len(records)], np.int64)
    nothing = np.zeros(len(places), np.int64)
    ts, latest = nothing.copy(), nothing.copy()
    ts[-1], latest[-1] = decoded.mistyped, len(decoded.watermarks)
    kind = Column(Kind.STRING, nothing.astype(np.int32), ("",))
    columns = {
        **_places(piece, places),
        "reason": pa.array([*(reason for _, reason, _ in told), TALLY], pa.string()),
        "detail": pa.array([*(detail for _, _, detail in told), ""], pa.string()),
        "line": pa.array([*(records.original(row) for row, _, _ in told), b""], pa.binary()),
        **arrays_of(ts, latest, kind, _blank(schema, len(places))),
    }
    return pa.RecordBatch.from_pydict(columns)


def _places(piece: Piece, places: Whole) -> dict[str, Any]:
    n = len(places)
    return {
        "file": pa.array(np.full(n, piece.file, np.int32)),
        "block": pa.array(np.full(n, piece.block, np.int64)),
        "place": pa.array(np.ascontiguousarray(places, np.int64)),
    }


def _blank(schema: Schema, n: int) -> dict[str, Column]:
    """Attributes of rows that are no events: anything."""
    return {name: Column(kind.column, np.full(n, kind.null, kind.dtype)) for name, kind in schema.kinds.items()}
