"""Faults by a seed on a system of its own, results against `replay`: python -m faults [--seeds N] [--faults N] ..."""

from __future__ import annotations

import argparse
from collections import Counter

from bench.shared.table import report

from faults.run import Outcome, run
from saffron.cli import console


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--seeds", type=int, default=1, help="runs, each with a seed of its own")
    parser.add_argument("--faults", type=int, default=14, help="of each run")
    parser.add_argument("--events", type=int, default=200_000, help="of each run, of the 702,000 stock quotes")
    parser.add_argument("--partitions", type=int, default=1)
    chosen = parser.parse_args()
    rows, right = [], True
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        outcome = run(seed, chosen.faults, chosen.events, chosen.partitions, console.step)
        rows.append(_row(seed, outcome))
        right = right and outcome.verdict.right
    console.done()
    report(f"{chosen.events:,} events, {chosen.partitions} partitions; results beside `replay`", rows, None, width=120)
    raise SystemExit(0 if right else 1)


def _row(seed: int, outcome: Outcome) -> dict[str, object]:
    found = outcome.verdict
    kinds = Counter(fault.kind.value for fault in outcome.faults)
    return {
        "seed": seed,
        "faults": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        "results": found.results,
        "lost": found.lost,
        "doubled": found.doubled,
        "extra": found.extra,
        "changed": found.changed,
        "out of order": found.moved,
        "dead letters": found.letters,
        "seconds": round(outcome.seconds, 1),
    }


if __name__ == "__main__":
    main()
