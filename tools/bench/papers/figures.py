"""The figures of SASE+ and SASE++ on exact times, beside the algorithms that the papers compare with (`baselines`).

- Stock template: cost against window and output size, merging gains, the basic algorithm against backtrack (for all
  matches, and for one of those that overlap).
- Template of SASE++: SASE+ (nothing postponed) and ZStream's buffers, by selectivity and by window.

Every way that lists its matches must have the same match set, by number and hash. A way that stops at --limit seconds
(--steps of a baseline) has its events/s up to there. --out FOLDER has the charts as SVG. One core.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench.papers.baselines.any_match import OTHER, A, B, C, any_match
from bench.papers.baselines.merging import runs_merged
from bench.papers.baselines.overlap import one_by_one, side_by_side
from bench.papers.baselines.stock import one_run_at_a_time, runs_apart
from bench.shared.chart import chart
from bench.shared.finding import Finding, find, lengths, listed, prepare
from bench.shared.stock import blocks
from bench.shared.streams import stream
from bench.shared.table import arguments, median, report, write
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Column, Columns
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

Row = dict[str, Any]
Ints = NDArray[np.int64]
Asked = tuple[float, float, int, str]
"""Shares of a and b, and of c, that fit; the window; the condition on the closure."""
WINDOWS = (500, 1000, 1500, 2000)
TAKES = {1: "", 2: " AND a[i].price > a[i-1].price", 3: " AND a[i].price > avg(a[..i-1].price)"}
STRATEGIES = {"s2": "partition-contiguity", "s3": "skip-till-next-match"}
STOCK = (
    "PATTERN SEQ(Stock+ a[], Stock b) "
    "WHERE {} {{ [symbol] AND a[1].price % 500 = 0{} AND b.volume < 150 }} WITHIN {} ms"
)
OVERLAP = """PATTERN SEQ(Stock+ a[], Stock b, Stock c)
WHERE skip-till-next-match {{ [symbol] AND a[1].price % 500 = 0 AND a[i].price > avg(a[..i-1].price)
  AND b.volume < 150 AND c.price > a[1].price AND c.price < a[last].price }}
WITHIN {} ms OUTPUT NON-OVERLAP"""
BASELINES: dict[str, Callable[..., tuple[int, int, int]]] = {
    "basic": runs_apart,
    "merging": runs_merged,
    "backtrack": one_run_at_a_time,
}
ANY = """PATTERN SEQ(A a, B+ b[], C c)
WHERE skip-till-any-match {{ a.v < {0} AND b[i].v < {0} AND c.v < {1} AND {3} }} WITHIN {2} ms"""
RISING, BELOW = "b[i].load > b[i-1].load", "c.load < max(b[].load)"  # true-value and false-value consistent (X4)
WAYS = ("Saffron, counted", "Saffron, listed", "SASE+", "ZStream")
SPARSE = 50  # one in so many fitting C is asked for, where the window varies
FITTING = 0.03  # share of the events that fit, where the window varies
DENSITIES = (6, 12, 18, 24, 30, 36, 42)  # events of a window of 500 that fit, where the selectivity varies
SPANS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400)
LISTED = 3200


def timed(run: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The median seconds, and what it gives; the first run warms caches."""
    found = run()
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return median(times), found


def agree(name: str, found: dict[str, tuple[int, int]]) -> None:
    """All ways that saw the whole stream have the same match set."""
    if len(set(found.values())) > 1:
        raise SystemExit(f"{name}: different matches: {found}")


# ---------------------------------------------------------------- stock template


def stock_cases(events: int, runs: int, limit: float) -> Iterator[Row]:
    schema, columns = stream("stock")
    columns = slice_columns(columns, 0, events)
    for within in WINDOWS:
        for takes in TAKES:
            for strategy in ("s2", "s3") if within == WINDOWS[0] else ("s3",):
                yield stock_case(schema, columns, f"p{takes}{strategy}", within, runs, limit)


def stock_case(schema: Schema, columns: Columns, name: str, within: int, runs: int, limit: float) -> Row:
    """Milliseconds of each way; "alone": matching without reading the matches back; "apart": no runs of ours merge."""
    takes, strategy = int(name[1]), name[2:]
    plan = _plan(STOCK.format(STRATEGIES[strategy], TAKES[takes], within), schema)
    parts = blocks(columns, 8192)
    seconds, (ours, mixed) = timed(lambda: listed(prepare(plan, schema), parts, limit), runs)
    row: Row = {"query": name, "W": within, "matches": ours.matches, "output": 0, "Saffron": 1000 * seconds}
    found = {"Saffron": (ours.matches, mixed)}
    seconds, (apart, own) = timed(lambda: listed(prepare(plan, schema, merges=False), parts, limit), runs)
    row["Saffron, apart"], found["Saffron, apart"] = 1000 * seconds, (apart.matches, own)
    given = _given(columns)
    for way, kernel in BASELINES.items():
        for construct in (True, False):
            seconds, (matches, own, _) = timed(
                partial(kernel, *given, strategy == "s2", takes, within, construct), runs
            )
            row[way if construct else f"{way} alone"] = 1000 * seconds
            if construct:
                found[way] = (matches, int(own))
    agree(f"{name} W={within}", found)
    row["output"] = _output(plan, schema, columns)
    row["merging gain"] = row["basic"] / row["merging"]
    row["merging gain, matching alone"] = row["basic alone"] / row["merging alone"]
    row["Saffron's"] = row["Saffron, apart"] / row["Saffron"]
    row["backtrack/basic"] = row["backtrack"] / row["basic"]
    row["basic/Saffron"] = row["basic"] / row["Saffron"]
    return row


