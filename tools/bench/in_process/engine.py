"""The engines alone: events already in columns, results found but not written. One core."""

from __future__ import annotations

import time
from typing import Any

from bench.shared.stock import EVENTS, PLAIN, QUERY, RESULTS, TRENDS, blocks, ndjson, opening
from bench.shared.table import arguments, median, report

from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.runtime.replay.fused import BLOCK_EVENTS


def main() -> None:
    chosen = arguments(__doc__ or "", block=BLOCK_EVENTS)
    schema, columns = decode_ndjson(ndjson())
    parts = blocks(columns, chosen.block)
    rows = []
    for name, kind, text in (
        ("match: rising above average", MatchOperator, QUERY),
        ("trends: down-trends by sector", TrendOperator, TRENDS),
        ("trends: no edge predicate", TrendOperator, PLAIN),
    ):
        times, found = [], 0
        for _ in range(chosen.runs + 1):
            operator: Any = kind(partition=0)
            operator.apply(opening(schema, columns, text))
            begun = time.perf_counter()
            found = sum(len(operator.apply(block)) for block in parts)
            times.append(time.perf_counter() - begun)
        seconds = median(times[1:])  # the first run warms caches
        rows.append(
            {
                "query": name,
                "events": EVENTS,
                "results": found,
                "seconds (median)": round(seconds, 4),
                "fastest": round(min(times[1:]), 4),
                "events/s": round(EVENTS / seconds),
            }
        )
        if kind is MatchOperator and found != RESULTS:
            raise SystemExit(f"{found:,} matches, but {RESULTS:,} are right")
    report(f"engine alone, blocks of {chosen.block:,} events, {chosen.runs} runs", rows, chosen.json)


if __name__ == "__main__":
    main()
