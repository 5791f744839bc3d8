"""Detection latency (append time of a result - message time of its last event) by transaction interval."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from bench.shared.stock import QUERY, QUOTES
from bench.shared.system import system
from bench.shared.table import arguments, median, report

INTERVALS = (2, 5, 10, 20, 50, 100)


WARM_SECONDS = 2


def stretches(interval: int, rate: int, seconds: int, runs: int) -> Iterator[tuple[float, float, float, int]]:
    """(p50, p99, largest) latency in ms, and the number of results, of each of `runs` stretches of one long run.

    The first two seconds (schema inferred, JVM cold) are in none of them.
    """
    events = rate * (WARM_SECONDS + seconds * runs)
    with system(commit_ms=interval) as running:
        running.command("query", "add", "-e", "QUERY rally " + QUERY)
        running.command("produce", str(QUOTES), "--rate", str(rate), "--limit", str(events))
        results = running.read("complex-events", 10**9, 3.0)
        sources = running.read("events", events, 3.0)
    times = np.array([record.timestamp for record in sources])
    last = np.array([json.loads(record.value or b"{}")["events"]["b"]["seq"] for record in results], dtype=np.int64)
    latency = np.array([record.timestamp for record in results]) - times[last]
    for run in range(runs):
        begin = rate * (WARM_SECONDS + seconds * run)
        chosen = latency[(last >= begin) & (last < begin + rate * seconds)]
        p50, p99, most = np.percentile(chosen, [50, 99, 100])
        yield float(p50), float(p99), float(most), len(chosen)


def main() -> None:
    chosen = arguments(__doc__ or "", rate=10_000, seconds=10)
    rows: list[dict[str, Any]] = []
    for interval in INTERVALS:
        runs = list(stretches(interval, chosen.rate, chosen.seconds, chosen.runs))
        rows.append(
            {
                "commit interval ms": interval,
                "p50 ms": median([run[0] for run in runs]),
                "p99 ms": median([run[1] for run in runs]),
                "worst p99 ms": max(run[1] for run in runs),
                "largest ms": max(run[2] for run in runs),
                "results": sum(run[3] for run in runs),
            }
        )
        print(rows[-1], file=sys.stderr, flush=True)
    title = f"detection latency at {chosen.rate:,} events/s, medians of {chosen.runs} stretches of {chosen.seconds} s"
    report(title, rows, chosen.json)


if __name__ == "__main__":
    main()
