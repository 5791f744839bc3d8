"""One run: events are fed while faults come by a seed; then exactly the results of `replay` must stand there."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import zstandard

from faults.client import Feeder, Reader
from faults.evidence import keep
from faults.plan import Fault, plan
from faults.target import Target, running
from faults.verdict import Results, Verdict, verdict

_QUERIES = {
    "rally.saf": resources.files("saffron.data").joinpath("rally.saf").read_text("utf-8"),
    "falls.saf": """QUERY falls PATTERN Quote+ Q WHERE [symbol] AND Q.price > NEXT(Q).price
GROUP BY symbol WITHIN 10 minutes SLIDE 5 minutes RETURN symbol, COUNT(*)""",
    "quiet.saf": """QUERY quiet PATTERN SEQ(Quote a, NOT Quote c, Quote b)
WHERE [symbol] AND b.price > 1.01 * a.price AND c.price < a.price WITHIN 30 minutes OUTPUT NON-OVERLAP""",
    "alarms.saf": """QUERY alarms PATTERN SEQ(Quote a, Quote b) WHERE [symbol] AND b.price > 1.005 * a.price
WITHIN 10 minutes RETURN a.symbol AS symbol, b.price AS price EMIT VALUES PUBLISH 'alarms' KEY a.symbol""",
}
"""A flat pattern, a trend, the general engine with NOT and a selection, and results in a topic of their own."""
_PREFIX = "saffron."
_EVENTS, _LETTERS = f"{_PREFIX}events", f"{_PREFIX}dead-letters"
_MATCHES = f"{_PREFIX}complex-events"
_TOPICS = {"rally": _MATCHES, "quiet": _MATCHES, "falls": f"{_PREFIX}trends", "alarms": "alarms"}
_KEY = "symbol"
_MARK = b'{"type":"$watermark","ts":1700000000000,"end":true}'
_LINE = 150
_PATIENCE_S = 120.0
_MORE_S = 2.0
"""Seconds in which a result that is one too many would come."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run; `seconds`: from the first event sent to the last result seen."""

    faults: Sequence[Fault]
    verdict: Verdict
    seconds: float


def run(
    seed: int, faults: int, events: int, partitions: int, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Feed the first `events` stock quotes that Saffron ships; faults come between. One may overlap the next."""
    lines = _quotes(events)
    with (
        tempfile.TemporaryDirectory(prefix="saffron-faults-") as folder,
        running(Path(folder) / "data", partitions) as target,
    ):
        files = _write(Path(folder), lines)
        say("replay")
        wanted = _replayed(target, files, partitions)
        target.command("stream", "add", "events", "--key", _KEY, "--schema", str(files["schema"]))
        target.command("query", "add", *[str(files[name]) for name in _QUERIES])
        planned = plan(seed, faults, events)
        started = time.monotonic()
        found = _disturbed(target, lines, planned, partitions, sum(map(len, wanted.values())), say)
        took = time.monotonic() - started
        read = _read(target.bootstrap, partitions)
        _require_sent({place: some for place, some in read.items() if place[0] == _EVENTS}, lines)
        letters = sum(len(some) for (topic, _), some in read.items() if topic == _LETTERS)
        outcome = Outcome(planned, verdict(found, wanted, letters), took)
        if not outcome.verdict.right:
            seen = {"found": found, "wanted": wanted, "read": read}
            say(f"kept in {keep(seed, seen, target.data / 'logs')}")
        return outcome


def _read(bootstrap: str, partitions: int) -> Results:
    """The events and the dead letters that stand in the topics."""
    reader = Reader(bootstrap, [_EVENTS, _LETTERS], partitions)
    reader.read_to_end()
    reader.close()
    return reader.found


def _require_sent(found: Results, lines: Sequence[bytes]) -> None:
    """SystemExit: the topic does not hold each event once, in order. Then nothing can be said of the results."""
    events = {place: [line for line in some if line != _MARK] for place, some in found.items()}
    places = {_key(line): place for place, some in events.items() for line in some}
    wanted: dict[tuple[str, int] | None, list[bytes]] = {place: [] for place in found}
    for line in lines:
        wanted.setdefault(places.get(_key(line)), []).append(line)
    if wanted != events:
        raise SystemExit(f"the producer did not write each event once and in order to {_EVENTS}: no verdict")


def _key(line: bytes) -> bytes:
    return str(json.loads(line)[_KEY]).encode()


def _quotes(events: int) -> list[bytes]:
    packed = resources.files("saffron.data").joinpath("stock_quotes.ndjson.zst").read_bytes()
    return zstandard.ZstdDecompressor().stream_reader(packed).read(events * _LINE).split(b"\n")[:events]


def _write(folder: Path, lines: Sequence[bytes]) -> dict[str, Path]:
    files = {name: folder / name for name in (*_QUERIES, "schema", "quotes.ndjson")}
    for name, text in _QUERIES.items():
        files[name].write_text(text, "utf-8")
    schema = resources.files("saffron.data").joinpath("quotes.schema.json").read_bytes()
    files["schema"] = folder / "quotes.schema.json"
    files["schema"].write_bytes(schema)
    files["quotes.ndjson"].write_bytes(b"\n".join(lines) + b"\n")
    return files


def _replayed(target: Target, files: dict[str, Path], partitions: int) -> Results:
    split = ("--partitions", str(partitions), "--key", _KEY) if partitions > 1 else ()
    queries = [word for name in _QUERIES for word in ("-q", str(files[name]))]
    printed = target.command("replay", *queries, "--schema", str(files["schema"]), *split, str(files["quotes.ndjson"]))
    found: dict[tuple[str, int], list[bytes]] = {}
    for line in printed.encode().splitlines():
        result = json.loads(line)
        place = _TOPICS[result["query"]], int(result["partition"])
        found.setdefault(place, []).append(line)
    return found


def _disturbed(
    target: Target,
    lines: Sequence[bytes],
    planned: Sequence[Fault],
    partitions: int,
    wanted: int,
    say: Callable[[str], None],
) -> Results:
    """The results that a reader sees in the end."""
    bootstrap = target.bootstrap
    feeder = Feeder(bootstrap, _EVENTS)
    reader = Reader(bootstrap, sorted(set(_TOPICS.values())), partitions)
    events = [(_key(line), line) for line in lines]
    begin = 0
    for number, fault in enumerate(planned, 1):
        feeder.send(events[begin : fault.after])
        begin = fault.after
        say(f"{number}/{len(planned)}: {fault} behind {begin:,} events")
        target.strike(fault)
        target.wait_ready()
    feeder.send(events[begin:])
    feeder.end(partitions, _MARK)
    say("reading")
    reader.read(wanted, _PATIENCE_S)
    reader.read(wanted + 1, _MORE_S)
    reader.close()
    return reader.found
