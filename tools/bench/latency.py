"""Detection latency (append time of a result - message time of its last event) by transaction interval."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from _stock import QUERY, QUOTES
from _system import system
from _table import arguments, median, report

INTERVALS = (2, 5, 10, 20, 50, 100)


def one_run(interval: int, rate: int, seconds: int) -> tuple[float, float, float, int]:
    """(p50, p99, largest) latency in ms, and the number of results, the first two seconds left out."""
    events = rate * seconds
    with system(commit_ms=interval) as running:
        running.command("query", "add", "-e", "QUERY rally " + QUERY)
        running.command("produce", str(QUOTES), "--rate", str(rate), "--limit", str(events))
        results = running.read("complex-events", 10**9, 3.0)
        sources = running.read("events", events, 3.0)
    times = np.array([record.timestamp for record in sources])
    last = np.array([json.loads(record.value or b"{}")["events"]["b"]["seq"] for record in results])
    appended = np.array([record.timestamp for record in results])
    warm = last >= 2 * rate
    latency = (appended - times[last])[warm]
    p50, p99, most = np.percentile(latency, [50, 99, 100])
    return float(p50), float(p99), float(most), int(warm.sum())


def main() -> None:
    chosen = arguments(__doc__ or "", rate=10_000, seconds=20)
    rows: list[dict[str, Any]] = []
    for interval in INTERVALS:
        runs = [one_run(interval, chosen.rate, chosen.seconds) for _ in range(chosen.runs)]
        rows.append(
            {
                "commit interval ms": interval,
                "p50 ms": median([run[0] for run in runs]),
                "p99 ms": median([run[1] for run in runs]),
                "largest ms": median([run[2] for run in runs]),
                "results": runs[0][3],
            }
        )
    report(f"detection latency at {chosen.rate:,} events/s, medians of {chosen.runs} runs", rows, chosen.json)


if __name__ == "__main__":
    main()
