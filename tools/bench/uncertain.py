"""Imprecise time (SASE++, figure 6): cost against window, interval length and threshold; and of a correlated closure.

The paper's template, SEQ(A a, B+ b[], C c) under skip-till-any-match over one event a millisecond, each with an
interval of `length` instants. As many events as fit the query lie in each window, however long it is (`--density`), so
that the number of matches of an event (the paper's selectivity) stays what it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from _stock import blocks
from _table import arguments, median, report

from saffron.engine.events import Block, Columns, Control, Kind, Schema, schema_to_record, slice_columns
from saffron.engine.events.columns import Column
from saffron.engine.match.operator import MatchOperator

TYPES = ("A", "B", "C")
SCHEMA = Schema(
    {"v": Kind.FLOAT, "load": Kind.FLOAT},
    dict.fromkeys(TYPES, ("v", "load")),
    dict.fromkeys(TYPES, frozenset()),
    given=True,
    times=dict.fromkeys(TYPES, "uniform"),
)
WINDOWS = (25, 100, 1_000, 10_000, 100_000, 200_000)
LENGTHS = (1, 10, 30, 100)
THRESHOLDS = (0.0, 0.5, 0.9, 0.999)
LENGTH, WINDOW = 10, 1_000


def stream(events: int, length: int) -> Columns:
    """One event a ms, of a random type, with v and load uniform in [0, 1)."""
    rng = np.random.default_rng(7)
    ts = np.arange(events, dtype=np.int64)
    return Columns(
        seq=ts.copy(),
        ts=ts,
        time=np.zeros(events, dtype=np.int64),
        type=Column(Kind.STRING, rng.integers(0, 3, events).astype(np.int32), TYPES),
        attributes={name: Column(Kind.FLOAT, rng.random(events)) for name in SCHEMA.kinds},
        latest=ts + (length - 1),
    )


def query(window: int, density: float, threshold: float, *, ordered: bool) -> str:
    """v < limit picks `density` events of a window; `ordered`: the closure's loads may not fall."""
    limit = min(1.0, density / window)
    conditions = [f"a.v < {limit!r}", f"b[i].v < {limit!r}", f"c.v < {limit!r}"]
    if ordered:
        conditions.append("b[i].load >= b[i-1].load")
    return (
        f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match {{ {' AND '.join(conditions)} }} "
        f"WITHIN {window} ms CONFIDENCE >= {threshold}"
    )


def measured(columns: Columns, text: str, runs: int) -> tuple[float, int]:
    """Seconds (the median run) from the first block to the last match found, and the number of matches."""
    times, matches = [], 0
    cut = blocks(columns, 8192)
    for _ in range(runs):
        operator = MatchOperator(partition=0)
        operator.apply(_opening(columns, text))
        begin = time.perf_counter()
        matches = sum(len(operator.apply(block)) for block in cut)
        times.append(time.perf_counter() - begin)
    return median(times), matches


def _opening(columns: Columns, text: str) -> Block:
    body = {"op": "add", "name": "q", "version": 1, "text": text, "slot": 0, "from": "now"}
    controls = (Control(0, "schema", {"schema": schema_to_record(SCHEMA)}), Control(0, "query", body))
    return Block(slice_columns(columns, 0, 0), 0, 0, watermark=0, controls=controls)


def cases() -> Iterator[tuple[str, int, int, float, bool]]:
    """(what varies, window, length, threshold, ordered)."""
    for window in WINDOWS:
        for threshold in THRESHOLDS:
            yield "window", window, LENGTH, threshold, False
    for length in LENGTHS:
        for threshold in THRESHOLDS:
            yield "length", WINDOW, length, threshold, False
    for threshold in THRESHOLDS:
        yield "correlated", WINDOW, LENGTH, threshold, True


def main() -> None:
    chosen = arguments(__doc__ or "", events=1_000_000, density=9.0)
    rows: list[dict[str, Any]] = []
    streams = {length: stream(chosen.events, length) for length in LENGTHS}
    for varied, window, length, threshold, ordered in cases():
        text = query(window, chosen.density, threshold, ordered=ordered)
        seconds, matches = measured(streams[length], text, chosen.runs)
        rows.append(
            {
                "varied": varied,
                "window ms": window,
                "interval ms": length,
                "threshold": f"{threshold:g}",
                "events/s": round(chosen.events / seconds),
                "matches": matches,
                "matches/event": round(matches / chosen.events, 4),
                "us/match": seconds / matches * 1e6 if matches else float("nan"),
            }
        )
    report(f"imprecise time, {chosen.events:,} events, {chosen.density:g} that fit in a window", rows, chosen.json)


if __name__ == "__main__":
    main()
