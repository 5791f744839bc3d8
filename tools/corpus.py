"""A corpus of what a version leaves on Kafka and on disk: `python tools/corpus.py DIR` starts, feeds and copies it.

The corpus has every record of every topic, the committed positions of the services, and their snapshots. Tests read
it by the code of today, so that a later version goes on from the topics and snapshots of an earlier one.

- `records.ndjson.zst`: one record a line, with its offset. Markers of transactions show as gaps between offsets.
- `positions.json`: the end of each partition, and each group's committed offsets with their metadata.
- `snapshots/`: the directory of snapshots as it was.
- `about.json`: the version, and where its system ran.

Run it once for each released version, with that version checked out: `python tools/corpus.py tests/corpus/0.2.0`.
"""

from __future__ import annotations

import base64
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson
import zstandard

from saffron.cli.client import Client, connection
from saffron.runtime.log import Committed, Record, TopicPartition
from saffron.runtime.log.topics import Topics, topic_files
from saffron.runtime.process.config import load

ROOT = Path(__file__).resolve().parents[1]
SAFFRON = str(Path(sys.executable).with_name("saffron"))
PARTITIONS = 2
GROUPS = ("windowing", "shedder", "matcher", "greta")
SETTINGS = {
    "SAFFRON_SNAPSHOT_MS": "500",
    "SAFFRON_CHECKPOINT_EVENTS": "2000",
    "SAFFRON_BLOCK_EVENTS": "256",
    "SAFFRON_OBSERVE": "always",
}
_PATIENCE_SECONDS = 180.0
_LOOK_SECONDS = 0.5
_QUOTES = ROOT / "services" / "saffron" / "data" / "stock_quotes.ndjson.zst"
_BAD = (b'{"type":"Quote","ts":"soon","symbol":"IBM"}', b"{broken", b'{"ts":1150378300000,"symbol":"IBM"}')

QUERIES = {
    "rally": (ROOT / "services" / "saffron" / "data" / "rally.saf").read_text("utf-8"),
    "downtrends": """QUERY downtrends FROM by_sector PATTERN Quote+ Q WHERE [symbol] AND Q.price > NEXT(Q).price
GROUP BY sector WITHIN 10 minutes SLIDE 5 minutes RETURN sector, COUNT(*)""",
    "dips": """QUERY dips PATTERN SEQ(Quote a, Quote b)
WHERE skip-till-next-match { [symbol] AND b.price < 0.995 * a.price }
WITHIN 10 minutes RETURN a.symbol AS symbol, b.price AS price INTO Dip""",
    "two_dips": "QUERY two_dips PATTERN SEQ(Dip a, Dip b) WHERE [symbol] WITHIN 1 hour RETURN a.symbol AS symbol",
    "sectors": """QUERY sectors FROM by_sector PATTERN SEQ(Quote a, NOT Quote n, Quote b)
WHERE skip-till-next-match { [sector] AND a.symbol != b.symbol AND n.price > 100 AND b.price > a.price }
WITHIN 2 minutes RETURN a.sector AS sector""",
    "sales": """QUERY sales FROM trades PATTERN SEQ(Trade a, Trade+ b[])
WHERE [symbol] AND b[i].size > a.size WITHIN 1 second""",
    "sums": """QUERY sums FROM trades PATTERN Trade T+ WHERE [symbol]
GROUP BY symbol WITHIN 1 second RETURN symbol, COUNT(*), SUM(T.size)""",
    "paused": "QUERY paused PATTERN SEQ(Quote a, Quote b) WHERE [symbol] AND b.price > a.price WITHIN 1 second",
    "removed": "QUERY removed PATTERN SEQ(Quote a, Quote b) WHERE [symbol] AND b.price > a.price WITHIN 1 second",
    "replaced": """QUERY replaced PATTERN SEQ(Quote a, Quote b)
WHERE [symbol] AND b.price > 1.01 * a.price WITHIN 1 hour""",
}
_NEW_TEXT = QUERIES["replaced"].replace("1.01", "1.02")
TRADES = {
    "type": "object",
    "required": ["type", "ts", "symbol", "size"],
    "properties": {
        "type": {"enum": ["Trade", "Cancel"]},
        "ts": {"type": "integer"},
        "symbol": {"type": "string"},
        "size": {"type": "integer"},
        "note": {"type": ["string", "null"]},
    },
}


