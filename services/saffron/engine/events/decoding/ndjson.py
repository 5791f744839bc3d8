"""Newline-delimited JSON straight to columns, for tests and benchmarks."""

from __future__ import annotations

import numpy as np

from saffron.engine.events.column_operations import take_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_lines
from saffron.errors import InputError
from saffron.schema.schema import Schema


def decode_ndjson(data: bytes, schema: Schema | None = None) -> tuple[Schema, Columns]:
    """All events of `data` in (ts, arrival) order with seq 0.. and time 0, and their schema (inferred if not given).

    Raises InputError at the first line that is no event.
    """
    batch = batch_of_lines(data)
    if schema is None:
        schema = infer_schema([batch])
    decoded = Decoder(schema).decode(batch)
    if decoded.bad:
        bad = decoded.bad[0]
        raise InputError(f"event {bad.row}: {bad.reason}: {bad.detail}")
    n = len(decoded)
    seq = np.arange(n, dtype=np.int64)
    times = np.zeros(n, dtype=np.int64)
    columns = Columns(seq, decoded.ts, times, decoded.type, decoded.attributes, latest=decoded.latest)
    if n and bool((np.diff(decoded.ts) < 0).any()):
        columns = take_columns(columns, np.argsort(decoded.ts, kind="stable"))
        columns.seq[:] = np.arange(n)
    return schema, columns
