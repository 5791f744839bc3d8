"""One run of an experiment on the real pipeline, in real time: broker, services, and a matcher as slow as stated.

The leading share of the events comes first, below the capacity, as it trains the models on the virtual clock; these
models are published before. What comes behind is measured: a result's latency is from the message time of its last
event to the append time of the result.

Rates are times the capacity of the pipeline, which is measured first, without shedding. It is below that of the engine
alone: a matcher also reads, writes and commits, and shares the machine with the broker.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from bench.shared.system import System, system
from experiments.found import Found, true_results
from experiments.run import BOUND_MS, TRAIN, Load, Outcome, asked, outcome_of, replayed, shed_events, stated
from numpy.typing import NDArray

from saffron.cli.system.scrape import page, scrape
from saffron.engine.events.formats.files import read_events
from saffron.experiments.virtual_pace import Rate
from saffron.experiments.virtual_truth import recall_error
from saffron.language.cost.shedders import NONE
from saffron.runtime.local.ports import free_ports
from saffron.runtime.local.state import read_state
from saffron.runtime.log.kafka.kafka_log import connect
from saffron.runtime.process.config import PASS, SHED
from saffron.runtime.telemetry.metric_names import ESTIMATED_LOSS, SHED_EVENTS, SHED_PARTIAL_MATCHES

LEADING, FLOOD = 0.6, 1.5
"""The rates of the leading share, and where the capacity is measured, times what the engine alone does of each."""
_DIGEST_S = 2.0
"""Services tell their numbers once a second."""
_SILENCE_S = 8.0
"""Seconds without a word from the matcher after which it says no more."""


def both(load: Load, shedder: str, seed: int, seconds: float, folder: Path) -> tuple[Outcome, Outcome]:
    """The outcomes on the virtual clock and in real time. `seconds`: the engine's work behind the training share."""
    load = replace(load, seconds=load.seconds or seconds)
    costs = stated(load)
    virtual = replayed(load, asked(load, shedder, seed, costs))
    figures = virtual.figures()
    leading = LEADING * figures["capacity"]  # as the training share says: of its own events
    rate = replace(load.rate, value=load.rate.value * _capacity(load, costs, leading, folder), relative=False)
    real = _run(load, shedder, costs, (leading, rate), virtual.models(), folder)
    return outcome_of(figures), _outcome(load, real)


@dataclass(frozen=True)
class _Run:
    """A run on the real pipeline; see `Outcome` for the other fields.

    `came` [n]: message times of all events, ms. `told`: results and the time at which each was appended. `share`:
    events of the leading share. `done`: the time (ms) at which the matcher reported that it had applied all events.
    """

    came: NDArray[np.int64]
    told: Sequence[tuple[Found, int]]
    share: int
    done: int
    estimated: float
    dropped_events: int
    dropped_partial_matches: int


_capacities: dict[tuple[Any, ...], float] = {}


def _capacity(load: Load, costs: Mapping[str, float], leading: float, folder: Path) -> float:
    """Events a second that the pipeline takes when more come. `leading`: the rate of the leading share."""
    if load.key not in _capacities:
        _, _, engine = shed_events(load)
        run = _run(load, NONE, costs, (leading, Rate(FLOOD * engine)), (), folder)
        _capacities[load.key] = 1000 * (len(run.came) - run.share) / (run.done - run.came[run.share])
    return _capacities[load.key]


def _outcome(load: Load, run: _Run) -> Outcome:
    truth = {one for one in true_results(load) if one.last >= run.share}
    late = np.array([at - run.came[one.last] for one, at in run.told if one.last >= run.share])
    found = {one for one, _ in run.told if one.last >= run.share}
    return Outcome(
        missed=len(truth - found) / len(truth) if truth else 0.0,
        error=recall_error(((one.query, one.first), 1.0, one in found) for one in truth),
        false=len(found - truth) / len(found) if found else 0.0,
        estimated=run.estimated,
        p999=float(np.quantile(late, 0.999)) if len(late) else 0.0,
        dropped_events=run.dropped_events,
        dropped_partial_matches=run.dropped_partial_matches,
        seconds=(run.came[-1] - run.came[run.share]) / 1000,
    )


