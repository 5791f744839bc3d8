"""Files in blocks, as rows and whole, to pieces of raw events: without Spark, from batches as it sends them."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from saffron.errors import InputError
from saffron.history.files import Pieces, line_pieces, table_pieces, whole_pieces

NUMBERS = {"file:///q/a.jsonl": 4, "file:///q/b%20c.csv.gz": 5}
A, B = NUMBERS


def found(pieces: Pieces, *batches: pa.RecordBatch) -> list[tuple[int, int, list[int], list[bytes]]]:
    return [
        (one.file, one.block, one.records.offsets.tolist(), [one.records.value(row) for row in range(len(one.records))])
        for one in pieces(batches)
    ]


def lines(*rows: tuple[bytes, str, int]) -> pa.RecordBatch:
    values, files, blocks = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        {"value": pa.array(values, pa.binary()), "$file": list(files), "block": list(blocks)}
    )


def test_lines_are_numbered_in_their_blocks_whatever_the_batches() -> None:
    first = lines((b"\xef\xbb\xbf{}", A, 0), (b"", A, 0), (b"1\r", A, 0), (b"2", A, 64))
    second = lines((b"gone", A, 64), (b" \t", A, 64), (b"3", A, 64), (b"4", B, 0)).slice(1)
    assert found(line_pieces(NUMBERS), first, second) == [
        (4, 0, [0, 1], [b"{}", b"1"]),
        (4, 64, [0], [b"2"]),
        (4, 64, [1], [b"3"]),
        (5, 0, [0], [b"4"]),
    ]
    assert found(line_pieces(NUMBERS), first.slice(0, 0), lines((b"", B, 0))) == []


def test_rows_keep_the_numbers_that_they_have_in_their_files() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"type": ["A", "A", "B"], "ts": [1, 2, 3], "$row": pa.array([7, 8, 0], pa.int64()), "$file": [A, A, B]}
    )
    written = batch.drop_columns(["$row", "$file"]).schema
    assert found(table_pieces(NUMBERS, {A: written, B: written}), batch) == [
        (4, 0, [7, 8], [b'{"type":"A","ts":1}', b'{"type":"A","ts":2}']),
        (5, 0, [0], [b'{"type":"B","ts":3}']),
    ]


def test_a_packed_file_is_read_by_its_name() -> None:
    content = gzip.compress(b"type,ts,x\nA,1,2\nA,2,\n")
    batch = pa.RecordBatch.from_pydict({"content": pa.array([content], pa.binary()), "$file": [B]})
    expected = [b'{"type":"A","ts":1,"x":2}', b'{"type":"A","ts":2,"x":null}']
    assert found(whole_pieces(NUMBERS, None), batch) == [(5, 0, [0, 1], expected)]
    torn = pa.RecordBatch.from_pydict({"content": pa.array([content[:-9] + b"x"], pa.binary()), "$file": [B]})
    with pytest.raises(InputError, match=r"/q/b c\.csv\.gz: cannot be read"):
        list(whole_pieces(NUMBERS, None)([torn]))
