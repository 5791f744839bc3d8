"""Detection latency under a bound of one second when far more results come, at once, than can be written.

There are two queries on quotes: pairs of a symbol within some minutes, about two completed by each event for every
minute, shed by events; and rallies, with few results, shed as they come. After some seconds at a low rate the stream
gets twenty times as fast. A row tells of the results whose last event came in half a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from bench.shared.stock import QUERY, ndjson
from bench.shared.system import system
from bench.shared.table import arguments, median, report
from numpy.typing import NDArray

from saffron.experiments.virtual_truth import positions

BOUND_MS = 1000
WARM_EVENTS, TIMES = 12_000, 20
SPAN_MS = 500
PAIRS = """QUERY pairs
PATTERN SEQ(Quote a, Quote b)
WHERE skip-till-any-match {{ [symbol] AND a.price > 0 AND b.price > 0 }}
WITHIN {minutes} minutes
"""


def measured(rate: int, seconds: int, minutes: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Message times of events; of each result the position of its last event, and when it was appended (ms)."""
    with system(without=("model_builder",), overload="shed", latency_bound_ms=BOUND_MS) as running:
        running.command("query", "add", "-e", PAIRS.format(minutes=minutes), "--shed", "bl")
        running.command("query", "add", "-e", "QUERY rally " + QUERY)
        lead, rest = _cut(running.data, rate * seconds)
        running.command("produce", str(lead), "--rate", str(rate // TIMES))
        running.command("produce", str(rest), "--rate", str(rate))
        sources = running.read("events", 10**9, 3.0)
        results = list(running.follow("complex-events", 3.0))
    last = [max(positions(orjson.loads(record.value or b"{}")["events"])) for record in results]
    came, told = ([record.timestamp for record in records] for records in (sources, results))
    return np.array(came), np.array(last, dtype=np.int64), np.array(told)


def _cut(folder: Path, events: int) -> tuple[Path, Path]:
    """The first quotes in a file of their own, and so many behind them in another."""
    lead, rest = folder / "lead.ndjson", folder / "rest.ndjson"
    lines = ndjson().splitlines(keepends=True)
    lead.write_bytes(b"".join(lines[:WARM_EVENTS]))
    rest.write_bytes(b"".join(lines[WARM_EVENTS : WARM_EVENTS + events]))
    return lead, rest


def rows(came: NDArray[np.int64], last: NDArray[np.int64], told: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """Rows of figures, one for each half second since the stream has been fast."""
    since = came - came[WARM_EVENTS]
    latency = told - came[last]
    for begin in range(0, int(since[-1]) + 1, SPAN_MS):
        events = int(((since >= begin) & (since < begin + SPAN_MS)).sum())
        found = latency[(since[last] >= begin) & (since[last] < begin + SPAN_MS)]
        p50, p99, most = np.percentile(found, [50, 99, 100]) if len(found) else [np.nan] * 3
        yield {
            "from ms": begin, "events": events, "results": len(found),
            "p50 ms": float(p50), "p99 ms": float(p99), "largest ms": float(most),
        }  # fmt: skip


def main() -> None:
    chosen = arguments(__doc__ or "", rate=40_000, seconds=4, minutes=4)
    runs = [list(rows(*measured(chosen.rate, chosen.seconds, chosen.minutes))) for _ in range(chosen.runs)]
    table = [{name: median([row[name] for row in row_of]) for name in row_of[0]} for row_of in zip(*runs, strict=False)]
    title = f"detection latency under {BOUND_MS} ms, {chosen.rate:,} events/s, pairs within {chosen.minutes} minutes"
    report(f"{title}, medians of {chosen.runs} runs", table, chosen.json)


if __name__ == "__main__":
    main()
