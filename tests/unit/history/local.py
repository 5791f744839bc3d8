"""History without Spark: what its tasks do, one after another, spread over as many places as is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from saffron.engine.events.column_operations import column_values, take_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.raw import batch_of_lines
from saffron.history.arrow_batches import columns_of
from saffron.history.decoding import Piece, decoded_rows
from saffron.history.numbering import Numbering, first_numbers, range_of
from saffron.history.partitioning import partitionings_of, queries_by_key
from saffron.history.running import EngineTask, binder, lines_of, run
from saffron.runtime.replay.binding import bind_all
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay
from saffron.schema.schema import Schema


def events_of(data: bytes, schema: Schema, cut: int, bounds: Sequence[int]) -> list[Columns]:
    """Decoded in pieces of `cut` events, sorted and numbered by ranges."""
    whole = batch_of_lines(data)
    pieces = (Piece(0, start, whole.part(start, min(start + cut, len(whole)))) for start in range(0, len(whole), cut))
    table = pa.Table.from_batches(list(decoded_rows(pieces, schema)))
    table = table.filter(table["reason"].is_null())
    table = table.append_column("range", pa.array(range_of(table["ts"].to_numpy(), bounds)))
    table = table.sort_by([(name, "ascending") for name in ("range", "ts", "file", "block", "place")]).combine_chunks()
    ranges = table["range"].to_numpy()
    numbering = Numbering(first_numbers((place, 1) for place in ranges.tolist()))
    numbers = [numbering.numbers(ranges[at : at + cut]) for at in range(0, len(ranges), cut)]
    table = table.append_column("seq", pa.array(np.concatenate([np.zeros(0, np.int64), *numbers])))
    return [columns_of(batch, schema) for batch in table.to_batches(max_chunksize=cut)]


def spread_lines(
    queries: Sequence[Query], data: bytes, schema: Schema, *, places: int, cut: int = 7, bounds: Sequence[int] = ()
) -> list[bytes]:
    """The results of every query, of as many places as there are."""
    batches = events_of(data, schema, cut, bounds)
    bound = bind_all(queries, schema, binder(True))
    total = sum(map(len, batches))
    found: list[bytes] = []
    for by, names in queries_by_key(partitionings_of(bound.plans)).items():
        for place in range(places if by else 1):
            mine = tuple(query for query in bound.queries if query.name in names)
            asked = EngineTask(mine, schema, True, events=total)
            here = (taken(batch, by, place, places) for batch in batches) if by else iter(batches)
            for lines in lines_of(run(asked, (batch for batch in here if len(batch)))):
                found += lines
    return found


def taken(batch: Columns, by: Sequence[str], place: int, places: int) -> Columns:
    keys = zip(*(column_values(batch.attributes[name]) for name in by), strict=True)
    rows = [row for row, key in enumerate(keys) if hash_of(key) % places == place]
    return take_columns(batch, np.array(rows, np.int64))


def hash_of(key: Sequence[object]) -> int:
    """Equal for keys that are equal to the engine: 0.0 and -0.0 are."""
    return sum(sum(repr(0 if part == 0 else part).encode()) for part in key)


def replayed(queries: Sequence[Query], data: bytes, schema: Schema) -> list[bytes]:
    """What `saffron replay` says of the same events, none of them late."""
    replay = Replay(queries, schema=schema, lenient=True, disorder=2**40)
    return list(lines(replay, data))


def lines(replay: Replay, data: bytes) -> Iterator[bytes]:
    for merged in replay.results([batch_of_lines(data)]):
        for chunk in merged.json():
            yield from chunk
