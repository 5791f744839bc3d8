"""`saffron experiment robustness`: the default shedder beside even dropping, with little training or a changing stream.

Each experiment runs at its first and its last value, with each share of training and each seed. The figure is the
percentage points of complex events that `auto` misses more than the better of two that know nothing: partial matches
drawn at random, and events drawn by their kinds alone. A row gets another seed until its 95 % interval is within
`ALLOWED` or beyond it; where each seed makes another stream, `LEAST` at least. Rows are written as they come.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

from bench.shared.table import report, write
from experiments import usage
from experiments.catalogue import EVEN, EXPERIMENTS, SHARES, Experiment
from experiments.virtual import Done, Task, run_all
from scipy.special import stdtrit

from saffron.cli import console
from saffron.cli.progress import bar
from saffron.language.cost.shedders import AUTO

ROBUSTNESS = "robustness"
"""The name of the experiment."""
_SURE = 1.96
"""Standard errors of a mean for 95 %, where the error itself is known well."""
BY_TRAINING = "train"
"""The variable of experiments whose points are shares of training."""
ALLOWED = 3.0
"""Percentage points that `auto` may miss more than even dropping."""
LEAST = 5
"""Seeds of a row whose stream is generated: one stream does not show how streams differ."""

Place = tuple[str, float, float]
"""A row: the experiment's name, the value of what it varies, the share of the events that trains."""


def sweep(chosen: argparse.Namespace) -> None:
    """All rows, the worst first.

    `--only`: these experiments. `--train`: these shares, per cent. `--seeds`: the most runs of each row; there are
    fewer where its interval lies on one side of `ALLOWED` before.
    """
    known = [one.name for one in EXPERIMENTS]
    names = usage.names("--only", chosen.only, "experiment", known) if chosen.only else known
    shares = usage.shares("--train", chosen.train) if chosen.train else list(SHARES)
    rows = [row for one in EXPERIMENTS if one.name in names for row in places(one, shares)]
    least = {one.name: LEAST if one.generated else 1 for one in EXPERIMENTS}
    if not rows:
        usage.wrong(f"--train {chosen.train}: {', '.join(names)} is not tried with it")
    title = f"auto beside even dropping; at most {chosen.seeds} seeds"
    done: dict[Place, list[Done]] = {row: [] for row in rows}
    for seed in range(chosen.seeds):
        open_ = [row for row in rows if not decided(done[row], least[row[0]])]
        if not open_:
            break
        tasks = [Task(name, value, seed, (AUTO, *EVEN), chosen.events, share) for name, value, share in open_]
        for number, one in enumerate(run_all(tasks), 1):
            here = done[one.task.name, one.task.value, one.task.train or 0.0]
            here.append(one)
            console.say(_line(row_of(here)))
            console.progress(f"{bar(number, len(tasks))}  run {seed + 1} of at most {chosen.seeds}")
            if chosen.json:
                write(title, _rows(done), chosen.json)
    console.done()
    report(title, _rows(done), chosen.json, width=120)


def places(experiment: Experiment, shares: Sequence[float]) -> Iterator[Place]:
    """The rows of an experiment: its first and its last value with each share, or its own shares where it varies
    those."""
    if experiment.varied == BY_TRAINING:
        own = {point.value for point in experiment.points}
        yield from ((experiment.name, 100 * share, share) for share in shares if 100 * share in own)
        return
    for value in sorted({experiment.points[0].value, experiment.points[-1].value}):
        yield from ((experiment.name, value, share) for share in shares)


def decided(done: Sequence[Done], least: int = 1) -> bool:
    """True if the 95 % interval of a row lies on one side of `ALLOWED`, so that more seeds tell nothing new.

    `least`: seeds before which it is not.
    """
    if len(done) < least:
        return False
    row = row_of(done)
    return bool(abs(row["worse, points"] - ALLOWED) >= row["+-"])


def _rows(done: Mapping[Place, Sequence[Done]]) -> list[dict[str, Any]]:
    """The rows that have run at least once, the worst first."""
    return sorted((row_of(here) for here in done.values() if here), key=lambda row: -row["worse, points"])


def row_of(done: Sequence[Done]) -> dict[str, Any]:
    """The row of one point and share: means over its seeds.

    `+-`: half of the 95 % interval of the difference. It is estimated over seeds (by Student's t, for an error over few
    seeds is itself uncertain), or, if there are one or two, from clumps of results.
    """
    task = done[0].task
    missed = {name: [100 * one.found[name].missed for one in done] for name in task.shedders}
    best = min(EVEN, key=lambda name: statistics.fmean(missed[name]))
    worse = [auto - even for auto, even in zip(missed[AUTO], missed[best], strict=True)]
    error = 100 * sqrt(statistics.fmean(one.found[AUTO].error ** 2 + one.found[best].error ** 2 for one in done))
    half = _SURE * error
    if len(done) > 2:
        half = float(stdtrit(len(done) - 1, 0.975)) * statistics.stdev(worse) / sqrt(len(done))
    return {
        "experiment": task.name,
        "value": task.value,
        "train %": 100 * (task.train or 0.0),
        "seeds": len(done),
        "auto missed %": statistics.fmean(missed[AUTO]),
        **{f"{name} missed %": statistics.fmean(missed[name]) for name in EVEN},
        "worse, points": statistics.fmean(worse),
        "+-": half,
    }


def _line(row: dict[str, Any]) -> str:
    place = f"{row['experiment']} {row['value']:g}, {row['train %']:g} % train"
    even = ", ".join(f"{name} {row[f'{name} missed %']:.1f}" for name in EVEN)
    worse = f"worse by {row['worse, points']:.1f} +- {row['+-']:.1f}"
    return f"{place}: auto missed {row['auto missed %']:.1f} %; {even}; {worse}"
