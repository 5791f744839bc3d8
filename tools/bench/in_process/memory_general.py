"""Memory over 50 million events of a query with NOT and a repeated group: it follows the window, and nothing else.

A thousand keys at a time; each is seen for some five seconds and then never again, so that its slot must be freed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from bench.in_process.memory import resident
from bench.shared.stock import blocks, opening
from bench.shared.table import arguments, report

from saffron.engine.events.columns import Column, Columns
from saffron.engine.match.match_operator import MatchOperator
from saffron.schema.schema import Kind, Schema

BLOCK = 8192
SEGMENT = 8 * BLOCK  # events made at a time: their dictionary of keys has some 650 beyond those at hand
KEYS = 1_000  # at a time
RATE = 20  # events a millisecond
LIFE = 5_000  # ms that a key is there
TYPES = ("Open", "Read", "Write", "Fail", "Close")
QUERY = """PATTERN SEQ(Open a, SEQ(Read r, Write w)+, NOT Fail, Close c)
WHERE skip-till-next-match { [key] AND w[i].v > r[i].v AND r[i].v > r[i-1].v }
WITHIN 1 second"""
SCHEMA = Schema(
    {"key": Kind.STRING, "v": Kind.FLOAT}, dict.fromkeys(TYPES, ("key", "v")), dict.fromkeys(TYPES, frozenset())
)


def segment(number: int) -> Columns:
    """SEGMENT events, RATE a ms. Key k is there from k * LIFE / KEYS ms on, for LIFE ms."""
    rng = np.random.Generator(np.random.PCG64([20081, number]))
    position = np.arange(SEGMENT, dtype=np.int64) + number * SEGMENT
    ts = position // RATE
    newest = ts * KEYS // LIFE
    key = newest - rng.integers(0, KEYS, SEGMENT) + KEYS
    first = int(key.min())
    names = tuple(f"key-{k}" for k in range(first, int(key.max()) + 1))
    return Columns(
        seq=position,
        ts=ts,
        time=np.zeros(SEGMENT, np.int64),
        type=Column(Kind.STRING, rng.integers(0, len(TYPES), SEGMENT).astype(np.int32), TYPES),
        attributes={
            "key": Column(Kind.STRING, (key - first).astype(np.int32), names),
            "v": Column(Kind.FLOAT, rng.random(SEGMENT)),
        },
    )


def main() -> None:
    chosen = arguments(__doc__ or "", events=50_000_000, rows=10)
    operator = MatchOperator(partition=0)
    segments = max(1, chosen.events // SEGMENT)
    rows: list[dict[str, Any]] = []
    results, seconds, live, keys = 0, 0.0, 0, 0
    for number in range(segments):
        columns = segment(number)
        if number == 0:
            operator.apply(opening(SCHEMA, columns, QUERY))
        for block in blocks(columns, BLOCK):
            begun = time.perf_counter()
            results += len(operator.apply(block))
            seconds += time.perf_counter() - begun
            figures = operator.statistics()
            live = max(live, sum(figures["partial_matches"].values()))
            keys = max(keys, sum(figures["keys"].values()))
        seen = KEYS + int(columns.ts[-1]) * KEYS // LIFE
        del columns
        if (number + 1) % max(1, segments // chosen.rows) == 0:
            rows.append(
                {
                    "events": (number + 1) * SEGMENT,
                    "keys so far": seen,
                    "keys held (most)": keys,
                    "live runs (most)": live,
                    "state MB": round(operator.statistics()["state_bytes"] / 1e6, 1),
                    "resident MB": round(resident(), 1),
                    "results": results,
                    "events/s": round((number + 1) * SEGMENT / seconds),
                }
            )
            live = keys = 0
    report("memory of the general engine, with NOT and a repeated group", rows, chosen.json)


if __name__ == "__main__":
    main()
