"""How much of a file has been read, as the line says that replaces itself."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from saffron.cli.progress import Reading, bar
from saffron.engine.events.formats.files import read_events


@pytest.mark.parametrize(("done", "shown"), [(0, "[....................]   0 %"), (5, "[#####...............]  25 %")])
def test_a_bar_shows_a_share(done: int, shown: str) -> None:
    assert bar(done, 20) == shown
    assert bar(30, 20) == "[####################] 100 %"


def test_lines_of_a_file_are_told_of_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_text('{"type":"A"}\n' * 400, "utf-8")
    shown: list[str] = []
    clock = count()
    reading = Reading([str(path)], shown.append, lambda: float(next(clock)))
    batches = list(reading.watch(read_events([str(path)], chunk_bytes=1300)))
    assert sum(map(len, batches)) == 400
    assert len(batches) == len(shown) > 3
    assert shown[0] == f"[....................]   0 %  0 events, 0/s ({path})"
    half = next(line for line in shown if " 50 %" in line)
    assert half.startswith("[##########..........]  50 %  200 events")


def test_of_what_is_packed_only_the_count_is_known(tmp_path: Path) -> None:
    shown: list[str] = []
    clock = count()
    path = tmp_path / "events.csv"
    path.write_text("type,x\nA,1\n", "utf-8")
    list(Reading([str(path)], shown.append, lambda: float(next(clock))).watch(read_events([str(path)])))
    assert shown == [f"0 events, 0/s ({path})"]
