"""The gain of merging equivalent runs (N7) by the number of runs.

The stock template, p1 and p2; runs begin with every 500th, 50th or 5th price, 0.1 or 15 % of the events close matches.
Both ways must find the same number of matches, and the same ones where they are few. One core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from bench.shared.finding import listed, prepare
from bench.shared.stock import blocks
from bench.shared.streams import stream
from bench.shared.table import arguments, report

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.match.core.stream import Range
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Schema

TAKES = {"p1": "", "p2": " AND a[i].price > a[i-1].price"}
STRATEGIES = {"s2": "partition-contiguity", "s3": "skip-till-next-match"}
TEXT = """PATTERN SEQ(Stock+ a[], Stock b)
WHERE {} {{ [symbol] AND a[1].price % {} = 0{} AND b.volume <= {} }} WITHIN {} ms"""
CLOSING = (1, 150)  # of 1,000 volumes
MOST = 30_000  # matches that are listed as well


def matched(plan: MatchPlan, schema: Schema, parts: list[Block], *, merges: bool) -> tuple[float, int, int, int]:
    """Seconds of processor time, matches, runs alive at most, bytes of state at the end; no match is read back."""
    runs = prepare(plan, schema, merges=merges)
    assert isinstance(runs, QueryRuns)
    matches = live = 0
    begun = time.thread_time()
    for part in parts:
        runs.begin_block(int(part.columns.ts[0]))
        runs.advance(Range(part.columns, 0, len(part.columns)), None)
        matches, live = matches + runs.found.shape[1], max(live, runs.live)
    return time.thread_time() - begun, matches, live, runs.size


def case(
    name: str, every: int, within: int, closing: int, schema: Schema, parts: list[Block], runs: int
) -> dict[str, Any]:
    """Milliseconds with and without."""
    text = TEXT.format(STRATEGIES[name[2:]], every, TAKES[name[:2]], closing, within)
    plan = compile_query(text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    apart, merged = (
        min(matched(plan, schema, parts, merges=merges) for _ in range(runs + 1)) for merges in (False, True)
    )
    if apart[1:3] != merged[1:3]:
        raise SystemExit(f"{text}: {apart[1]:,} matches and {apart[2]:,} runs, merged {merged[1]:,} and {merged[2]:,}")
    if (
        apart[1] <= MOST
        and len({listed(prepare(plan, schema, merges=way), parts, 1e9)[1] for way in (False, True)}) > 1
    ):
        raise SystemExit(f"{text}: other matches where runs merge")
    row: dict[str, Any] = {"query": name, "begin": f"1/{every}", "close": f"{closing / 10:g} %", "W": within}
    row |= {"matches": apart[1], "runs": apart[2], "apart": 1000 * apart[0], "merged": 1000 * merged[0]}
    return row | {"gain": apart[0] / merged[0], "MB apart": apart[3] / 2**20, "MB merged": merged[3] / 2**20}


def cases(events: int, within: int, runs: int) -> Iterator[dict[str, Any]]:
    schema, columns = stream("stock")
    parts = blocks(slice_columns(columns, 0, events), 8192)
    for name in ("p1s3", "p2s3", "p1s2", "p2s2"):
        for every in (500, 50, 5):
            for closing in CLOSING:
                yield case(name, every, within, closing, schema, parts, runs)


def main() -> None:
    chosen = arguments(__doc__ or "", events=100_000, within=2000)
    rows = list(cases(chosen.events, chosen.within, chosen.runs))
    title = f"equivalent runs, {chosen.events:,} events, milliseconds of processor time (least), matches not read back"
    report(title, rows, chosen.json)


if __name__ == "__main__":
    main()