def _prepared_and_listed(plan: MatchPlan, schema: Schema, parts: Sequence[Block], limit: float) -> tuple[Finding, int]:
    return listed(prepare(plan, schema), parts, limit)


def _output(plan: MatchPlan, schema: Schema, columns: Columns) -> int:
    """The paper's output complexity: the lengths of all matches, summed."""
    return lengths(prepare(plan, schema), blocks(columns, 8192))


def overlap_cases(events: int, runs: int, limit: float) -> Iterator[Row]:
    """Query p3*: one match of those that overlap."""
    schema, columns = stream("stock")
    columns = slice_columns(columns, 0, events)
    parts = blocks(columns, 8192)
    for within in WINDOWS:
        plan = _plan(OVERLAP.format(within), schema)
        seconds, (ours, mixed) = timed(partial(_prepared_and_listed, plan, schema, parts, limit), runs)
        row: Row = {"query": "p3*s3", "W": within, "matches": ours.matches, "Saffron": 1000 * seconds}
        found, steps = {"Saffron": (ours.matches, mixed)}, {}
        for way, kernel in {"basic": side_by_side, "backtrack": one_by_one}.items():
            seconds, (matches, own, steps[way]) = timed(partial(kernel, *_given(columns), within), runs)
            row[way] = 1000 * seconds
            found[way] = (matches, int(own))
        agree(f"p3* W={within}", found)
        row["backtrack/basic"] = row["backtrack"] / row["basic"]
        row["backtrack/basic, steps"] = steps["backtrack"] / steps["basic"]
        yield row


def _given(columns: Columns) -> list[Ints]:
    """The columns of quotes that the baselines read."""
    return [np.asarray(columns.attributes[one].data, np.int64) for one in ("symbol", "price", "volume")]


