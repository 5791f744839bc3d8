"""One run of an experiment: queries over a stream on the virtual clock, shed by one shedder, beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""Virtual seconds that the engine alone needs for the events behind the training share: many times the bound."""


@dataclass(frozen=True)
class Load:
    """What is run: queries (name -> text), events, a rate (times the capacity), and what a check costs.

    `costs`: of each query relative to the others; the unit is chosen so that a run lasts for `LASTS_S`.
    """

    queries: Mapping[str, str]
    events: Path
    rate: Rate
    costs: Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """Shares: `missed` of the true complex events, `false` of those found; `estimated` is what the run said it missed.

    `p999`: of the results' latency, ms. `matching`: complex events of the truth by partial matches that there were.
    """

    missed: float
    false: float
    estimated: float
    p999: float
    dropped_events: int
    dropped_partial_matches: int
    seconds: float


def outcome(load: Load, shedder: str, seed: int) -> Outcome:
    """The figures of one run."""
    unit = _unit(load)
    stated = {name: unit * cost for name, cost in load.costs.items()}
    figures = _replay(load, shedder, seed, stated, truth=True)
    lost = figures["estimated_loss"]
    found = figures["results"]
    whole = {name: found[name] / (1 - share) if share < 1 else 0.0 for name, share in lost.items()}
    total = sum(whole.values())
    return Outcome(
        missed=1 - figures["recall"],
        false=1 - figures["precision"],
        estimated=1 - sum(found[name] for name in lost) / total if total else 0.0,
        p999=figures["latency_ms"]["p999"] or 0.0,
        dropped_events=figures["dropped_events"],
        dropped_partial_matches=figures["dropped_partial_matches"],
        seconds=figures["virtual_seconds"],
    )


_units: dict[tuple[Any, ...], float] = {}


def _unit(load: Load) -> float:
    """ns a check, such that the engine alone is busy for `LASTS_S`."""
    key = (tuple(load.queries.items()), load.events, tuple(load.costs.items()))
    if key not in _units:
        figures = _replay(load, "none", 0, dict(load.costs), truth=False)
        _units[key] = LASTS_S * figures["capacity"] / ((1 - TRAIN) * figures["events"])
    return _units[key]


def _replay(load: Load, shedder: str, seed: int, stated: Mapping[str, float], *, truth: bool) -> Mapping[str, Any]:
    run = VirtualRun(Overload(BOUND_MS, seed=seed), load.rate, shedder=shedder, train=TRAIN, truth=truth, stated=stated)
    replay = VirtualReplay([Query(name, text) for name, text in load.queries.items()], run)
    for _ in replay.results(_batches([str(load.events)])):
        pass
    return replay.figures()


def _batches(files: Sequence[str]) -> Any:
    return (chunk.batch for chunk in read_events(files))
