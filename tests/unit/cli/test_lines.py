"""Event files of every kind become the same lines of JSON."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard

from saffron.cli.lines import batches, event_batches
from saffron.errors import InputError

ROWS = [
    {"type": "A", "ts": 1, "x": 1.5, "s": "IBM", "b": True},
    {"type": "B", "ts": 2, "x": None, "s": "K", "b": False},
]
NDJSON = b"".join(orjson.dumps(row) + b"\n" for row in ROWS)
CSV = b"type,ts,x,s,b\nA,1,1.5,IBM,true\nB,2,,K,false\n"


def parquet() -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.ndjson", NDJSON),
        ("e.jsonl", NDJSON.rstrip()),
        ("e.ndjson.zst", zstandard.compress(NDJSON[:40]) + zstandard.compress(NDJSON[40:])),
        ("e.jsonl.gz", gzip.compress(NDJSON)),
        ("e.csv", CSV),
        ("e.csv.zst", zstandard.compress(CSV)),
        ("e.parquet", parquet()),
        ("e.ndjson", b"\n" + NDJSON.replace(b"\n", b"\n\n")),
    ],
)
def test_all_formats_give_the_same_events(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    lines = [line for batch in batches([str(tmp_path / name)]) for line in batch]
    assert [orjson.loads(line) for line in lines] == ROWS


def test_several_files_are_one_stream_numbered_through(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(NDJSON.rstrip())
    (tmp_path / "b.csv").write_bytes(CSV)
    found = list(event_batches([str(tmp_path / "a.ndjson"), str(tmp_path / "b.csv")]))
    assert [offset for batch in found for offset in batch.offsets.tolist()] == [0, 1, 2, 3]
    assert [orjson.loads(batch.value(i)) for batch in found for i in range(len(batch))] == ROWS + ROWS


def test_a_line_longer_than_a_chunk_stays_whole(tmp_path: Path) -> None:
    long = orjson.dumps({"type": "A", "ts": 1, "s": "x" * 3_000_000})
    (tmp_path / "e.ndjson").write_bytes(NDJSON + long + b"\n" + NDJSON)
    lines = [line for batch in batches([str(tmp_path / "e.ndjson")]) for line in batch]
    assert [len(line) for line in lines[2:3]] == [len(long)]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.xml", b"", "cannot tell what .*e.xml holds: .ndjson, .jsonl"),
        ("e.ndjson.zst", b"no zstd", "cannot read .*e.ndjson.zst"),
        ("e.ndjson.gz", b"no gzip", "cannot read .*e.ndjson.gz"),
        ("e.parquet", b"no parquet", "cannot read .*e.parquet"),
        ("e.csv", b"\xff\xfe,a\n", "cannot read .*e.csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(batches([str(tmp_path / name)]))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: .*No such file"):
        list(batches([str(tmp_path / "none.csv")]))
