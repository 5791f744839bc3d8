"""The cost of writing a match as JSON: workloads of short matches, found and counted, then found and written.

Events are already in columns; each match is written as the bytes of its record on Kafka, with all of its events and
their attributes. One core. The limit is a copy of the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bench.shared.stock import blocks, opening
from bench.shared.streams import stream
from bench.shared.table import arguments, median, report
from bench.shared.workloads import WORKLOADS

from saffron.engine.events.block import Block
from saffron.engine.match.match_operator import MatchOperator

_SHORT = ("seq3_next_w1000", "seq3_any_w1000", "abc_next_split_w99", "abc_any_w29")


def one_pass(name: str, parts: Sequence[Block], *, write: bool) -> tuple[float, int, int]:
    """Seconds, number of matches, and how many bytes were written; those of a block are gone with the next."""
    workload = WORKLOADS[name]
    schema, columns = stream(workload.stream)
    operator: Any = MatchOperator(partition=0)
    operator.apply(opening(schema, columns, workload.text))
    found = size = 0
    begun = time.perf_counter()
    for part in parts:
        results = operator.apply(part)
        found += len(results)
        if write:
            lines = results.json(0, len(results))
            size += sum(map(len, lines))
    return time.perf_counter() - begun, found, size


def measured(name: str, runs: int, block: int) -> dict[str, Any]:
    """The figures of a workload: medians of so many runs, the two ways by turns."""
    parts = blocks(stream(WORKLOADS[name].stream)[1], block)
    one_pass(name, parts, write=True)  # warms caches
    finding, both = [], []
    for _ in range(runs):
        seconds, found, _ = one_pass(name, parts, write=False)
        finding.append(seconds)
        seconds, again, size = one_pass(name, parts, write=True)
        both.append(seconds)
        if found != again:
            raise SystemExit(f"{name}: {found:,} matches were found, then {again:,}")
    whole = bytes(size)
    copied = []
    for _ in range(runs):
        begun = time.perf_counter()
        bytearray(whole)
        copied.append(time.perf_counter() - begun)
    return {
        "workload": name,
        "matches": found,
        "bytes a match": round(size / found),
        "found ms": 1000 * median(finding),
        "written, too ms": 1000 * median(both),
        "us a match": (median(both) - median(finding)) / found * 1e6,
        "a copy, us a match": median(copied) / found * 1e6,
    }


def main() -> None:
    chosen = arguments(__doc__ or "", block=32_768)
    rows = [measured(name, chosen.runs, chosen.block) for name in _SHORT]
    report(f"matches as JSON, blocks of {chosen.block:,} events, {chosen.runs} runs", rows, chosen.json)


if __name__ == "__main__":
    main()
