"""Event files as the lines that are produced."""

from __future__ import annotations

from pathlib import Path

import orjson

from saffron.cli.lines import batches

ROWS = [
    {"type": "A", "ts": 1, "x": 1.5, "s": "IBM", "b": True},
    {"type": "B", "ts": 2, "x": None, "s": "K", "b": False},
]
NDJSON = b"".join(orjson.dumps(row) + b"\n" for row in ROWS)
CSV = b"type,ts,x,s,b\nA,1,1.5,IBM,true\nB,2,,K,false\n"


def test_lines_are_passed_on_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_bytes(b'{"type" : "A","ts":1}\r\n\n  {broken\n' + NDJSON.rstrip())
    lines = [line for batch in batches([str(path)]) for line in batch]
    assert lines == [b'{"type" : "A","ts":1}', b"  {broken", *NDJSON.splitlines()]


def test_several_files_are_one_stream(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(NDJSON)
    (tmp_path / "b.csv").write_bytes(CSV)
    lines = [line for batch in batches([str(tmp_path / "a.ndjson"), str(tmp_path / "b.csv")]) for line in batch]
    assert [orjson.loads(line) for line in lines] == ROWS + ROWS
