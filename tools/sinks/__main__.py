"""Results in PostgreSQL through Kafka Connect, each once, while the worker dies: python -m sinks [--events N]."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib import resources
from pathlib import Path

import zstandard
from bench.shared.table import report
from faults.client import Feeder
from faults.target import Target, running

from saffron.cli import console
from sinks.postgres import Postgres, server
from sinks.worker import Worker, sink_jars, worker_jars

_QUERY = """QUERY rallies PATTERN SEQ(Quote+ a[], Quote b)
WHERE [symbol] AND a[i].price > avg(a[..i-1].price) AND b.price < 0.995 * a[last].price
WITHIN 1 hour RETURN a[1].symbol AS symbol, count(a[]) AS steps, a[1].price AS first, b.price AS fall
PUBLISH 'rallies' AS JSON SCHEMA KEY b.symbol"""
_SINK = {
    "name": "rallies",
    "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
    "tasks.max": "1",
    "topics": "rallies",
    "insert.mode": "upsert",
    "primary.key.mode": "record_value",
    "primary.key.fields": "id",
    "schema.evolution": "basic",
    "quote.identifiers": "true",
}
_COLUMNS = '"id", "symbol", "steps", "first", "fall", extract(epoch FROM "start") * 1000'
_LINE = 150
_PATIENCE_S = 120.0
_KILLS = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sinks", description=__doc__)
    parser.add_argument("--events", type=int, default=30_000, help="of the 702,000 stock quotes")
    chosen = parser.parse_args()
    worker_jars(), sink_jars()
    with tempfile.TemporaryDirectory(prefix="saffron-sinks-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with server(folder / "postgres") as postgres, running(folder / "data", 2) as target:
            wanted, found, kills, seconds = _run(folder, target, postgres, chosen.events)
    console.done()
    row = {
        "events": chosen.events,
        "results": len(wanted),
        "rows": len(found),
        "missing": len(wanted - found),
        "wrong": len(found - wanted),
        "kills": kills,
        "seconds": round(seconds, 1),
    }
    report("results of `replay` beside the rows of the table", [row], None, width=120)
    raise SystemExit(0 if wanted == found and wanted else 1)


def _run(
    folder: Path, target: Target, postgres: Postgres, events: int
) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]], int, float]:
    """The results of `replay` as rows, the rows of the table, how often the worker was killed, and the time."""
    packed = resources.files("saffron.data").joinpath("stock_quotes.ndjson.zst").read_bytes()
    lines = zstandard.ZstdDecompressor().stream_reader(packed).read(events * _LINE).split(b"\n")[:events]
    schema, query, quotes = folder / "schema.json", folder / "rallies.saf", folder / "quotes.ndjson"
    schema.write_bytes(resources.files("saffron.data").joinpath("quotes.schema.json").read_bytes())
    query.write_text(_QUERY, "utf-8")
    quotes.write_bytes(b"\n".join(lines) + b"\n")
    console.step("replay")
    split = ("--partitions", "2", "--key", "symbol", "--schema", str(schema))
    wanted = {
        _row(json.loads(line)) for line in target.command("replay", "-q", str(query), *split, str(quotes)).splitlines()
    }
    target.command("stream", "add", "events", "--key", "symbol", "--schema", str(schema))
    target.command("query", "add", str(query))
    worker = Worker(folder, target.bootstrap, {**_SINK, **postgres.connection})
    feeder = Feeder(target.bootstrap, "saffron.events")
    started, kills, seen = time.monotonic(), 0, 0
    worker.start()
    try:
        pairs = [(json.loads(line)["symbol"].encode(), line) for line in lines]
        for part in range(_KILLS + 1):
            feeder.send(pairs[part * len(pairs) // (_KILLS + 1) : (part + 1) * len(pairs) // (_KILLS + 1)])
            console.step(f"part {part + 1} of {_KILLS + 1}: {seen} rows")
            if part < _KILLS:
                seen = _grown(postgres, seen)
                worker.kill()
                worker.start()
                kills += 1
        feeder.end(2, b'{"type":"$watermark","ts":1700000000000,"end":true}')
        _wait(postgres, len(wanted))
    finally:
        worker.kill()
    found = {tuple(map(_number, row)) for row in postgres.rows(f'SELECT {_COLUMNS} FROM "rallies"')}
    return wanted, found, kills, time.monotonic() - started


def _grown(postgres: Postgres, seen: int) -> int:
    """The number of rows, once there are more than `seen`."""
    return _wait(postgres, seen + 1)


def _wait(postgres: Postgres, wanted: int) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while (count := int((postgres.rows('SELECT count(*) FROM "rallies"') or [["0"]])[0][0])) < wanted:
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return count


def _row(result: dict[str, object]) -> tuple[str, ...]:
    values = result["return"]
    assert isinstance(values, dict)
    parts = (result["id"], *(values[name] for name in ("symbol", "steps", "first", "fall")), result["start"])
    return tuple(_number(str(part)) for part in parts)


def _number(text: str) -> str:
    """The normal form of a number's text."""
    try:
        return repr(float(text))
    except ValueError:
        return text


if __name__ == "__main__":
    main()
