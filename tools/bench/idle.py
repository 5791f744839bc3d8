"""What a system costs that does nothing: processor seconds of its start, and cores while it is idle, by process."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

from bench._system import system
from bench._table import arguments, median, report

_QUIET_SECONDS = 10


def measured(without: list[str], seconds: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """(processor seconds of the start, cores while idle) by process, children included; Spark's JVM is one."""
    with system(without=without) as running:
        started = running.cpu()
        time.sleep(_QUIET_SECONDS)
        before, began = running.cpu(), time.monotonic()
        time.sleep(seconds)
        after, elapsed = running.cpu(), time.monotonic() - began
    return started, {name: (after[name] - before[name]) / elapsed for name in after}


def main() -> None:
    chosen: argparse.Namespace = arguments(__doc__ or "", seconds=60, without="")
    runs = []
    for _ in range(chosen.runs):
        runs.append(measured([name for name in chosen.without.split(",") if name], chosen.seconds))
        print(*(round(sum(part.values()), 3) for part in runs[-1]), file=sys.stderr, flush=True)
    names = sorted(runs[0][1], key=lambda name: -runs[0][1][name])
    rows = [
        {
            "process": name,
            "start: processor s": median([started[name] for started, _ in runs]),
            "idle: thousandths of a core": 1000 * median([cores[name] for _, cores in runs]),
        }
        for name in names
    ]
    total = {
        "process": "all",
        "start: processor s": median([sum(started.values()) for started, _ in runs]),
        "idle: thousandths of a core": 1000 * median([sum(cores.values()) for _, cores in runs]),
    }
    report(f"all services idle for {chosen.seconds} s, medians of {chosen.runs} runs", [*rows, total], chosen.json)


if __name__ == "__main__":
    main()