# ---------------------------------------------------------------- the files


@dataclass(frozen=True)
class Positions:
    """The end of each partition, and committed offsets by group (without the prefix) and partition."""

    ends: dict[TopicPartition, int]
    committed: dict[tuple[str, TopicPartition], Committed]


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write one JSON object a line; bytes that are no UTF-8 text become {"base64": ...}."""
    with zstandard.open(path, "wb", cctx=zstandard.ZstdCompressor(level=19)) as file:
        for one in records:
            headers = [[name, _shown(value)] for name, value in one.headers]
            line = {
                "topic": one.topic,
                "partition": one.partition,
                "offset": one.offset,
                "timestamp": one.timestamp,
                "key": _shown(one.key),
                "value": _shown(one.value),
                "headers": headers,
            }
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def read_records(directory: Path) -> Iterator[Record]:
    """All records of a corpus, by topic, partition and offset."""
    with zstandard.open(directory / "records.ndjson.zst", "rb") as file:
        for line in file.read().splitlines():
            row = orjson.loads(line)
            headers = tuple((name, _bytes(value) or b"") for name, value in row["headers"])
            place = row["topic"], row["partition"], row["offset"], row["timestamp"]
            yield Record(*place, _bytes(row["key"]), _bytes(row["value"]), headers)


def read_positions(directory: Path) -> Positions:
    """The ends of partitions and the positions of groups."""
    raw = orjson.loads((directory / "positions.json").read_bytes())
    ends = {TopicPartition(topic, partition): end for topic, partition, end in raw["ends"]}
    committed = {
        (group, TopicPartition(topic, partition)): Committed(offset, metadata)
        for group, topic, partition, offset, metadata in raw["committed"]
    }
    return Positions(ends, committed)


def _shown(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


# ---------------------------------------------------------------- the workload


class Run:
    """The `saffron` command over a data directory of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.environment = {**os.environ, **SETTINGS, "SAFFRON_DATA": str(data), "SAFFRON_BOOTSTRAP": ""}

    def __call__(self, *arguments: str, given: bytes | None = None) -> None:
        print("saffron", *arguments)
        subprocess.run([SAFFRON, *arguments], env=self.environment, input=given, check=True)


def feed(run: Run) -> None:
    """Streams of each kind, queries of each kind and fate, events and messages that are none."""
    quotes = _lines(_QUOTES, 6_000)
    schema = run.data / "trades.schema.json"
    schema.write_bytes(orjson.dumps(TRADES))
    run("stream", "add", "events", "--key", "symbol", "--idle", "1s")
    run("stream", "add", "trades", "--key", "symbol", "--schema", str(schema), "--disorder", "2s", "--partitions", "2")
    run("stream", "add", "by_sector", "--from", "events", "--key", "sector", "--idle", "1s")
    run("produce", "-", given=b"\n".join([*quotes[:500], *_BAD]))
    run("query", "add", *itertools.chain.from_iterable(("-e", text) for text in QUERIES.values()))
    run("produce", "-", given=b"\n".join(quotes[500:3_000]))
    run("produce", "-", "--stream", "trades", given=b"\n".join(trades(0, 400)))
    run("query", "pause", "paused")
    run("query", "remove", "removed")
    new = run.data / "replaced.saf"
    new.write_text(_NEW_TEXT, "utf-8")
    run("query", "replace", "replaced", str(new))
    run("produce", "-", given=b"\n".join(quotes[3_000:]))
    run("produce", "-", "--stream", "trades", given=b"\n".join(trades(400, 800)))


def trades(first: int, last: int) -> list[bytes]:
    """Made-up trades by number; every fiftieth is no trade."""
    made = []
    for index in range(first, last):
        size: Any = "many" if index % 50 == 49 else (index * 37) % 11
        row = {"type": "Trade", "ts": 1_150_378_200_000 + 100 * index, "symbol": "AB"[index % 2], "size": size}
        made.append(orjson.dumps(row if index % 7 else {**row, "note": "a note"}))
    return made


