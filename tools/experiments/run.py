"""One run of an experiment: queries over a stream on the virtual clock, shed by one shedder, beside the truth."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.sets import leading

from saffron.engine.events.formats.files import read_events
from saffron.engine.models.features.choosing import PANE
from saffron.engine.models.features.event_model import EVENTS
from saffron.engine.models.features.features import Pane
from saffron.engine.models.transitions.model import TRANSITIONS
from saffron.engine.shed.load.settings import Overload
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_pace import Rate
from saffron.experiments.virtual_truth import Found
from saffron.language.cost.shedders import AUTO, NONE
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.fused import Query

BOUND_MS = 1000.0
TRAIN = 0.3
LASTS_S = 60.0
"""Seconds that the engine alone needs for the events behind the training share: many times the bound."""


@dataclass(frozen=True)
class Load:
    """The input of a run: queries (name -> text), events, a rate (times the capacity), and costs of checks.

    `costs`: of each query relative to the others; the unit is chosen so that the engine alone is busy for `lasts`
    seconds (`seconds`, where the load has it) with the events behind the training share. That is the capacity. `pane`:
    the number of earlier events from which an event's utility is predicted. `train`: the leading share of the events.
    """

    queries: Mapping[str, str]
    events: Path
    rate: Rate
    costs: Mapping[str, float]
    seconds: float | None = None
    pane: int = PANE.length
    train: float = TRAIN

    @property
    def lasts(self) -> float:
        return self.seconds or LASTS_S

    @property
    def key(self) -> tuple[Any, ...]:
        """Loads that are alike but for their rates have the same."""
        return tuple(self.queries.items()), self.events, tuple(self.costs.items()), self.seconds, self.train

    def leading(self, count: int | None, folder: Path) -> Load:
        """The load with its first `count` events, or all."""
        return replace(self, events=leading(self.events, count, folder)) if count else self


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run, in shares.

    `missed`: of the true complex events. `false`: of those found. `estimated`: missed, as the run reported. `error`:
    the standard error of `missed`, for the chance that decides what is lost. `p999`: of the results' latency, ms.
    `seconds`: virtual ones.
    """

    missed: float
    error: float
    false: float
    estimated: float
    p999: float
    dropped_events: int
    dropped_partial_matches: int
    seconds: float


class Runs:
    """Runs of one load and seed on the virtual clock: models are trained, and the truth is found, once for all. Where
    the training share teaches nothing of a query's events or of its partial matches, each run finds that anew."""

    def __init__(self, load: Load, seed: int) -> None:
        self._load, self._seed = load, seed
        self._costs = stated(load)
        first = _replay(load, asked(load, AUTO, seed, self._costs))
        next(_results(load, first), None)  # which is behind both
        assert first.truth is not None
        models = first.models()
        taught = {key.decode() for key, _ in models}
        wanted = {one for name in load.queries for one in (f"{name}/{TRANSITIONS}", f"{name}/{EVENTS}")}
        self._models = models if taught >= wanted else None
        self._rates = first.rates
        self._truth = first.truth

    def outcome(self, shedder: str) -> Outcome:
        """The figures of one run."""
        run = asked(self._load, shedder, self._seed, self._costs, truth=self._truth)
        run = replace(run, models=self._models, rates=self._rates)
        return outcome_of(replayed(self._load, run).figures())


def outcome_of(figures: Mapping[str, Any]) -> Outcome:
    """The outcome of a replay, from its figures."""
    true = {name: figures["queries"][name]["true"] for name in figures["estimated_loss"]}
    lost = sum(true[name] * share for name, share in figures["estimated_loss"].items())
    return Outcome(
        missed=1 - figures["recall"],
        error=figures["recall_error"],
        false=1 - figures["precision"],
        estimated=lost / sum(true.values()) if any(true.values()) else 0.0,
        p999=figures["latency_ms"]["p999"] or 0.0,
        dropped_events=figures["dropped_events"],
        dropped_partial_matches=figures["dropped_partial_matches"],
        seconds=figures["virtual_seconds"],
    )


_calibrations: dict[tuple[Any, ...], tuple[float, int]] = {}


def _calibrated(load: Load) -> tuple[float, int]:
    """Seconds for which the engine alone is busy with the events behind the training share, at one ns a check, and
    events in all.

    The capacity that the training share says decides only how blocks are cut: behind it a check may meet twice as many
    partial matches (buses), or half as many (soccer).
    """
    if load.key not in _calibrations:
        first = _alone(load, load.costs)
        unit = load.lasts * first["capacity"] / ((1 - load.train) * first["events"])
        busy = _alone(load, {name: unit * cost for name, cost in load.costs.items()})["busy_seconds"]
        _calibrations[load.key] = busy / unit, first["events"]
    return _calibrations[load.key]


def _alone(load: Load, costs: Mapping[str, float]) -> Mapping[str, Any]:
    """The figures of a run without shedding, at about the capacity."""
    return replayed(load, VirtualRun(_overload(0), Rate(1.0, relative=True), NONE, load.train, stated=costs)).figures()


def stated(load: Load) -> Mapping[str, float]:
    """Query -> ns a check, such that the engine alone is busy for as long as the load lasts."""
    busy, _ = _calibrated(load)
    return {name: load.lasts / busy * cost for name, cost in load.costs.items()}


def shed_events(load: Load) -> tuple[int, int, float]:
    """Events that train, events behind them, and of these a second that the engine alone does at the stated costs."""
    _, events = _calibrated(load)
    share = int(events * load.train)
    return share, events - share, (events - share) / load.lasts


def paced(load: Load) -> Rate:
    """The load's rate in events a second."""
    _, _, capacity = shed_events(load)
    return replace(load.rate, value=load.rate.value * capacity, relative=False)


def asked(
    load: Load,
    shedder: str,
    seed: int,
    costs: Mapping[str, float],
    *,
    truth: bool | Found = True,
) -> VirtualRun:
    """A run of the load at its rate."""
    return VirtualRun(_overload(seed), paced(load), shedder, load.train, truth, stated=costs, pane=Pane(load.pane))


def replayed(load: Load, run: VirtualRun) -> VirtualReplay:
    """A replay, run to its end."""
    replay = _replay(load, run)
    deque(_results(load, replay), maxlen=0)
    return replay


def _replay(load: Load, run: VirtualRun) -> VirtualReplay:
    return VirtualReplay([Query(name, text) for name, text in load.queries.items()], run)


def _results(load: Load, replay: VirtualReplay) -> Iterator[Merged]:
    return replay.results(chunk.batch for chunk in read_events([str(load.events)]))


def _overload(seed: int) -> Overload:
    return Overload(BOUND_MS, seed=seed)
