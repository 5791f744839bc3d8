"""Imprecise time (SASE++, figure 6 a-d): throughput, and the cost of confidence, by window, interval and threshold.

The paper's template, SEQ(A a, B+ b[], C c) under skip-till-any-match over one event a millisecond, each with an
interval of 10 instants where it does not vary. As many events as fit the query lie in each window of any length
(`--density`), so that the number of matches of an event (the paper's selectivity) does not change.

- "all": every possible match, as the paper's on-the-fly.
- "exact, counted": the same events at their first instants, counted as graphs, as the paper's collapsed: the best case.
- "exact, listed": the same, with each match found, at confidence 1. More time than that is a threshold's cost.

A run stops after --limit seconds; its row has the number of events it saw. --out FOLDER has the charts as SVG. The
paper's size is --events 100000000. One core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench.shared.chart import chart
from bench.shared.finding import Finding, find, prepare
from bench.shared.table import arguments, report

from saffron.engine.events.columns import Column, Columns
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

TYPES = ("A", "B", "C")
WINDOWS = (25, 100, 1_000, 3_000, 10_000, 50_000, 100_000, 200_000)
LENGTHS = (1, 3, 10, 30, 100)
THRESHOLDS = {"0.999": 0.999, "0.99": 0.99, "0.9": 0.9, "0.7": 0.7, "all": 0.0}
COUNTED, LISTED = "exact, counted", "exact, listed"
LENGTH, WINDOW = 10, 1_000
SEGMENT = 1_000_000
BLOCK = 8192


@dataclass(frozen=True)
class Case:
    """A case. `way`: a threshold's name, or the way to match exact times. `ordered`: the closure is correlated."""

    varied: str
    window: int
    length: int
    way: str
    ordered: bool


def schema(*, imprecise: bool) -> Schema:
    times = dict.fromkeys(TYPES, "uniform") if imprecise else {}
    required = dict.fromkeys(TYPES, frozenset[str]())
    kinds = {"v": Kind.FLOAT, "load": Kind.FLOAT}
    return Schema(kinds, dict.fromkeys(TYPES, ("v", "load")), required, given=True, times=times)


def stream(events: int, length: int) -> Iterator[Columns]:
    """A stream with one event a ms, of a random type, with v and load uniform in [0, 1)."""
    for number, begin in enumerate(range(0, events, SEGMENT)):
        rng = np.random.Generator(np.random.PCG64([7, number]))
        ts = np.arange(begin, min(begin + SEGMENT, events), dtype=np.int64)
        yield Columns(
            seq=ts.copy(),
            ts=ts,
            time=np.zeros(len(ts), dtype=np.int64),
            type=Column(Kind.STRING, rng.integers(0, 3, len(ts)).astype(np.int32), TYPES),
            attributes={name: Column(Kind.FLOAT, rng.random(len(ts))) for name in ("v", "load")},
            latest=ts + (length - 1) if length > 1 else None,
        )


def query(case: Case, density: float) -> str:
    """The text of a case's query: v < limit picks `density` events of a window; `ordered`: loads may not fall."""
    limit = min(1.0, density / case.window)
    conditions = [f"a.v < {limit!r}", f"b[i].v < {limit!r}", f"c.v < {limit!r}"]
    if case.ordered:
        conditions.append("b[i].load >= b[i-1].load")
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match {{ {' AND '.join(conditions)} }} "
    threshold = "" if case.way == COUNTED else f" CONFIDENCE >= {THRESHOLDS.get(case.way, 0.0)}"
    return f"{text}WITHIN {case.window} ms{threshold}"


def measured(case: Case, events: int, density: float, limit: float) -> Finding:
    """A short pass that warms caches, and then all events, which are made as they are needed."""
    known = schema(imprecise=case.way in THRESHOLDS)
    plan = compile_query(query(case, density), known, name="q")
    assert isinstance(plan, MatchPlan)
    made = partial(stream, length=case.length if case.way in THRESHOLDS else 1)
    find(prepare(plan, known), made(10 * BLOCK), block=BLOCK, seconds=1.0)
    return find(prepare(plan, known), made(events), block=BLOCK, seconds=limit)


def cases() -> Iterator[Case]:
    ways = (COUNTED, LISTED, *THRESHOLDS)
    for window in WINDOWS:
        yield from (Case("window", window, LENGTH, way, False) for way in ways)
    for length in LENGTHS:
        yield from (Case("length", WINDOW, length, way, False) for way in THRESHOLDS)
    for length in LENGTHS:
        yield from (Case("length, correlated", WINDOW, length, way, True) for way in THRESHOLDS)


def row(case: Case, found: Finding) -> dict[str, Any]:
    return {
        "varied": case.varied,
        "window ms": case.window,
        "interval ms": case.length if case.way in THRESHOLDS else 1,
        "way": case.way,
        "events": found.events,
        "matches": found.matches,
        "seconds": found.seconds,
        "events/s": round(found.events / found.seconds),
        "matches/event": found.matches / found.events,
        "us/match": found.seconds / found.matches * 1e6 if found.matches else float("nan"),
    }


def confidence_cost(rows: list[dict[str, Any]], window: int, way: str) -> float:
    """Microseconds an event that a threshold takes beyond exact times listed; 0 where it takes no more."""
    by_way: Mapping[str, dict[str, Any]] = {
        one["way"]: one for one in rows if one["varied"] == "window" and one["window ms"] == window
    }
    return max(0.0, float(1e6 / by_way[way]["events/s"] - 1e6 / by_way[LISTED]["events/s"]))


def draw(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Figure 6 a and d, and throughput against the length of intervals."""
    folder.mkdir(parents=True, exist_ok=True)
    for varied, across in (("window", "window ms"), ("length", "interval ms"), ("length, correlated", "interval ms")):
        chosen = [one for one in rows if one["varied"] == varied]
        series = {
            way: [(one[across], one["events/s"]) for one in chosen if one["way"] == way]
            for way in dict.fromkeys(one["way"] for one in chosen)
        }
        title = f"Imprecise time: throughput against {varied}"
        chart(folder / f"imprecise_{varied.replace(', ', '_')}.svg", title, across, "events/s", series)
    costs = {
        way: [(window, cost) for window in WINDOWS if (cost := confidence_cost(rows, window, way)) > 0.0]
        for way in THRESHOLDS
    }
    title = "Imprecise time: cost of confidence beyond exact times"
    chart(folder / "imprecise_confidence.svg", title, "window ms", "us an event", costs)


def main() -> None:
    chosen = arguments(__doc__ or "", events=1_000_000, density=9.0, limit=20.0, out="")
    rows = [row(case, measured(case, chosen.events, chosen.density, chosen.limit)) for case in cases()]
    report(
        f"imprecise time, {chosen.events:,} events, {chosen.density:g} that fit in a window",
        rows,
        chosen.json,
        width=130,
    )
    if chosen.out:
        draw(Path(chosen.out), rows)


if __name__ == "__main__":
    main()
