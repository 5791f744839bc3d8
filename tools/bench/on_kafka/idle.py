"""The cost of an idle system: processor seconds of its start, cores while it is idle, and memory."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence

from bench.shared.system import system
from bench.shared.table import arguments, median, report

_QUIET_SECONDS = 10


By = Mapping[str, float]


def measured(without: list[str], seconds: int) -> tuple[By, By, By]:
    """(processor seconds of the start, cores while idle, MB) by process, children included; Spark's JVM is one."""
    with system(without=without) as running:
        started = running.cpu()
        time.sleep(_QUIET_SECONDS)
        before, began = running.cpu(), time.monotonic()
        time.sleep(seconds)
        after, elapsed = running.cpu(), time.monotonic() - began
        sizes = {name: size / 1e6 for name, size in running.shares().items()}
    return started, {name: (after[name] - before[name]) / elapsed for name in after}, sizes


def main() -> None:
    chosen: argparse.Namespace = arguments(__doc__ or "", seconds=60, without="")
    runs = []
    for _ in range(chosen.runs):
        runs.append(measured([name for name in chosen.without.split(",") if name], chosen.seconds))
        print(*(round(sum(part.values()), 3) for part in runs[-1]), file=sys.stderr, flush=True)
    names = sorted(runs[0][1], key=lambda name: -runs[0][1][name])
    rows = [_row(name, [tuple(part[name] for part in run) for run in runs]) for name in names]
    total = _row("all", [tuple(sum(part.values()) for part in run) for run in runs])
    report(f"all services idle for {chosen.seconds} s, medians of {chosen.runs} runs", [*rows, total], chosen.json)


def _row(name: str, figures: Sequence[tuple[float, ...]]) -> dict[str, object]:
    start, cores, size = map(median, zip(*figures, strict=True))
    return {
        "process": name,
        "start: processor s": start,
        "idle: thousandths of a core": 1000 * cores,
        "memory: MB": round(size),
    }


if __name__ == "__main__":
    main()
