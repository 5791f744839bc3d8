"""`saffron experiment robustness`: the default shedder beside even dropping, where little trains it, or the stream
changes behind what does.

Of each experiment at its first and its last value, with each share of training and each seed: how many percentage
points more complex events `auto` misses than the better of two that know nothing: partial matches drawn at random, and
events drawn by their kinds alone. Rows are written as they come.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import orjson
from bench._table import report
from experiments.catalogue import EVEN, EXPERIMENTS, SHARES, Experiment
from experiments.virtual import Done, Task, run_all

from saffron.cli import console
from saffron.cli.progress import bar
from saffron.language.cost.shedders import AUTO

ROBUSTNESS = "robustness"
"""Its name as an experiment."""
_SURE = 1.96
"""Standard errors of the mean of seeds, for 95 %."""
BY_TRAINING = "train"
"""What experiments vary whose points are shares of training."""


def sweep(chosen: argparse.Namespace) -> None:
    """All rows, the worst first. `--only`: these experiments; `--train`: these shares, per cent."""
    names = chosen.only.split(",") if chosen.only else [one.name for one in EXPERIMENTS]
    shares = [float(one) / 100 for one in chosen.train.split(",")] if chosen.train else list(SHARES)
    tasks = [task for one in EXPERIMENTS if one.name in names for task in _tasks(one, shares, chosen)]
    if not tasks:
        raise SystemExit(f"there is none of {', '.join(names)}; there are {', '.join(one.name for one in EXPERIMENTS)}")
    done: dict[tuple[str, float, float], list[Done]] = {}
    rows: list[dict[str, Any]] = []
    for number, one in enumerate(run_all(tasks), 1):
        place = one.task.name, one.task.value, one.task.train or 0.0
        here = done.setdefault(place, [])
        here.append(one)
        console.progress(f"{bar(number, len(tasks))}  {one.task.name}")
        if len(here) == chosen.seeds:
            rows.append(row_of(here))
            console.say(_line(rows[-1]))
            if chosen.json:
                chosen.json.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
    console.done()
    rows.sort(key=lambda row: -row["worse, points"])
    report(f"auto beside even dropping; {chosen.seeds} seeds", rows, chosen.json, width=120)


def _tasks(experiment: Experiment, shares: Sequence[float], chosen: argparse.Namespace) -> Iterator[Task]:
    values = sorted({experiment.points[0].value, experiment.points[-1].value})
    for seed in range(chosen.seeds):
        if experiment.varied == BY_TRAINING:
            trained = [(100 * share, share) for share in shares if 100 * share in [p.value for p in experiment.points]]
        else:
            trained = [(value, share) for value in values for share in shares]
        for value, share in trained:
            yield Task(experiment.name, value, seed, (AUTO, *EVEN), chosen.events, share)


def row_of(done: Sequence[Done]) -> dict[str, Any]:
    """The seeds of one point and share. Means over them; `+-`: half of the 95 % interval of the difference, by seeds
    where there are several, and by which results stand or fall together otherwise."""
    task = done[0].task
    missed = {name: [100 * one.found[name].missed for one in done] for name in task.shedders}
    best = min(EVEN, key=lambda name: statistics.fmean(missed[name]))
    worse = [auto - even for auto, even in zip(missed[AUTO], missed[best], strict=True)]
    error = 100 * sqrt(statistics.fmean(one.found[AUTO].error ** 2 + one.found[best].error ** 2 for one in done))
    if len(done) > 2:
        error = statistics.stdev(worse) / sqrt(len(done))
    return {
        "experiment": task.name,
        "value": task.value,
        "train %": 100 * (task.train or 0.0),
        "seeds": len(done),
        "auto missed %": statistics.fmean(missed[AUTO]),
        **{f"{name} missed %": statistics.fmean(missed[name]) for name in EVEN},
        "worse, points": statistics.fmean(worse),
        "+-": _SURE * error,
    }


def _line(row: dict[str, Any]) -> str:
    place = f"{row['experiment']} {row['value']:g}, {row['train %']:g} % train"
    even = ", ".join(f"{name} {row[f'{name} missed %']:.1f}" for name in EVEN)
    worse = f"worse by {row['worse, points']:.1f} +- {row['+-']:.1f}"
    return f"{place}: auto missed {row['auto missed %']:.1f} %; {even}; {worse}"
