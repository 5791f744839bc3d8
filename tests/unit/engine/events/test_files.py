"""Files of events: every format, packed or not, with positions; and what is said of a file that cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.formats.files import Chunk, read_events
from saffron.errors import InputError
from saffron.schema.schema import MAX_EVENT_BYTES, Kind, Schema

LINES = b'{"type":"A","ts":1}\n\n{"type":"A","ts":2}\r\nnot json\n{"type":"A","ts":3}'


def _parquet(names: list[str]) -> bytes:
    """A Parquet file with a row of columns of these names."""
    out = io.BytesIO()
    pq.write_table(pa.table([pa.array(["A"]), *[pa.array([1])] * (len(names) - 1)], names=names), out)
    return out.getvalue()


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
    assert lines(chunks) == [2, 5, 6, 7, 8], "of the line that a row begins in"
    (refused,) = chunks[0].batch.refused.items()
    assert refused == (3, ("not-csv", "line 7 has 7 cells, and the header names 6 columns"))


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
        b'{"type":"B","ts":null,"price":"NaN","n":3,"cost":null,"at":null}',
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
        ("events.csv", b"type,a,a\n", "the header line has 'a' twice: give each a name of its own"),
        ("events.parquet", _parquet(["type", "ts", "a", "a"]), "events.parquet has 'a' twice"),
        ("events.csv", b"type,\xff\nA,1\n", "the header cannot be read: line 1 is not UTF-8"),
        (
            "events.csv",
            b'type,"ts\nA,1\n',
            "the header cannot be read: line 1 is no row of CSV: a quote is not closed",
        ),
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


@pytest.mark.parametrize("size", [1 << 10, 1 << 16, 8 << 20])
def test_a_line_longer_than_any_event_is_one_dead_letter_however_it_is_read(size: int) -> None:
    data = b'{"type":"A","ts":1}\n' + b"x" * (5 << 20) + b'\n{"type":"A","ts":2}\n' + b"y" * (3 << 20)
    chunks = list(read_events(["-"], stdin=io.BytesIO(data), chunk_bytes=size))
    kept = MAX_EVENT_BYTES + 1
    assert values(chunks) == [b'{"type":"A","ts":1}', b"x" * kept, b'{"type":"A","ts":2}', b"y" * kept]
    assert lines(chunks) == [1, 2, 3, 4]


def bad(chunks: list[Chunk]) -> dict[int, str]:
    """Line -> why it is no event, as the decoder says."""
    found = {}
    for chunk in chunks:
        for one in Decoder(Schema({}, {}, {})).decode(chunk.batch).bad:
            found[int(chunk.lines[one.row])] = f"{one.reason}: {one.detail}"
    return found


ODD_ROWS = {
    2: b'A,1,"left open',
    4: b'A,3,"closed" wrongly',
    5: b"A,4,\xff",
    7: b"A,6,x,too many",
    8: b"A,7," + b"z" * MAX_EVENT_BYTES,
    9: b'{"type":"A","ts":1},"',
    11: b'A,10,"',
}
"""Lines that are no rows of `type,ts,note`."""


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_of_csv_that_is_no_row_is_one_dead_letter(tmp_path: Path, size: int, end: bytes) -> None:
    rows = {line: b"A,%d,x" % (line - 1) for line in range(2, 13)} | ODD_ROWS
    if size < 100:
        del rows[8]  # a few bytes at a time it takes too long
    path = tmp_path / "events.csv"
    path.write_bytes(end.join([b"type,ts,note", *rows.values()]) + end)
    chunks = list(read_events([path], chunk_bytes=size))
    odd = [at for at, row in enumerate(rows.values(), 2) if row in ODD_ROWS.values()]
    found = bad(chunks)
    assert list(found) == odd
    assert lines(chunks) == list(range(2, 2 + len(rows))), "nothing is swallowed"
    assert found[2] == "not-csv: line 2 is no row of CSV: a quote is not closed"
    assert found[4] == "not-csv: line 4 is no row of CSV: ',' expected after '\"'"
    assert found[5] == "not-csv: line 5 is not UTF-8 (byte 5: 0xff)"


def test_cells_of_csv_may_be_as_long_as_events(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    long = "x" * 131_073
    path.write_text(f'type,ts,note\nA,1,{long}\nA,2,"{long}\n{long}"\n')
    texts = [orjson.loads(value)["note"] for value in values(list(read_events([path])))]
    assert texts == [long, f"{long}\n{long}"]


def test_an_empty_cell_is_null_and_a_quoted_empty_one_is_empty_text(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text('type,ts,a,b\nA,1,,x\nA,2,"",""\nA,3,"say """", ""a"",b",""\n"",4,x,y\nA,"","",\n')
    assert values(list(read_events([path]))) == [
        b'{"type":"A","ts":1,"a":null,"b":"x"}',
        b'{"type":"A","ts":2,"a":"","b":""}',
        b'{"type":"A","ts":3,"a":"say \\"\\", \\"a\\",b","b":""}',
        b'{"type":"","ts":4,"a":"x","b":"y"}',
        b'{"type":"A","ts":null,"a":"","b":null}',
    ]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["10.5", "N/A", "9000.25"], Kind.FLOAT),
        (["1", "", "-", "2", "#N/A", "3", "4"], Kind.INT),
        (["1"] * 19 + ["oops"], Kind.INT),
        (["1", "oops", "3"], Kind.STRING),
        (["1", "N/A", "N/A"], Kind.STRING),
        (["007", "12", "13"], Kind.STRING),
        (["true", "False", "n/a"], Kind.BOOL),
        (["true", "yes", "false"], Kind.STRING),
        (["N/A", "N/A"], Kind.STRING),
    ],
)
def test_a_column_of_csv_is_what_hardly_any_of_its_cells_is_not(tmp_path: Path, cells: list[str], kind: Kind) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,ts,x\n" + "".join(f"A,{ts},{cell}\n" for ts, cell in enumerate(cells)))
    batches = [chunk.batch for chunk in read_events([path])]
    schema = infer_schema(batches)
    decoded = Decoder(schema).decode(batches[0])
    assert schema.kinds["x"] is kind
    kept = [value for value in column_values(decoded.attributes["x"]) if value is not None]
    odd = [cell for cell in cells if cell and cell in ("N/A", "-", "#N/A", "oops", "n/a")]
    assert len(kept) == sum(map(bool, cells)) - (0 if kind is Kind.STRING else len(odd))


