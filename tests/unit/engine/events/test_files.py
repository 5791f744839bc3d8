"""Files of events: every format, packed or not, with positions; and what is said of a file that cannot be read."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from saffron.engine.events.files import Chunk, read_events
from saffron.engine.events.schema import Kind, Schema
from saffron.errors import InputError

LINES = b'{"type":"A","ts":1}\n\n{"type":"A","ts":2}\r\nnot json\n{"type":"A","ts":3}'


def values(chunks: list[Chunk]) -> list[bytes]:
    return [chunk.batch.value(row) for chunk in chunks for row in range(len(chunk.batch))]


def lines(chunks: list[Chunk]) -> list[int]:
    return [line for chunk in chunks for line in chunk.lines.tolist()]


def offsets(chunks: list[Chunk]) -> list[int]:
    return [offset for chunk in chunks for offset in chunk.batch.offsets.tolist()]


@pytest.mark.parametrize("size", [1, 7, 20, 1 << 20])
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_ndjson(tmp_path: Path, size: int, packing: str) -> None:
    path = tmp_path / f"events.ndjson{packing}"
    packed: dict[str, bytes] = {"": LINES, ".gz": gzip.compress(LINES), ".zst": zstandard.compress(LINES)}
    path.write_bytes(packed[packing])
    chunks = list(read_events([path], chunk_bytes=size))
    assert values(chunks) == [b'{"type":"A","ts":1}', b'{"type":"A","ts":2}', b"not json", b'{"type":"A","ts":3}']
    assert lines(chunks) == [1, 3, 4, 5]
    assert offsets(chunks) == [0, 1, 2, 3]


def test_several_files_are_one_stream(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(b"\xef\xbb\xbf" + LINES)
    second.write_bytes(LINES)
    chunks = list(read_events([first, second]))
    assert values(chunks)[0] == b'{"type":"A","ts":1}'
    assert offsets(chunks) == list(range(8))
    assert lines(chunks) == [1, 3, 4, 5] * 2
    assert {chunk.name for chunk in chunks} == {str(first), str(second)}


def test_packed_frames_one_after_another(tmp_path: Path) -> None:
    for name, pack in (("a.ndjson.gz", gzip.compress), ("a.ndjson.zst", zstandard.compress)):
        path = tmp_path / name
        path.write_bytes(pack(b'{"a":1}\n') + pack(b'{"a":2}\n'))
        assert values(list(read_events([path]))) == [b'{"a":1}', b'{"a":2}']


def test_standard_input() -> None:
    chunks = list(read_events(["-"], stdin=io.BytesIO(LINES)))
    assert lines(chunks) == [1, 3, 4, 5]


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(
        'type,ts,symbol,price,up,zip\nA,5,"a ""b"",\nc",1.50,True,007\n\nA,2024-01-01T00:00:00Z,x,,false,12\n'
        "A,6,y,-2e3,,\nA,7,y,1,true,1,extra\nA,8\n",
        encoding="utf-8-sig",
    )
    chunks = list(read_events([path]))
    assert values(chunks) == [
        b'{"type":"A","ts":5,"symbol":"a \\"b\\",\\nc","price":1.50,"up":true,"zip":"007"}',
        b'{"type":"A","ts":"2024-01-01T00:00:00Z","symbol":"x","price":null,"up":false,"zip":"12"}',
        b'{"type":"A","ts":6,"symbol":"y","price":-2e3,"up":null,"zip":null}',
        b'["A","7","y","1","true","1","extra"]',
        b'{"type":"A","ts":8}',
    ]
    assert lines(chunks) == [3, 5, 6, 7, 8]


def test_csv_by_schema(tmp_path: Path) -> None:
    path = tmp_path / "events.csv.gz"
    path.write_bytes(gzip.compress(b"type,ts,code,n\r\n1,1,12,x\r\n"))
    schema = Schema({"code": Kind.STRING, "n": Kind.INT}, {"1": ("code", "n")}, {})
    assert values(list(read_events([path], schema=schema))) == [b'{"type":"1","ts":1,"code":"12","n":"x"}']


@pytest.mark.parametrize("packing", ["", ".zst"])
def test_parquet(tmp_path: Path, packing: str) -> None:
    table = pa.table(
        {
            "type": ["A", "B"],
            "ts": pa.array([1_500_000_000_123_456_789, None], pa.timestamp("ns")),
            "price": [1.5, float("nan")],
            "n": pa.array([None, 3], pa.int32()),
            "cost": [Decimal("1.25"), None],
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    path = tmp_path / f"events.parquet{packing}"
    path.write_bytes(zstandard.compress(sink.getvalue()) if packing else sink.getvalue())
    chunks = list(read_events([path]))
    assert values(chunks) == [
        b'{"type":"A","ts":1500000000123,"price":1.5,"n":null,"cost":1.25,"at":"2024-01-01T00:00:00+00:00"}',
        b'{"type":"B","ts":null,"price":null,"n":3,"cost":null,"at":null}',
    ]
    assert lines(chunks) == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("events.json", b"{}", "unknown kind of file"),
        ("events.ndjson.zst", b"not packed", "is it really zstd?"),
        ("events.ndjson.gz", gzip.compress(LINES, mtime=0)[:-20], "cannot be read"),
        ("events.parquet", b"no parquet", "cannot be read"),
        ("events.csv", b"", "names no column 'type', but nothing"),
        ("events.csv", b"kind,ts\n", "but kind, ts"),
        ("events.csv", b"type,a,a\n", "names a twice"),
        ("events.csv", b"type,ts\n\xff,1\n", "line 2: is not UTF-8"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_events([path]))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_files_are_reported_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "quotes.ndjson.zst").write_bytes(zstandard.compress(LINES))
    with pytest.raises(InputError, match=r"no such file; did you mean .*quotes\.ndjson\.zst"):
        list(read_events([tmp_path / "quotes.ndjson.zst", tmp_path / "quotes.ndjson"]))
    (tmp_path / "d.ndjson").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        list(read_events([tmp_path / "d.ndjson"]))


def test_endless_line() -> None:
    with pytest.raises(InputError, match="64 MiB"):
        list(read_events(["-"], stdin=io.BytesIO(b"x" * ((64 << 20) + 1))))
