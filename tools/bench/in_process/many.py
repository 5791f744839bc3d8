"""Many queries over one stream of stock quotes: the cost of the first, that of each further query, and their start."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

from bench.shared.stock import EVENTS, blocks, ndjson
from bench.shared.table import arguments, median, picked, report

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Schema

Row = dict[str, Any]

RALLY = """PATTERN SEQ(Quote+ a[], Quote b)
WHERE skip-till-next-match {{
  [symbol] AND a[i].price > avg(a[..i-1].price) AND b.price < {0} * a[last].price }}
WITHIN 1 hour"""
WATCH = """PATTERN SEQ(Quote a, Quote b)
WHERE skip-till-next-match {{ [symbol] AND a.sector = 'Financials' AND a.price < a.prev AND b.price < {0} * a.price }}
WITHIN 10 minutes"""
WORKLOADS = (("rally: every quote matters", RALLY), ("watch: few quotes matter", WATCH))
TREND = """RETURN sector, COUNT(*), SUM(Quote.prev) PATTERN Quote+ WHERE [symbol] AND Quote.price > NEXT(Quote).price
GROUP BY sector HAVING COUNT(*) > 10{0} WITHIN 10 minutes"""
TEXTS = 10
"""Different texts of a workload; beyond that many, queries differ by name only."""
SOME = 100_000
"""Events of aggregate queries."""
PARTITIONS = 12
"""Of a process whose queries are started."""


def queries(template: str, count: int) -> list[str]:
    return [template.format(round(0.99 - 0.0005 * (number % TEXTS), 4)) for number in range(count)]


def opening(schema: Schema, columns: Columns, texts: Sequence[str]) -> Block:
    """The block that puts all queries in force before the first event."""
    controls = [Control(0, "schema", {"schema": schema_to_record(schema)})]
    for number, text in enumerate(texts):
        body = {"op": "add", "name": f"q{number}", "version": 1, "text": text, "slot": number % 64, "from": "now"}
        controls.append(Control(0, "query", body))
    return Block(slice_columns(columns, 0, 0), 0, 0, watermark=int(columns.ts[0]), controls=tuple(controls))


def one_run(schema: Schema, columns: Columns, parts: Sequence[Block], texts: Sequence[str]) -> tuple[float, int]:
    """Seconds for all events, and how many matches."""
    operator = MatchOperator(partition=0)
    operator.apply(opening(schema, columns, texts))
    begun = time.perf_counter()
    found = sum(len(operator.apply(block)) for block in parts)
    return time.perf_counter() - begun, found


def one_count(schema: Schema, columns: Columns, parts: Sequence[Block], count: int, *, shares: bool) -> Row:
    """Seconds of processor for all events and the JSON of all results of so many aggregate queries of one pattern."""
    operator = TrendOperator(partition=0, shares=shares)
    operator.apply(opening(schema, columns, [TREND.format(number) for number in range(count)]))
    found, begun = 0, time.thread_time()
    for block in parts:
        results = operator.apply(block)
        found += len(results.json(0, len(results)))
    seconds = time.thread_time() - begun
    numbers = operator.statistics()
    return {"s": seconds, "results": found, "graphs": numbers["graphs"], "bytes": numbers["state_bytes"]}


def trends(schema: Schema, columns: Columns, parts: Sequence[Block], runs: int) -> Iterator[Row]:
    """Aggregate queries that share a graph, beside as many with graphs of their own: least of the runs."""
    for count in (1, 10, 50):
        row: Row = {"queries": count}
        for name, shares in (("shared", True), ("apart", False)):
            passes = [one_count(schema, columns, parts, count, shares=shares) for _ in range(runs + 1)][1:]
            seconds = min(one["s"] for one in passes)
            row |= {
                "results": passes[0]["results"],
                f"{name}: graphs": passes[0]["graphs"],
                f"{name} ms": 1000 * seconds,
            }
            row |= {f"{name}: ns an event and query": seconds / len(columns) / count * 1e9}
            row |= {f"{name}: KiB": round(passes[0]["bytes"] / 1024)}
        yield row | {"apart / shared": row["apart ms"] / row["shared ms"]}


def started(schema: Schema, columns: Columns, texts: Sequence[str]) -> float:
    """Seconds until queries are in force on all partitions of a process, which has their kernels."""
    block = opening(schema, columns, texts)
    begun = time.perf_counter()
    for partition in range(PARTITIONS):
        MatchOperator(partition=partition).apply(block)
    return time.perf_counter() - begun


def starts(schema: Schema, columns: Columns, runs: int) -> Iterator[Row]:
    """The start of queries, each of another name than all before."""
    for count in (1, 10, 100):
        seconds = []
        for run in range(runs + 1):  # the first one compiles
            texts = [f"QUERY q{run}_{number} {text}" for number, text in enumerate(queries(RALLY, count))]
            seconds.append(started(schema, columns, texts))
        least = min(seconds[1:])
        yield {"queries": count, "ms": 1000 * least, "us a query and partition": 1e6 * least / count / PARTITIONS}


def decoded(text: bytes) -> float:
    """Seconds for decoding all events."""
    begun = time.perf_counter()
    decode_ndjson(text)
    return time.perf_counter() - begun


def main() -> None:
    chosen = arguments(__doc__ or "", block=8192, only="*")
    named = picked(chosen.only, ("trends", "starts", "matches"))
    text = ndjson()
    schema, columns = decode_ndjson(text)
    if "trends" in named:
        first = slice_columns(columns, 0, SOME)
        path = chosen.json and chosen.json.with_stem(f"{chosen.json.stem}-trends")
        rows = list(trends(schema, first, blocks(first, chosen.block), chosen.runs))
        report(f"aggregate queries of one pattern, {SOME:,} events, least of {chosen.runs} runs", rows, path, width=150)
    if "starts" in named:
        path = chosen.json and chosen.json.with_stem(f"{chosen.json.stem}-starts")
        title = f"queries put in force on {PARTITIONS} partitions, least of {chosen.runs} runs"
        report(title, list(starts(schema, columns, chosen.runs)), path)
    if "matches" in named:
        matches(text, schema, columns, chosen)


def matches(text: bytes, schema: Schema, columns: Columns, chosen: argparse.Namespace) -> None:
    """Match queries that differ in a constant."""
    decoding = median([decoded(text) for _ in range(chosen.runs)])
    parts = blocks(columns, chosen.block)
    rows = []
    for name, template in WORKLOADS:
        alone = 0.0
        for count in (1, 10, 100):
            texts = queries(template, count)
            one_run(schema, columns, parts[:4], texts)  # compiles
            runs = [one_run(schema, columns, parts, texts) for _ in range(chosen.runs)]
            seconds = median([run[0] for run in runs])
            alone = alone or decoding + seconds
            rows.append(
                {
                    "workload": name,
                    "queries": count,
                    "matches": runs[0][1],
                    "decoding s": round(decoding, 3),
                    "matching s": round(seconds, 3),
                    "ns an event and query": round(seconds / EVENTS / count * 1e9, 1),
                    "of as many processes": f"{(decoding + seconds) / (alone * count):.0%}",
                }
            )
    report(f"{EVENTS:,} events, blocks of {chosen.block:,}, median of {chosen.runs} runs", rows, chosen.json)


if __name__ == "__main__":
    main()
