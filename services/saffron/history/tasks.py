"""The functions of Spark's tasks, over Arrow batches; Spark sends them to other machines with their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from saffron.history.arrow_batches import columns_of
from saffron.history.decoding import decoded_rows
from saffron.history.files import Pieces
from saffron.history.numbering import Numbering, range_of
from saffron.history.running import EngineTask, lines_of, run
from saffron.schema.schema import Schema

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

RESULT_FIELDS = "end bigint, start bigint, query string, id string, line string"


def decoding(pieces: Pieces, schema: Schema) -> Task:
    """The task from Spark's rows of files to decoded rows."""
    return lambda batches: decoded_rows(pieces(batches), schema)


def with_ranges(bounds: Sequence[int]) -> Task:
    """The task that adds to each event its range of times ("range")."""

    def placed(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ranges = pa.array(range_of(_numbers(batch, "ts"), bounds))
            yield pa.RecordBatch.from_arrays([ranges, *batch.columns], names=["range", *batch.schema.names])

    return placed


def numbering(first: Mapping[int, int]) -> Task:
    """The task that replaces places by numbers ("seq"), for whole ranges of events in order."""

    def numbered(batches: Batches) -> Iterator[pa.RecordBatch]:
        running = Numbering(first)
        for batch in batches:
            seq = pa.array(running.numbers(_numbers(batch, "range").astype(np.int32)))
            events = batch.drop_columns(["range", "file", "block", "place"])
            yield pa.RecordBatch.from_arrays([seq, *events.columns], names=["seq", *events.schema.names])

    return numbered


def matching(task: EngineTask) -> Task:
    """The task from events in the order of their numbers to results."""

    def matched(batches: Batches) -> Iterator[pa.RecordBatch]:
        events = (columns_of(batch, task.schema) for batch in batches if batch.num_rows)
        for lines in lines_of(run(task, events)):
            yield _results(lines)

    return matched


def _results(lines: Sequence[bytes]) -> pa.RecordBatch:
    """Lines of results as a batch with the columns of RESULT_FIELDS."""
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
    """The task from dead letters to JSON lines. `first`: (file, block) -> position of its first record among all."""

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
    """A dead letter as a JSON line."""
    letter = {
        "reason": row["reason"],
        "detail": row["detail"],
        "position": position,
        "file": names[row["file"]],
        "line": row["line"].decode("utf-8", "backslashreplace"),
    }
    return orjson.dumps(letter).decode()


def _numbers(batch: pa.RecordBatch, name: str) -> Any:
    return batch.column(name).to_numpy(zero_copy_only=False)
