"""`saffron experiment NAME`: a table, JSON and a plot beside the paper's figures."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.shared.table import report
from experiments import usage
from experiments.catalogue import EXPERIMENTS, Experiment, Point
from experiments.oracle import missed_at_best
from experiments.real import both
from experiments.robustness import BY_TRAINING, ROBUSTNESS, sweep
from experiments.run import BOUND_MS, Outcome
from experiments.summary import summary
from experiments.verdict import verdict
from experiments.virtual import Done, Task, run_all

from saffron.cli import console
from saffron.cli.parsed import unknown_name
from saffron.cli.progress import bar
from saffron.language.cost.shedders import NONE, SHEDDERS

_REAL_EVENTS = 150_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="saffron experiment", description=__doc__)
    parser.add_argument("name", nargs="?", help="which; without a name they are listed")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each; medians are printed")
    parser.add_argument("--only", default="", help="shedders, comma separated, instead of the paper's")
    parser.add_argument("--at", default="", help="these values of what is varied, comma separated, instead of all")
    parser.add_argument("--real", action="store_true", help="also on the real pipeline, in real time")
    parser.add_argument("--train", default="", help="per cent of the events that train: one, several with robustness")
    parser.add_argument("--events", type=int, help="of the stream, so many leading ones; with --real 150000, else all")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the engine's work behind the training share")
    parser.add_argument("--json", type=Path, help="write the table's figures here, too")
    parser.add_argument("--plot", type=Path, help="write the plot here (SVG)")
    chosen = parser.parse_args()
    known = {one.name: one for one in EXPERIMENTS}
    if chosen.name is None:
        for one in EXPERIMENTS:
            print(f"{one.name:16} {one.about}")
        print(f"{ROBUSTNESS:16} All of them with little training: auto beside even dropping")
        return
    if chosen.name == ROBUSTNESS:
        if unused := [option for option in ("at", "real", "plot") if getattr(chosen, option)]:
            usage.wrong(f"--{unused[0]}: {ROBUSTNESS} does without; --only names experiments, --train shares")
        sweep(chosen)
        return
    if chosen.name not in known:
        usage.wrong(unknown_name("experiment", chosen.name, (*known, ROBUSTNESS)))
    experiment = known[chosen.name]
    _refuse_training(experiment, chosen)
    rows = list(_rows(experiment, chosen))
    console.done()
    seeds = "one seed" if chosen.seeds == 1 else f"medians of {chosen.seeds} seeds"
    report(f"{experiment.about}; LB {BOUND_MS:g} ms, {seeds}", rows, chosen.json, width=120)
    report("in one line", [summary(experiment.varied, rows)], None, width=120)
    if chosen.real:
        console.say("\n".join(verdict(experiment.varied, rows, BOUND_MS)))
    if chosen.plot:
        _draw(chosen.plot, experiment, rows)


def _refuse_training(experiment: Experiment, chosen: argparse.Namespace) -> None:
    """Refuse `--train` where it would not decide what trains, or not what the rows say."""
    if not chosen.train:
        return
    if experiment.varied == BY_TRAINING:
        usage.wrong(f"--train {chosen.train}: {experiment.name} varies that itself; --at chooses its shares")
    if chosen.real:
        usage.wrong(f"--train {chosen.train}: with --real the experiment's own share trains")


def _rows(experiment: Experiment, chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    shedders = _named(chosen.only) if chosen.only else experiment.shedders
    values = usage.numbers("--at", chosen.at) if chosen.at else [one.value for one in experiment.points]
    points = [one for one in experiment.points if one.value in values]
    if len(points) < len(set(values)):
        told = ", ".join(f"{one.value:g}" for one in experiment.points)
        usage.wrong(f"--at: {experiment.name} has no {experiment.varied} {chosen.at}; there are {told}")
    made = (
        _real(experiment, points, shedders, chosen) if chosen.real else _virtual(experiment, points, shedders, chosen)
    )
    for row in made:
        console.say(_line(experiment, row))
        yield row


def _named(only: str) -> list[str]:
    """The shedders of `--only`, all of them known."""
    known = dict.fromkeys([*SHEDDERS, *(name for one in EXPERIMENTS for name in one.shedders)])
    return usage.names("--only", only, "shedder", known)


def _virtual(
    experiment: Experiment, points: Sequence[Point], shedders: Sequence[str], chosen: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The rows of each point once all its seeds are done."""
    given = usage.shares("--train", chosen.train) if chosen.train else [None]
    if len(given) > 1:
        usage.wrong(f"--train {chosen.train}: only {ROBUSTNESS} takes several")
    train = given[0]
    tasks = [
        Task(experiment.name, point.value, seed, tuple(shedders), chosen.events, train)
        for point in points
        for seed in range(chosen.seeds)
    ]
    done: dict[float, list[Done]] = {point.value: [] for point in points}
    console.progress(f"{bar(0, len(tasks))}  {experiment.name}: {len(tasks)} runs of {len(shedders)} shedders")
    for number, one in enumerate(run_all(tasks), 1):
        here = done[one.task.value]
        here.append(one)
        console.progress(f"{bar(number, len(tasks))}  {experiment.varied} {one.task.value:g}")
        if len(here) == chosen.seeds:
            best = {"oracle misses %": 100 * statistics.median(each.at_best for each in here)}
            for shedder in shedders:
                yield _row(experiment, one.task.value, shedder, [each.found[shedder] for each in here]) | best


