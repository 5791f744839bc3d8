"""The plan of a run: which fault comes behind which part of the events, drawn by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

SERVICES = ("windowing", "shedder", "matcher", "greta")
BROKER = "broker"


class Kind(Enum):
    """A kind of fault. What it does to its targets stands in `target.Target`."""

    KILL = "kill"
    RESTART = "restart"
    PAUSE = "pause"
    TEAR = "tear"
    POWER = "power cut"


_WEIGHTS = {Kind.KILL: 8, Kind.RESTART: 4, Kind.PAUSE: 4, Kind.TEAR: 2, Kind.POWER: 1}
_STATEFUL = ("matcher", "greta")


@dataclass(frozen=True)
class Fault:
    """A fault that comes `after` so many events were sent; `targets`: services, or the broker."""

    after: int
    kind: Kind
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind.value} {', '.join(self.targets)}"


def plan(seed: int, faults: int, events: int) -> list[Fault]:
    """`faults` faults in the order of the events; the first ones are one of each kind, if there are so many."""
    draw = random.Random(seed)
    kinds = list(Kind)
    draw.shuffle(kinds)
    weights = list(_WEIGHTS.values())
    chosen = (kinds + draw.choices(list(_WEIGHTS), weights, k=max(0, faults - len(kinds))))[:faults]
    places = sorted(draw.randrange(1, events) for _ in range(faults))
    return [Fault(place, kind, _targets(kind, draw)) for place, kind in zip(places, chosen, strict=True)]


def _targets(kind: Kind, draw: random.Random) -> tuple[str, ...]:
    if kind is Kind.POWER:
        return (*SERVICES, BROKER)
    if kind is Kind.TEAR:
        return (draw.choice(_STATEFUL),)
    if kind is Kind.RESTART:
        return (draw.choice(SERVICES),)
    return (draw.choice((*SERVICES, BROKER)),)