@pytest.mark.parametrize("seed", range(20))
def test_csv_of_any_text_comes_back(tmp_path: Path, seed: int) -> None:
    """Beside Python's own writer: cells with commas, quotes and line ends, and some lines broken."""
    random = Random(seed)
    end = random.choice(["\n", "\r\n"])
    texts = ["".join(random.choices(f'ab,"{end} é', k=random.randrange(12))) or None for _ in range(200)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end)
    writer.writerows([["type", "ts", "note"], *(["A", ts, text] for ts, text in enumerate(texts))])
    path = tmp_path / "events.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    read = [orjson.loads(value) for value in values(list(read_events([path], chunk_bytes=random.randrange(1, 60))))]
    assert [row["note"] for row in read] == texts
    assert [row["ts"] for row in read] == list(range(200))


def test_a_column_of_csv_has_arrays_where_the_schema_says_so(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text('type,ts,l\nA,1,"[1, ""x""]"\nA,2,[]\nA,3,\nA,4,none\n')
    schema = Schema({"l": Kind.ARRAY}, {"A": ("l",)}, {}, given=True)
    (chunk,) = read_events([path], schema=schema)
    decoded = Decoder(schema).decode(chunk.batch)
    assert column_values(decoded.attributes["l"]) == [[1, "x"], [], None]
    assert [(one.row, one.reason) for one in decoded.bad] == [(3, "schema")]


@pytest.mark.parametrize(
    ("content", "kind"),
    [(gzip.compress(LINES), "gzip"), (zstandard.compress(LINES), "zstd"), (_parquet(["type", "ts"]), "Parquet")],
    ids=["gzip", "zstd", "parquet"],
)
def test_what_is_packed_or_a_table_is_not_read_as_lines(tmp_path: Path, content: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=f"-: is {kind}, and is read as lines of JSON"):
        list(read_events(["-"], stdin=io.BytesIO(content)))
    path = tmp_path / "events.ndjson"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"events.ndjson: is {kind}"):
        list(read_events([path]))


def test_a_pipe_is_read_as_standard_input_only(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"events.ndjson: is a pipe or a device; .* - < .*events.ndjson"):
        list(read_events([path]))


def test_the_place_where_a_line_is_no_utf8_is_told() -> None:
    line = b'{"type":"A","ts":1,"x":"caf\xe9"}'
    bad = Decoder(Schema({}, {}, {})).decode(next(read_events(["-"], stdin=io.BytesIO(line))).batch).bad
    assert [one.detail for one in bad] == ["not JSON: it is not UTF-8 (byte 28: 0xe9)"]
