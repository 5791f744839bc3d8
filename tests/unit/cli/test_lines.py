"""Event files as the lines that are produced."""

from __future__ import annotations

from pathlib import Path

import orjson

from saffron.cli.replays.places import Places
from saffron.cli.streams.lines import LeftOut, batches
from saffron.engine.events.formats.files import read_events
from saffron.schema.schema import MAX_EVENT_BYTES

ROWS = [
    {"type": "A", "ts": 1, "x": 1.5, "s": "IBM", "b": True},
    {"type": "B", "ts": 2, "x": None, "s": "K", "b": False},
]
NDJSON = b"".join(orjson.dumps(row) + b"\n" for row in ROWS)
CSV = b"type,ts,x,s,b\nA,1,1.5,IBM,true\nB,2,,K,false\n"


def test_lines_are_passed_on_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    path.write_bytes(b'{"type" : "A","ts":1}\r\n\n  {broken\n' + NDJSON.rstrip())
    lines = [line for batch in batches([str(path)], LeftOut()) for line in batch]
    assert lines == [b'{"type" : "A","ts":1}', b"  {broken", *NDJSON.splitlines()]


def test_several_files_are_one_stream(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(NDJSON)
    (tmp_path / "b.csv").write_bytes(CSV)
    lines = [
        line for batch in batches([str(tmp_path / "a.ndjson"), str(tmp_path / "b.csv")], LeftOut()) for line in batch
    ]
    assert [orjson.loads(line) for line in lines] == ROWS + ROWS


def test_lines_that_no_message_can_be_as_long_as_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "e.ndjson"
    whole = b"x" * MAX_EVENT_BYTES
    path.write_bytes(b"a\n" + whole + b"\n\n" + whole + b"x\nb\n" + whole + b"xx\n")
    left_out = LeftOut()
    assert [line for batch in batches([str(path)], left_out) for line in batch] == [b"a", whole, b"b"]
    assert left_out.report() == (
        f"2 events were not sent, since they are longer than 1048576 bytes; the first: {path}, line 4"
    )


def test_a_row_of_csv_that_is_none_is_sent_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(b'type,ts,note\nA,1,"open\nA,2,b\n')
    lines = [line for batch in batches([str(path)], LeftOut()) for line in batch]
    assert lines == [b'A,1,"open', b'{"type":"A","ts":2,"note":"b"}']


def test_the_place_of_each_event_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(b"\n" + NDJSON + b"\n\n" + NDJSON)
    (tmp_path / "b.csv").write_bytes(b'type,ts,s\nA,1,"two\nlines"\nB,2,x\n')
    names = [str(tmp_path / "a.ndjson"), str(tmp_path / "b.csv")]
    for size in (1, 50, 10_000):
        places = Places()
        count = sum(len(chunk.batch) for chunk in places.watch(read_events(names, chunk_bytes=size)))
        found = [places.of(position) for position in range(count)]
        assert found == [f"{names[0]}, line {one}" for one in (2, 3, 6, 7)] + [
            f"{names[1]}, line {one}" for one in (2, 4)
        ]