def _lines(path: Path, count: int) -> list[bytes]:
    with zstandard.open(path, "rb") as file:
        return [line.rstrip(b"\n") for line in itertools.islice(io.BufferedReader(file), count)]


# ---------------------------------------------------------------- the copy


def copy(run: Run, directory: Path) -> None:
    """Wait until there is a model and the system is at rest; then copy topics, positions and snapshots."""
    settings = load({"data": run.data, "bootstrap": ""}).settings
    state = orjson.loads((run.data / "state.json").read_bytes())
    settings = load({"data": run.data, "bootstrap": state["bootstrap"], "prefix": state["prefix"]}).settings
    with connection(settings) as client:
        _until(lambda: any(client.records(client.topics.models)), "a model")
        _at_rest(client, run.data / "snapshots")
        records, ends = read_all(client)
        committed = _committed(client)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    write_records(directory / "records.ndjson.zst", records)
    positions = {
        "ends": [[where.topic, where.partition, end] for where, end in sorted(ends.items())],
        "committed": committed,
    }
    (directory / "positions.json").write_bytes(orjson.dumps(positions, option=orjson.OPT_INDENT_2))
    shutil.copytree(run.data / "snapshots", directory / "snapshots")
    about = {"version": version("saffron"), "prefix": settings.prefix, "partitions": PARTITIONS, "settings": SETTINGS}
    (directory / "about.json").write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))


def _names(client: Client) -> list[str]:
    topics = client.topics
    streams = client.streams().values()
    inner = [of(stream.stem) for stream in streams for of in (topics.windows_of, topics.admitted_of)]
    return sorted({*(topics.named(name) for name in topic_files()), *(stream.topic for stream in streams), *inner})


def read_all(client: Client) -> tuple[list[Record], dict[TopicPartition, int]]:
    """Every committed record of every topic, in order, and the end of each partition."""
    consumer = client.log.consumer("corpus", committed_only=True)
    ends: dict[TopicPartition, int] = {}
    for name in _names(client):
        for partition in range(client.partitions(name)):
            where = TopicPartition(name, partition)
            ends[where] = consumer.watermarks(where)[1]
    consumer.assign(dict.fromkeys(ends, 0))
    found: list[Record] = []
    while records := consumer.poll(5_000, 2.0):
        found += records
    consumer.close()
    found = [one for one in found if one.offset < ends[TopicPartition(one.topic, one.partition)]]
    return sorted(found, key=lambda one: (one.topic, one.partition, one.offset)), ends


def _committed(client: Client) -> list[list[Any]]:
    rows: list[list[Any]] = []
    groups = [(name, client.settings.group(name)) for name in GROUPS]
    routers = [f"router.{stream.stem}" for stream in client.streams().values()]
    groups += [(name, client.settings.group(name)) for name in routers]
    for name, group in groups:
        consumer = client.log.consumer(group, committed_only=True)
        for topic in _names(client):
            for partition in range(client.partitions(topic)):
                found = consumer.committed(TopicPartition(topic, partition))
                if found is not None:
                    rows.append([name, topic, partition, found.offset, found.metadata])
        consumer.close()
    return rows


def _at_rest(client: Client, snapshots: Path) -> None:
    """Wait until only load and health messages are written, and both engines have a snapshot."""
    topics = Topics(client.settings.prefix)
    chatter = {topics.load, topics.health}
    before: dict[TopicPartition, int] = {}

    def rest() -> bool:
        ends = {where: end for where, end in read_all(client)[1].items() if where.topic not in chatter}
        same = ends == before and all(list((snapshots / one).rglob("*.snapshot")) for one in ("matcher", "greta"))
        before.clear()
        before.update(ends)
        return same

    _until(rest, "rest")


def _until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > deadline:
            raise SystemExit(f"there is no {what} after {_PATIENCE_SECONDS:g} s")
        time.sleep(_LOOK_SECONDS)


def main(directory: Path) -> None:
    """Start, feed, copy, end."""
    with tempfile.TemporaryDirectory(prefix="saffron-corpus-") as data:
        run = Run(Path(data) / "data")
        run("up", "--partitions", str(PARTITIONS), "--latency-bound", "10s")
        try:
            feed(run)
            copy(run, directory)
        finally:
            run("down")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