def _real(
    experiment: Experiment, points: Sequence[Point], shedders: Sequence[str], chosen: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Rows of runs on the real pipeline, each beside its virtual twin; without shedding first.

    Baselines are left out: services know none. Each event costs the pipeline something that no shedder can save. So
    there are fewer of them, each more expensive to match, and that does not count.
    """
    named = (NONE, *(one for one in shedders if one in SHEDDERS and one != NONE))
    done, total = 0, len(points) * len(named)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for point in points:
            count = chosen.events or _REAL_EVENTS
            loads = [point.load(seed, folder).leading(count, folder) for seed in range(chosen.seeds)]
            best = statistics.median(missed_at_best(load) for load in {load.key: load for load in loads}.values())
            for shedder in named:
                console.progress(f"{bar(done, total)}  {experiment.varied} {point.value:g}: {shedder}")
                pairs = [both(load, shedder, seed, chosen.seconds, folder) for seed, load in enumerate(loads)]
                row = _row(experiment, point.value, shedder, [real for _, real in pairs])
                row |= {"virtual missed %": 100 * _middle([virtual for virtual, _ in pairs], "missed")}
                done += 1
                yield row | {"oracle misses %": 100 * best}


def _line(experiment: Experiment, row: dict[str, Any]) -> str:
    """A row as it is found: all of them take their time."""
    said = f"{experiment.varied} {row[experiment.varied]:g}, {row['shedder']}: missed {row['missed %']:.2f} %"
    return f"{said} (estimated {row['estimated %']:.2f}), p99.9 {row['p99.9 ms']:.0f} ms"


def _middle(found: list[Outcome], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in found))


def _row(experiment: Experiment, value: float, shedder: str, found: list[Outcome]) -> dict[str, Any]:
    return {
        experiment.varied: value,
        "shedder": shedder,
        "missed %": 100 * _middle(found, "missed"),
        "+-": 100 * _middle(found, "error"),
        "estimated %": 100 * _middle(found, "estimated"),
        "false %": 100 * _middle(found, "false"),
        "paper %": experiment.paper.get(shedder, {}).get(value, "-"),
        "p99.9 ms": _middle(found, "p999"),
        "dropped events": round(_middle(found, "dropped_events")),
        "dropped partial matches": round(_middle(found, "dropped_partial_matches")),
        "seconds": float(_middle(found, "seconds")),
    }


def _draw(path: Path, experiment: Experiment, rows: list[dict[str, Any]]) -> None:
    from bench.shared.chart import chart  # matplotlib: half a second

    shedders = dict.fromkeys(row["shedder"] for row in rows)
    missed = {
        name: [(row[experiment.varied], row["missed %"]) for row in rows if row["shedder"] == name] for name in shedders
    }
    published = {name: list(points.items()) for name, points in experiment.paper.items()}
    up = "complex events missed, %"
    chart(path, experiment.about, experiment.varied, up, missed, linear=True, dashed=published)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
