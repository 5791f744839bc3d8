"""`saffron.open`: how long `feed` takes for one event, a dict of Python, until its results are there as objects.

Stock quotes, with their schema. Events are fed one by one; for throughput, a thousand in a call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from bench.shared.stock import QUERY, QUOTES, TRENDS, ndjson
from bench.shared.table import arguments, median, report

import saffron

_SILENT = "PATTERN SEQ(Quote a, NOT Quote b FOR 10 minutes) WHERE [symbol] WITHIN 10 minutes"
_CASES = {
    "rallies": [f"QUERY rallies {QUERY}"],
    "trends by sector": [f"QUERY trends {TRENDS}"],
    "rallies, trends, silent symbols": [f"QUERY rallies {QUERY}", f"QUERY trends {TRENDS}", f"QUERY silent {_SILENT}"],
}
_SCHEMA = QUOTES.with_name("quotes.schema.json")
_WARM = 2_000
_AT_ONCE = 1_000


def one_by_one(texts: list[str], events: Sequence[dict[str, Any]]) -> tuple[list[float], int]:
    """Seconds of each call but the first ones, and the number of results."""
    live = saffron.open(texts, _SCHEMA, compiled=True)
    seconds, found = [], 0
    for event in events:
        begun = time.perf_counter()
        found += len(live.feed(event))
        seconds.append(time.perf_counter() - begun)
    return seconds[_WARM:], found


def at_once(texts: list[str], events: Sequence[dict[str, Any]]) -> tuple[float, int]:
    """Events a second in calls with many, and the number of results."""
    live = saffron.open(texts, _SCHEMA, compiled=True)
    found, begun = 0, time.perf_counter()
    for start in range(0, len(events), _AT_ONCE):
        found += len(live.feed(events[start : start + _AT_ONCE]))
    return len(events) / (time.perf_counter() - begun), found


def main() -> None:
    chosen = arguments(__doc__ or "", events=20_000)
    events = [orjson.loads(line) for line in ndjson().splitlines()[: chosen.events]]
    rows = []
    for name, texts in _CASES.items():
        runs = [one_by_one(texts, events) for _ in range(chosen.runs)]
        many = [at_once(texts, events) for _ in range(chosen.runs)]
        if len({found for _, found in (*runs, *many)}) > 1:
            raise SystemExit(f"{name}: the results are {[found for _, found in (*runs, *many)]}")
        p50, p99, p999 = np.median([np.quantile(seconds, (0.5, 0.99, 0.999)) for seconds, _ in runs], axis=0).tolist()
        rows.append(
            {
                "queries": name,
                "results": runs[0][1],
                "p50 ms": 1000 * p50,
                "p99 ms": 1000 * p99,
                "p99.9 ms": 1000 * p999,
                "events/s": round(1 / float(np.mean([np.mean(seconds) for seconds, _ in runs]))),
                "events/s, 1,000 a call": round(median([one for one, _ in many])),
            }
        )
    report(f"feed, {len(events):,} events one by one, medians of {chosen.runs} runs", rows, chosen.json, width=120)


if __name__ == "__main__":
    main()
