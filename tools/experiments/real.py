"""One run of an experiment on the real pipeline, in real time: broker, services, and a matcher as slow as stated.

The leading share of the events comes first, below the capacity, as it trains the models on the virtual clock; these
models are published before. What comes behind is measured: a result's latency is from the message time of its last
event to the append time of the result.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from bench._system import System, system
from experiments.found import Found, true_results
from experiments.run import BOUND_MS, TRAIN, Load, Outcome, missed_beside, outcome_of, replayed, share_of, stated

from saffron.cli.scrape import page, scrape
from saffron.engine.events.files import read_events
from saffron.language.shedding import NONE
from saffron.runtime.broker import free_ports
from saffron.runtime.config import PASS, SHED
from saffron.runtime.kafka_log import connect
from saffron.runtime.metric_names import ESTIMATED_LOSS, SHED_EVENTS, SHED_PARTIAL_MATCHES
from saffron.runtime.state import read_state

LEADING = 0.6
"""The rate of the leading share, times the capacity."""
_DIGEST_S = 2.0
"""Services tell their numbers once a second."""
_SILENCE_S = 8.0
"""Seconds without a result after which none comes any more."""


def both(load: Load, shedder: str, seed: int, seconds: float, folder: Path) -> tuple[Outcome, Outcome]:
    """The outcomes on the virtual clock and in real time. `seconds`: the engine's work behind the training share."""
    costs = stated(load, seconds)
    virtual = replayed(load, shedder, seed, costs)
    figures = virtual.figures()
    return outcome_of(figures), _real(load, shedder, costs, figures["capacity"], virtual.models(), folder)


def _real(
    load: Load,
    shedder: str,
    costs: Mapping[str, float],
    capacity: float,
    models: Sequence[tuple[bytes, bytes]],
    folder: Path,
) -> Outcome:
    lead, rest, share = _cut(load.events, folder)
    truth = {one for one in true_results(load) if one.last >= share}
    overload = PASS if shedder == NONE else SHED
    with _running(costs, overload=overload, latency_bound_ms=round(BOUND_MS), commit_ms=10) as (running, port):
        _publish(running, models)
        for name, text in load.queries.items():
            path = folder / f"{name}.saf"
            path.write_text(text, "utf-8")
            running.command("query", "add", str(path), "--shed", shedder)
        running.command("produce", str(lead), "--rate", str(round(LEADING * capacity)))
        time.sleep(_DIGEST_S)
        before = _lost(running, load)
        running.command("produce", str(rest), "--rate", str(round(load.rate.value * capacity)))
        records = running.read("complex-events", 10**9, _SILENCE_S)
        sources = running.read("events", 10**9, 1.0)
        after, dropped = _lost(running, load), page(port).total(f"{SHED_PARTIAL_MATCHES.name}_total")
        masked = scrape(read_state(running.data), "shedder").total(f"{SHED_EVENTS.name}_total")
    came = np.array([record.timestamp for record in sources])
    told = [(Found.of(record.value or b""), record.timestamp) for record in records]
    late = np.array([at - came[one.last] for one, at in told if one.last >= share])
    found = {one for one, _ in told if one.last >= share}
    return Outcome(
        missed=len(truth - found) / len(truth) if truth else 0.0,
        false=len(found - truth) / len(found) if found else 0.0,
        estimated=_estimated(before, after, [one for one, _ in told], share),
        p999=float(np.quantile(late, 0.999)) if len(late) else 0.0,
        dropped_events=round(masked),
        dropped_partial_matches=round(dropped),
        seconds=(came[-1] - came[share]) / 1000,
    )


def _lost(running: System, load: Load) -> Mapping[str, float]:
    """By query the share that is estimated to have been missed since the start."""
    numbers = scrape(read_state(running.data), "shedder")
    return {name: numbers.total(ESTIMATED_LOSS.name, query=name) for name in load.queries}


def _estimated(before: Mapping[str, float], after: Mapping[str, float], told: Sequence[Found], share: int) -> float:
    """The share missed since the leading share was over, from those since the start: then, and in the end."""
    lost, found = 0.0, 0
    for name in after:
        early = sum(one.query == name and one.last < share for one in told)
        whole = sum(one.query == name for one in told)
        lost += missed_beside(whole, after[name]) - missed_beside(early, before[name])
        found += whole - early
    return share_of(lost, found)


@contextmanager
def _running(costs: Mapping[str, float], **settings: object) -> Iterator[tuple[System, int]]:
    """A system with a costly matcher, and without what the run does not need; the port of the matcher's metrics."""
    with system(without=("matcher", "model_builder"), **settings) as running:
        words = [f"{name}={cost}" for name, cost in costs.items()]
        command = [sys.executable, "-m", "experiments.costly_matcher", "--data", str(running.data), *words]
        log = running.data / "costly-matcher.log"
        (port,) = free_ports(1)
        own = {**os.environ, "SAFFRON_METRICS_PORT": str(port)}
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=own) as matcher:
            try:
                yield running, port
            finally:
                matcher.terminate()


def _publish(running: System, models: Sequence[tuple[bytes, bytes]]) -> None:
    log = connect(running.settings)
    producer = log.producer(client_id="experiment")
    for key, value in models:
        producer.send(running.settings.topic("models"), 0, value, key=key)
    producer.flush(10.0)
    producer.close()
    log.close()


def _cut(events: Path, folder: Path) -> tuple[Path, Path, int]:
    """The leading share and the rest of the events as files, and how many the share has."""
    lines = [line for chunk in read_events([events]) for line in map(chunk.batch.value, range(len(chunk.batch)))]
    share = int(len(lines) * TRAIN)
    lead, rest = folder / "lead.ndjson", folder / "rest.ndjson"
    for path, part in ((lead, lines[:share]), (rest, lines[share:])):
        path.write_bytes(b"\n".join(part) + b"\n")
    return lead, rest, share
