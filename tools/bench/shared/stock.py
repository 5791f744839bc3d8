"""The workload of the benchmarks: the shipped stock quotes, and the query whose numbers the project quotes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import saffron
from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.schema.schema import Schema

QUOTES = Path(saffron.__file__).parent / "data" / "stock_quotes.ndjson.zst"
EVENTS = 702_000
RESULTS = 104_439
QUERY = """PATTERN SEQ(Quote+ a[], Quote b)
WHERE skip-till-next-match {
  [symbol] AND a[i].price > avg(a[..i-1].price) AND b.price < 0.99 * a[last].price }
WITHIN 1 hour"""
TRENDS = """RETURN sector, COUNT(*)
PATTERN Quote Q+
WHERE [symbol] AND Q.price > NEXT(Q).price
GROUP BY sector
WITHIN 10 minutes SLIDE 1 minute"""
PLAIN = "RETURN COUNT(*) PATTERN Quote+ WITHIN 10 minutes"


def ndjson() -> bytes:
    """The quotes as plain text."""
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(QUOTES.open("rb")).read()


def passes(path: Path, count: int) -> None:
    """Write the quotes `count` times over, each pass a year after the one before, as one stream."""
    stamp = re.compile(rb'"ts":(\d+)')
    text = ndjson()
    with path.open("wb") as file:
        for number in range(count):
            ahead = number * 365 * 86_400_000
            file.write(stamp.sub(partial(_later, ahead), text))


def _later(ahead: int, found: re.Match[bytes]) -> bytes:
    return b'"ts":%d' % (int(found[1]) + ahead)


def opening(schema: Schema, columns: Columns, text: str) -> Block:
    """The block that puts a query in force before the first event."""
    body = {"op": "add", "name": "q", "version": 1, "text": text, "slot": 0, "from": "now"}
    controls = (Control(0, "schema", {"schema": schema_to_record(schema)}), Control(0, "query", body))
    return Block(slice_columns(columns, 0, 0), 0, 0, watermark=int(columns.ts[0]), controls=controls)


def blocks(columns: Columns, size: int) -> list[Block]:
    """All events in blocks of `size`."""
    return [
        Block(part, int(part.seq[0]), int(part.seq[-1]) + 1, watermark=int(part.ts[-1]))
        for part in (slice_columns(columns, start, start + size) for start in range(0, len(columns), size))
    ]