def _plan(text: str, schema: Schema) -> MatchPlan:
    plan = compile_query(text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    return plan


# ---------------------------------------------------------------- template of SASE++


def any_stream(events: int) -> tuple[Schema, Columns]:
    """A stream with one event a ms, of a random type, with v and load uniform in [0, 1)."""
    rng = np.random.Generator(np.random.PCG64(20145))
    ts = np.arange(events, dtype=np.int64)
    held = ("v", "load")
    schema = Schema(dict.fromkeys(held, Kind.FLOAT), dict.fromkeys("ABC", held), dict.fromkeys("ABC", frozenset()))
    types = Column(Kind.STRING, rng.integers(0, 3, events).astype(np.int32), tuple("ABC"))
    attributes = {name: Column(Kind.FLOAT, rng.random(events)) for name in held}
    return schema, Columns(ts.copy(), ts, np.zeros(events, np.int64), types, attributes)


def any_cases(events: int, runs: int, limit: float, steps: int) -> Iterator[Row]:
    schema, columns = any_stream(events)
    for density in DENSITIES:
        share = density / 500
        yield any_case("selectivity", schema, columns, (share, share, 500, RISING), runs, limit, steps)
    for density in DENSITIES[:4]:
        share = density / 500
        yield any_case("false-value", schema, columns, (share, share, 500, BELOW), runs, limit, steps)
    for within in SPANS:
        yield any_case("window", schema, columns, (FITTING, FITTING / SPARSE, within, RISING), runs, limit, steps)


def any_case(varied: str, schema: Schema, columns: Columns, asked: Asked, runs: int, limit: float, steps: int) -> Row:
    """Events/s of each way. "counted": graphs, no match listed; in windows beyond LISTED that is the only way."""
    plan, within = _plan(ANY.format(*asked), schema), asked[2]
    seconds, counted = timed(lambda: find(prepare(plan, schema), [columns], block=8192, seconds=limit), runs)
    row: Row = {"varied": varied, "W": within, "matches": f"{counted.matches:.3g}"}
    row |= {"matches/event": counted.matches / counted.events, "Saffron, counted": round(counted.events / seconds)}
    row |= {"Saffron, listed": "", "SASE+": "", "ZStream": "", "stopped": counted.stopped}
    return row if within > LISTED else row | any_listed(plan, schema, columns, asked, runs, limit, steps)


def any_listed(
    plan: MatchPlan,
    schema: Schema,
    columns: Columns,
    asked: Asked,
    runs: int,
    limit: float,
    steps: int,
) -> Row:
    """The figures of the ways that make every match."""
    fit, end, within, condition = asked
    parts = blocks(columns, 8192)
    seconds, (whole, mixed) = timed(lambda: listed(prepare(plan, schema), parts, limit), runs)
    row: Row = {"Saffron, listed": round(whole.events / seconds)}
    found = {} if whole.stopped else {"Saffron": (whole.matches, mixed)}
    stopped = [f"Saffron, listed, at {whole.events:,}"] if whole.stopped else []
    for way, buffered in (("SASE+", False), ("ZStream", True)):
        seconds, (matches, own, _, seen, _) = timed(
            partial(any_match, *_kinds(columns, fit, end), condition == RISING, within, buffered, True, steps), runs
        )
        row[way] = round(seen / seconds)
        if seen == len(columns):
            found[way] = (matches, int(own))
        else:
            stopped.append(f"{way} at {seen:,}")
    agree(f"any {asked}", found)
    return row | {"stopped": ", ".join(stopped)}


def _kinds(columns: Columns, fit: float, end: float) -> tuple[Any, Any]:
    """The columns that the baselines read: whether an event may be a, b or c; and its load."""
    types, v = np.asarray(columns.type.data), np.asarray(columns.attributes["v"].data)
    wanted = np.array([A, B, C])[types]
    return np.where(v < np.where(wanted == C, end, fit), wanted, OTHER), columns.attributes["load"].data


# ---------------------------------------------------------------- all


def draw(folder: Path, events: int, stock: list[Row], skipping: list[Row]) -> None:
    """Draw the charts of both templates."""
    folder.mkdir(parents=True, exist_ok=True)
    by_window, by_output, gains = defaultdict(list), defaultdict(list), defaultdict(list)
    for row in stock:
        if row["query"].endswith("s3"):
            gains[f"{row['query']}, with reading back"].append((row["W"], row["merging gain"]))
            gains[f"{row['query']}, matching alone"].append((row["W"], row["merging gain, matching alone"]))
            for way in ("Saffron", "basic"):
                by_window[f"{row['query']} {way}"].append((row["W"], 1000 * events / row[way]))
                by_output[f"{row['query']} {way}"].append((row["output"] / events, 1000 * row[way] / events))
    chart(folder / "stock_window.svg", "Throughput against window", "window (events)", "events/s", by_window)
    chart(folder / "stock_output.svg", "Cost against output", "events of matches, an event", "us an event", by_output)
    chart(folder / "merging.svg", "Gain of merging runs", "window (events)", "basic / merging", gains)
    for varied, across in (("selectivity", "matches/event"), ("false-value", "matches/event"), ("window", "W")):
        series = defaultdict(list)
        for row in skipping:
            if row["varied"] == varied and row[across] > 0:
                for way in WAYS:
                    if row[way]:
                        series[way].append((row[across], row[way]))
        title = f"Skip-till-any-match: throughput against {varied}"
        chart(folder / f"any_{varied}.svg", title, {"W": "window (events)"}.get(across, across), "events/s", series)


def show(title: str, rows: list[Row], names: str, path: Path | None = None) -> None:
    """A table of some columns. The file gets all."""
    report(title, [{name: row[name] for name in names.split("|")} for row in rows], None)
    if path is not None:
        write(title, rows, path)


def main() -> None:
    chosen = arguments(__doc__ or "", events=1_000_000, limit=10.0, steps=200_000_000, out="")
    path: Path | None = chosen.json
    stock = list(stock_cases(chosen.events, chosen.runs, math.inf))
    title = f"stock template, {chosen.events:,} events, milliseconds to all matches as sequence numbers"
    show(title, stock, "query|W|matches|output|Saffron|Saffron, apart|basic|merging|backtrack", path)
    ratios = "query|W|merging gain|merging gain, matching alone|Saffron's|backtrack/basic|basic/Saffron"
    show("the same: ratios (merging gain: basic/merging; alone: no match is read back)", stock, ratios)
    overlapping = list(overlap_cases(chosen.events, chosen.runs, math.inf))
    names = "query|W|matches|Saffron|basic|backtrack|backtrack/basic|backtrack/basic, steps"
    title = f"p3*, NON-OVERLAP, {chosen.events:,} events, milliseconds; a step: one event asked of one run"
    show(title, overlapping, names, path and path.with_stem(f"{path.stem}-overlap"))
    skipping = list(any_cases(chosen.events, chosen.runs, chosen.limit, chosen.steps))
    title = f"SEQ(A a, B+ b[], C c), skip-till-any-match, {chosen.events:,} events, thousand events/s"
    names = "varied|W|matches|Saffron, counted|Saffron, listed|SASE+|ZStream|stopped"
    thousands = [row | {way: row[way] // 1000 for way in WAYS if row[way]} for row in skipping]
    show(title, thousands, names, path and path.with_stem(f"{path.stem}-any"))
    if chosen.out:
        draw(Path(chosen.out), chosen.events, stock, skipping)


if __name__ == "__main__":
    main()
