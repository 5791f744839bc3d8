"""Runs of an experiment on the virtual clock, on all cores: it counts costs, not time, so that they disturb nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.catalogue import EXPERIMENTS
from experiments.oracle import missed_at_best
from experiments.run import Outcome, Runs


@dataclass(frozen=True)
class Task:
    """One point of an experiment under one seed, shed by all `shedders` in turn.

    `events`: the number of leading events, or all. `train`: the share of them that trains; None: the experiment's own.
    """

    name: str
    value: float
    seed: int
    shedders: Sequence[str]
    events: int | None = None
    train: float | None = None


@dataclass(frozen=True)
class Done:
    """The outcome of a task. `at_best`: the share that the oracle misses. `found`: outcomes by shedder."""

    task: Task
    at_best: float
    found: Mapping[str, Outcome]


def run(task: Task) -> Done:
    """Run one task in this process. It has names only, since loads are made of closures, which cannot be pickled."""
    (experiment,) = (one for one in EXPERIMENTS if one.name == task.name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (point,) = (one for one in experiment.points if one.value == task.value)
        load = point.load(task.seed, folder).leading(task.events, folder)
        load = load if task.train is None else replace(load, train=task.train)
        runs = Runs(load, task.seed)
        return Done(task, missed_at_best(load), {shedder: runs.outcome(shedder) for shedder in task.shedders})


def _end_at_ctrl_c() -> None:
    """Ctrl-C ends this worker at once: as an exception it would wait for a kernel, or be lost in a callback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_all(tasks: Sequence[Task]) -> Iterator[Done]:
    """Run all tasks in parallel; returns them as they are done."""
    context = multiprocessing.get_context("spawn")
    workers = min(len(tasks), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_at_ctrl_c) as pool:
        try:
            for future in as_completed([pool.submit(run, task) for task in tasks]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # what has not begun would be run first
