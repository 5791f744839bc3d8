"""`saffron experiment NAME`: a table, JSON and a plot beside the paper's figures."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench._chart import chart
from bench._table import report
from experiments.catalogue import EXPERIMENTS, Experiment, Point
from experiments.run import BOUND_MS, Outcome, outcome


def main() -> None:
    parser = argparse.ArgumentParser(prog="saffron experiment", description=__doc__)
    parser.add_argument("name", nargs="?", help="which; without a name they are listed")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each; medians are printed")
    parser.add_argument("--only", default="", help="shedders, comma separated, instead of the paper's")
    parser.add_argument("--json", type=Path, help="write the table's figures here, too")
    parser.add_argument("--plot", type=Path, help="write the plot here (SVG)")
    chosen = parser.parse_args()
    known = {one.name: one for one in EXPERIMENTS}
    if chosen.name is None:
        for one in EXPERIMENTS:
            print(f"{one.name:16} {one.about}")
        return
    if chosen.name not in known:
        raise SystemExit(f"there is no experiment {chosen.name!r}; there are {', '.join(known)}")
    experiment = known[chosen.name]
    rows = list(_rows(experiment, chosen.only.split(",") if chosen.only else experiment.shedders, chosen.seeds))
    report(f"{experiment.about}; LB {BOUND_MS:g} ms, medians of {chosen.seeds} seeds", rows, chosen.json, width=120)
    if chosen.plot:
        _draw(chosen.plot, experiment, rows)


def _rows(experiment: Experiment, shedders: Any, seeds: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for point in experiment.points:
            for shedder in shedders:
                found = [outcome(_load(point, seed, folder), shedder, seed) for seed in range(seeds)]
                row = _row(experiment, point, shedder, found)
                print(row, file=sys.stderr, flush=True)
                yield row


def _load(point: Point, seed: int, folder: str) -> Any:
    return point.load(seed, Path(folder))


def _row(experiment: Experiment, point: Point, shedder: str, found: list[Outcome]) -> dict[str, Any]:
    def middle(name: str) -> float:
        return statistics.median(getattr(one, name) for one in found)

    return {
        experiment.varied: point.value,
        "shedder": shedder,
        "missed %": 100 * middle("missed"),
        "estimated %": 100 * middle("estimated"),
        "false %": 100 * middle("false"),
        "paper %": experiment.paper.get(shedder, {}).get(point.value, "-"),
        "p99.9 ms": middle("p999"),
        "dropped events": round(middle("dropped_events")),
        "dropped partial matches": round(middle("dropped_partial_matches")),
        "virtual s": middle("seconds"),
    }


def _draw(path: Path, experiment: Experiment, rows: list[dict[str, Any]]) -> None:
    shedders = dict.fromkeys(row["shedder"] for row in rows)
    missed = {
        name: [(row[experiment.varied], row["missed %"]) for row in rows if row["shedder"] == name] for name in shedders
    }
    published = {name: list(points.items()) for name, points in experiment.paper.items()}
    up = "complex events missed, %"
    chart(path, experiment.about, experiment.varied, up, missed, linear=True, dashed=published)


if __name__ == "__main__":
    main()
