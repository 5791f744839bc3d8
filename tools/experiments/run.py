"""One run of an experiment: queries over a stream on the virtual clock, shed by one shedder, beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saffron.engine.events.files import read_events
from saffron.engine.shed.settings import Overload
from saffron.runtime.fused import Query
from saffron.runtime.virtual import VirtualReplay, VirtualRun
from saffron.runtime.virtual_pace import Rate

BOUND_MS = 1000.0
TRAIN = 0.3
LASTS_S = 60.0
"""Seconds that the engine alone needs for the events behind the training share: many times the bound."""


@dataclass(frozen=True)
class Load:
    """What is run: queries (name -> text), events, a rate (times the capacity), and what a check costs.

    `costs`: of each query relative to the others; the unit is chosen so that the engine alone is busy for `seconds`,
    where the load says how many, with the events behind the training share.
    """

    queries: Mapping[str, str]
    events: Path
    rate: Rate
    costs: Mapping[str, float]
    seconds: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Loads that are alike but for their rates have the same."""
        return tuple(self.queries.items()), self.events, tuple(self.costs.items()), self.seconds


@dataclass(frozen=True)
class Outcome:
    """Shares: `missed` of the true complex events, `false` of those found; `estimated` is what the run said it missed.

    `error`: the standard error of `missed`, as far as chance decides what is lost. `p999`: of the results' latency, ms.
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


def outcome(load: Load, shedder: str, seed: int) -> Outcome:
    """The figures of one run on the virtual clock."""
    return outcome_of(replayed(load, shedder, seed, stated(load)).figures())


def outcome_of(figures: Mapping[str, Any]) -> Outcome:
    """What a replay's figures say."""
    found = {name: figures["results"][name] for name in figures["estimated_loss"]}
    lost = sum(missed_beside(found[name], share) for name, share in figures["estimated_loss"].items())
    return Outcome(
        missed=1 - figures["recall"],
        error=figures["recall_error"],
        false=1 - figures["precision"],
        estimated=share_of(lost, sum(found.values())),
        p999=figures["latency_ms"]["p999"] or 0.0,
        dropped_events=figures["dropped_events"],
        dropped_partial_matches=figures["dropped_partial_matches"],
        seconds=figures["virtual_seconds"],
    )


def missed_beside(found: int, share: float) -> float:
    """How many are missed, if so many that were found are the rest of all."""
    return found * share / (1 - share) if share < 1 else 0.0


def share_of(lost: float, found: int) -> float:
    """Of all, those lost."""
    return lost / (lost + found) if lost + found else 0.0


_units: dict[tuple[Any, ...], float] = {}


def stated(load: Load, seconds: float = LASTS_S) -> Mapping[str, float]:
    """ns a check by query, such that the engine alone is busy for as long as the load says, or for so many seconds."""
    if load.key not in _units:
        figures = replayed(load, "none", 0, load.costs, truth=False).figures()
        _units[load.key] = figures["capacity"] / ((1 - TRAIN) * figures["events"])
    lasts = load.seconds or seconds
    return {name: lasts * _units[load.key] * cost for name, cost in load.costs.items()}


def replayed(load: Load, shedder: str, seed: int, costs: Mapping[str, float], *, truth: bool = True) -> VirtualReplay:
    """A replay that is over."""
    run = VirtualRun(Overload(BOUND_MS, seed=seed), load.rate, shedder=shedder, train=TRAIN, truth=truth, stated=costs)
    replay = VirtualReplay([Query(name, text) for name, text in load.queries.items()], run)
    for _ in replay.results(chunk.batch for chunk in read_events([str(load.events)])):
        pass
    return replay
