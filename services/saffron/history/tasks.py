"""What tasks of Spark do: functions over Arrow batches, which travel to them with all that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from saffron.history.decoding import decoded_rows
from saffron.history.files import Pieces
from saffron.history.numbering import Numbering, range_of
from saffron.history.rows import columns_of
from saffron.history.running import Asked, lines_of, run
from saffron.schema.schema import Schema

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

RESULT_FIELDS = "end bigint, start bigint, query string, id string, line string"


def decoding(pieces: Pieces, schema: Schema) -> Task:
    """Files to decoded rows."""
    return lambda batches: decoded_rows(pieces(batches), schema)


def placing(bounds: Sequence[int]) -> Task:
    """Events with the range of times in which each lies."""

    def placed(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ranges = pa.array(range_of(_numbers(batch, "ts"), bounds))
            yield pa.RecordBatch.from_arrays([ranges, *batch.columns], names=["range", *batch.schema.names])

    return placed


def numbering(first: Mapping[int, int]) -> Task:
    """Events in order, whole ranges of them, with their numbers instead of their places."""

    def numbered(batches: Batches) -> Iterator[pa.RecordBatch]:
        running = Numbering(first)
        for batch in batches:
            seq = pa.array(running.numbers(_numbers(batch, "range").astype(np.int32)))
            events = batch.drop_columns(["range", "file", "block", "place"])
            yield pa.RecordBatch.from_arrays([seq, *events.columns], names=["seq", *events.schema.names])

    return numbered


def matching(asked: Asked) -> Task:
    """Events by number to results."""

    def matched(batches: Batches) -> Iterator[pa.RecordBatch]:
        events = (columns_of(batch, asked.schema) for batch in batches if batch.num_rows)
        for lines in lines_of(run(asked, events)):
            yield _results(lines)

    return matched


def _results(lines: Sequence[bytes]) -> pa.RecordBatch:
    read = [orjson.loads(line) for line in lines]
    spans = [one["window"] if "start" not in one else (one["start"], one["end"]) for one in read]
    columns: dict[str, Any] = {
        "end": pa.array([span[1] for span in spans], pa.int64()),
        "start": pa.array([span[0] for span in spans], pa.int64()),
        "query": pa.array([one["query"] for one in read], pa.string()),
        "id": pa.array([one["id"] for one in read], pa.string()),
        "line": pa.array(lines, pa.binary()).cast(pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)


def letters(names: Mapping[int, str], first: Mapping[tuple[int, int], int]) -> Task:
    """Dead letters as lines. `first`: of (file, block) the position of its first record among all that were read."""

    def written(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.to_pylist()
            positions = [first[row["file"], row["block"]] + row["place"] for row in rows]
            texts = [_letter(row, position, names) for row, position in zip(rows, positions, strict=True)]
            yield pa.RecordBatch.from_pydict(
                {"position": pa.array(positions, pa.int64()), "line": pa.array(texts, pa.string())}
            )

    return written


def _letter(row: Mapping[str, Any], position: int, names: Mapping[int, str]) -> str:
    told = {
        "reason": row["reason"],
        "detail": row["detail"],
        "position": position,
        "file": names[row["file"]],
        "line": row["line"].decode("utf-8", "backslashreplace"),
    }
    return orjson.dumps(told).decode()


def _numbers(batch: pa.RecordBatch, name: str) -> Any:
    return batch.column(name).to_numpy(zero_copy_only=False)