def _run(
    load: Load,
    shedder: str,
    costs: Mapping[str, float],
    rates: tuple[float, Rate],
    models: Sequence[tuple[bytes, bytes]],
    folder: Path,
) -> _Run:
    """One run. `rates`: of the leading share and of the rest, events a second."""
    lead, rest, share = _cut(load.events, rates[1], folder)
    overload = PASS if shedder == NONE else SHED
    settings = {"overload": overload, "latency_bound_ms": round(BOUND_MS), "commit_ms": 10, "pane_events": load.pane}
    with _running(costs, **settings) as (running, port):
        _publish(running, models)
        for name, text in load.queries.items():
            path = folder / f"{name}.saf"
            path.write_text(text, "utf-8")
            running.command("query", "add", str(path), "--shed", shedder)
        running.command("produce", str(lead), "--rate", str(round(rates[0])))
        time.sleep(_DIGEST_S)
        before = _lost(running, load)
        for path, rate in rest:
            running.command("produce", str(path), "--rate", str(round(rate)))
        sources = running.read("events", 10**9, 1.0)
        done = _done(running, len(sources))
        records = running.read("complex-events", 10**9, _DIGEST_S)
        after, dropped = _lost(running, load), page(("127.0.0.1", port)).total(f"{SHED_PARTIAL_MATCHES.name}_total")
        masked = scrape(read_state(running.data), "shedder").total(f"{SHED_EVENTS.name}_total")
    told = [(Found.of(record.value or b""), record.timestamp) for record in records]
    return _Run(
        came=np.array([record.timestamp for record in sources]),
        told=told,
        share=share,
        done=done,
        estimated=_estimated(before, after, [one for one, _ in told], share),
        dropped_events=round(masked),
        dropped_partial_matches=round(dropped),
    )


def _done(running: System, events: int) -> int:
    """The time (ms) at which a matcher first reported that it had applied so many events."""
    for record in running.follow("load", _SILENCE_S):
        message = orjson.loads(record.value or b"{}")
        if message.get("service") == "matcher" and message["position"] >= events:
            return record.timestamp
    raise AssertionError("the matcher has not applied all events")


def _lost(running: System, load: Load) -> Mapping[str, float]:
    """Query -> the estimated share missed since the start."""
    numbers = scrape(read_state(running.data), "shedder")
    return {name: numbers.total(ESTIMATED_LOSS.name, query=name) for name in load.queries}


def _estimated(before: Mapping[str, float], after: Mapping[str, float], told: Sequence[Found], share: int) -> float:
    """The share missed since the leading share was over, from those since the start: then, and in the end."""
    lost, found = 0.0, 0
    for name in after:
        early = sum(one.query == name and one.last < share for one in told)
        whole = sum(one.query == name for one in told)
        lost += _missed_beside(whole, after[name]) - _missed_beside(early, before[name])
        found += whole - early
    return _share_of(lost, found)


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


def _cut(events: Path, rate: Rate, folder: Path) -> tuple[Path, list[tuple[Path, float]], int]:
    """The leading share as a file; the rest as files, one a step of the rate's profile, each with its events a second;
    and how many events the share has."""
    lines = [line for chunk in read_events([events]) for line in map(chunk.batch.value, range(len(chunk.batch)))]
    share = int(len(lines) * TRAIN)
    lead = _written(folder / "lead.ndjson", lines[:share])
    rest, begin = [], share
    for step, (seconds, factor) in enumerate((*rate.profile, (float("inf"), 1.0))):
        here = rate.value * factor
        end = int(min(len(lines), begin + seconds * here))
        if end > begin:
            rest.append((_written(folder / f"rest-{step}.ndjson", lines[begin:end]), here))
        begin = end
    return lead, rest, share


def _written(path: Path, lines: Sequence[bytes]) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def _missed_beside(found: int, share: float) -> float:
    """The number of missed matches, if `found` ones are left and `share` of all are missed."""
    return found * share / (1 - share) if share < 1 else 0.0


def _share_of(lost: float, found: int) -> float:
    """The share of all matches that is lost."""
    return lost / (lost + found) if lost + found else 0.0
