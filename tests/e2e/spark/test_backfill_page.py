"""docs/backfill.md on Spark, as printed: it finds what `saffron replay` finds, to the byte. One JVM does it all."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import re
import shlex
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

import saffron
from saffron.cli.main import app
from saffron.errors import InputError
from saffron.history import session as sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark leaves them to the collector
]

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "backfill.md").read_text("utf-8")
RUNS = re.findall(r"```\n\.venv/bin/saffron (backfill .+)\n```\n\n```\n([^`]+)```", PAGE)
DATA = ROOT / "services" / "saffron" / "data"
QUOTES = 20_000
SMALL = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.maxPartitionBytes": "262144",
}
"""A small JVM that is soon warm; files are read in several blocks."""


def test_history_on_spark_gives_the_answers_of_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "services").symlink_to(ROOT / "services")
    write_quotes(tmp_path / "quotes")
    assert len(RUNS) == 2
    with sessions.opened("local[2]", SMALL) as session:
        monkeypatch.setattr(sessions, "opened", lambda master, conf: contextlib.nullcontext(session))
        for command, printed in RUNS:
            assert run(command) == printed
        assert not capfd.readouterr().err, "Spark itself has nothing to say"
        queries = [DATA / "rally.saf", DATA / "downtrends.saf"]
        expected = replayed(queries, *sorted((tmp_path / "quotes").iterdir()))
        found = written(tmp_path / "found")
        assert sorted(found) == sorted(expected)
        assert list(map(place, found)) == sorted(map(place, found)), "results stand in the order that the page states"
        letters = list(map(orjson.loads, written(tmp_path / "found" / "_dead-letters")))
        assert [(one["reason"], one["position"], one["line"]) for one in letters] == [
            ("not-json", 99, "no json"),
            ("no-ts", 200, '{"type":"Quote"}'),
            ("not-an-object", 4500, "[]"),
        ]
        pairs: list[Any] = pq.read_table(tmp_path / "pairs").to_pylist()
        assert [one["id"] for one in pairs] == [orjson.loads(one["line"])["id"] for one in pairs]
        query = shlex.split(RUNS[1][0])[2]
        expected = replayed([query], tmp_path / "quotes" / "3.parquet")
        assert sorted(one["line"].encode() for one in pairs) == sorted(expected)
        refusals(session, tmp_path)
        kinds_of_columns(session, tmp_path)
    gc.collect()


def run(command: str) -> str:
    """What it prints, but for the steps of its work."""
    done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    steps = ("starting", "reading", "matching", "writing")
    return "".join(line for line in done.output.splitlines(keepends=True) if not line.startswith(steps))


def refusals(session: SparkSession, folder: Path) -> None:
    """What cannot be done says so, before any work; nothing is left behind."""
    events: list[Mapping[str, Any]] = [{"type": "A", "ts": 1, "x": 1}]
    (folder / "mixed").mkdir()
    pq.write_table(pa.Table.from_pylist(events), folder / "mixed" / "1.parquet")
    pq.write_table(pa.Table.from_pylist([{**events[0], "x": "one"}]), folder / "mixed" / "2.parquet")
    (folder / "ended.jsonl").write_bytes(b'{"type":"A","ts":1,"x":1}\n{"type":"$watermark","ts":2,"end":true}\n')
    (folder / "notes.txt").write_text("no events", "utf-8")
    cases = {
        "no such file": ("nowhere.jsonl", "new"),
        "unknown kind of file": ("notes.txt", "new"),
        "two types": ("mixed", "new"),
        r"\$watermark that ends": ("ended.jsonl", "new"),
        "is there already": ("ended.jsonl", "found"),
    }
    for message, (source, out) in cases.items():
        with pytest.raises(InputError, match=message):
            saffron.backfill("PATTERN A a WHERE [x] WITHIN 1 ms", source, out, session=session)
    assert not (folder / "new").exists()
    (folder / "seconds.jsonl").write_bytes(b'{"type":"A","ts":1777629600,"x":1}\n{"type":"A","ts":1777629601,"x":1}\n')
    with pytest.warns(UserWarning, match="times of 2 events lie in 1970"):
        saffron.backfill("PATTERN A a WHERE [x] WITHIN 1 ms", folder / "seconds.jsonl", folder / "new", session=session)


def kinds_of_columns(session: SparkSession, folder: Path) -> None:
    """What a value is does not depend on Spark's having its type; a column that it does not read is named."""
    of: dict[str, Any] = {
        "type": pa.array(["A", "A"]),
        "ts": pa.array([1_000_000, 2_500_000], pa.timestamp("ns")),
        "nanos": pa.array([2**62, -1], pa.timestamp("ns", "UTC")),
        "zone": pa.array([2**50, None], pa.timestamp("us", "Europe/Berlin")),
        "took": pa.array([5, None], pa.duration("us")),
        "id": pa.array([2**53 + 1, 2**63], pa.uint64()),
        "all": pa.array([[{"took": 5}], None], pa.list_(pa.struct([("took", pa.duration("us"))]))),
        "bytes": pa.array([b"\xff", b"x"]),
    }
    pq.write_table(pa.table(of), folder / "kinds.parquet")
    query = "PATTERN A a WHERE [id] WITHIN 1 ms"
    saffron.backfill(query, folder / "kinds.parquet", folder / "kinds", session=session)
    assert written(folder / "kinds") == sorted(replayed([query], folder / "kinds.parquet"), key=place)
    pq.write_table(pa.table({**of, "day": pa.array([1, 2], pa.time64("us"))}), folder / "times.parquet")
    with pytest.raises(InputError, match=r"times\.parquet: column 'day' has the type time64\[us\]"):
        saffron.backfill(query, folder / "times.parquet", folder / "times", session=session)


def write_quotes(folder: Path) -> None:
    """The first shipped quotes in four files, one of each form, a few lines of them no events."""
    with zstandard.open(DATA / "stock_quotes.ndjson.zst", "rb") as packed:
        lines = [line.rstrip(b"\n") for line in islice(io.BufferedReader(packed), QUOTES)]
    quarters = [lines[start : start + QUOTES // 4] for start in range(0, QUOTES, QUOTES // 4)]
    folder.mkdir()
    quarters[0][99:99] = [b"no json", b""]
    quarters[0][201:201] = [b'{"type":"Quote"}']
    quarters[0][4501:4501] = [b"[]"]
    (folder / "0.ndjson").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(quarters[0]))
    (folder / "1.jsonl.gz").write_bytes(gzip.compress(b"\n".join(quarters[1])))
    tables = [pa.Table.from_pylist(list(map(orjson.loads, quarter))) for quarter in quarters[2:]]
    pyarrow.csv.write_csv(tables[0], folder / "2.csv")
    pq.write_table(tables[1], folder / "3.parquet", row_group_size=1000)


def replayed(queries: list[Any], *files: Path) -> list[bytes]:
    """What `saffron replay` says of the same files."""
    with pytest.warns(match="bad or late") if len(files) > 1 else contextlib.nullcontext():
        return list(saffron.replay(queries, list(files), disorder=2**40).lines())


def written(folder: Path) -> list[bytes]:
    """Lines of all files, in the order of their names."""
    return [line for path in sorted(folder.glob("part-*.jsonl")) for line in path.read_bytes().splitlines()]


def place(line: bytes) -> tuple[Any, ...]:
    """Where a result stands among others."""
    one = orjson.loads(line)
    start, end = (one["start"], one["end"]) if "start" in one else one["window"]
    return end, start, one["query"], one["id"]
