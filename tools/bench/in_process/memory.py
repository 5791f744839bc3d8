"""Memory over ten passes of the data, a million keys coming and going: it follows the window, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil
from bench.shared.stock import blocks
from bench.shared.table import arguments, report

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.schema.schema import Kind, Schema

PASSES = 10
KEYS = 100_000
QUERY = """PATTERN SEQ(T+ a[], T b) WHERE [key] AND a[i].v > a[i-1].v AND b.v < a[1].v WITHIN 1 second"""
SCHEMA = Schema({"key": Kind.STRING, "v": Kind.FLOAT}, {"T": ("key", "v")}, {"T": frozenset()})


def one_pass(number: int) -> Columns:
    """1,000,000 events, 200 a ms, of 100,000 keys that no other pass has; a key is seen ten times within 50 ms."""
    rng = np.random.default_rng(number)
    n = KEYS * 10
    position = np.arange(n, dtype=np.int64)
    key = (position // 10_000) * 1000 + rng.integers(0, 1000, n)
    names = tuple(f"pass{number}-{k}" for k in range(KEYS))
    return Columns(
        seq=position + number * n,
        ts=position // 200 + number * (n // 200),
        time=np.zeros(n, dtype=np.int64),
        type=Column(Kind.STRING, np.zeros(n, dtype=np.int32), ("T",)),
        attributes={
            "key": Column(Kind.STRING, key.astype(np.int32), names),
            "v": Column(Kind.FLOAT, rng.normal(size=n)),
        },
    )


def resident() -> float:
    """Resident megabytes of this process."""
    return float(psutil.Process().memory_info().rss) / 2**20


def main() -> None:
    chosen = arguments(__doc__ or "")
    operator = MatchOperator(partition=0)
    rows: list[dict[str, Any]] = []
    results = 0
    for number in range(PASSES):
        columns = one_pass(number)
        if number == 0:
            operator.apply(_opening(columns))
        live = []
        for block in blocks(columns, 8192):
            results += len(operator.apply(block))
            live.append(sum(operator.statistics()["partial_matches"].values()))
        del columns
        rows.append(
            {
                "pass": number + 1,
                "keys so far": (number + 1) * KEYS,
                "live runs (mean)": round(float(np.mean(live))),
                "live runs (most)": max(live),
                "state MB": round(operator.statistics()["state_bytes"] / 1e6, 1),
                "resident MB": round(resident(), 1),
                "results": results,
            }
        )
    report("memory of the matcher, 1,000,000 events and 100,000 new keys a pass", rows, chosen.json)


def _opening(columns: Columns) -> Block:
    body = {"op": "add", "name": "q", "version": 1, "text": QUERY, "slot": 0, "from": "now"}
    controls = (Control(0, "schema", {"schema": schema_to_record(SCHEMA)}), Control(0, "query", body))
    empty = blocks(columns, 1)[0].columns
    from saffron.engine.events.column_operations import slice_columns

    return Block(slice_columns(empty, 0, 0), 0, 0, watermark=0, controls=controls)


if __name__ == "__main__":
    main()
