"""Even dropping of a query's events: the means where nothing is learned, or the learned order is not believed.

Events that the query cannot take go first (`fitting`), which loses nothing. Of the others, each type has a drop rate
inversely proportional to the number that a match needs over the time that they take. The papers' BL uses events instead
of time. The need is read off the pattern; nothing is learned. The time of all events by themselves is taken to equal
that of the partial matches that first events begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from saffron.engine.shed.drops.loss_curve import LossCurve
from saffron.engine.shed.drops.rates import rates_at
from saffron.language.patterns.shapes import nullable
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Choice, InOrder, Interleaved, Loop, Shape, Take
from saffron.schema.event_types import EventTypes, type_names

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Even:
    """The figures for even dropping of one query's events.

    - `spare`: the share of events that the query cannot take.
    - `types`: the types of its pattern; None stands for all others, if it has ANY.
    - `frequency`: by type, the share among events that the query can take.
    - `needed`: by type, the number of components that take it. `begins`: a match can begin with it.
    - `taken`: for each component that a match binds, the indices of its types.
    """

    spare: float = 0.0
    types: tuple[str | None, ...] = ("",)
    frequency: tuple[float, ...] = (1.0,)
    needed: tuple[int, ...] = (1,)
    begins: tuple[bool, ...] = (True,)
    taken: tuple[tuple[int, ...], ...] = ((0,),)

    def rates(self, share: float) -> Floats:
        """[types] the drop rates that drop this share of the events that the query can take."""
        frequency, first = np.array(self.frequency), np.array(self.frequency) * np.array(self.begins)
        time = frequency + (first / first.sum() if first.sum() > 0 else 0.0)
        return rates_at(min(1.0, max(0.0, share)), frequency, np.array(self.needed) / np.maximum(time, 1e-9))

    def lost(self, share: float, length: float) -> float:
        """The share of matches lost if this share of all events goes. `length`: the number of events of a match."""
        rates, frequency = self.rates(self._beyond(share)), np.array(self.frequency)
        kept = np.array([1.0 - _mean(rates[list(places)], frequency[list(places)]) for places in self.taken])
        return float(1.0 - kept.prod() ** (max(1.0, length) / len(self.taken)))

    def begun(self, share: float) -> float:
        """The share of partial matches that do not begin if this share of all events goes."""
        first = np.array(self.frequency) * np.array(self.begins)
        return float(first @ self.rates(self._beyond(share)) / first.sum()) if first.sum() > 0 else 0.0

    def curve(self, length: float) -> LossCurve:
        """The share of matches lost, at all shares of events dropped."""
        return _curve(self, length)

    @cached_property
    def not_begun(self) -> LossCurve:
        """`begun` at all shares."""
        return LossCurve.of(self.begun)

    def _beyond(self, share: float) -> float:
        return max(0.0, share - self.spare) / (1.0 - self.spare) if self.spare < 1 else 0.0


def _mean(rates: Floats, frequency: Floats) -> float:
    """The mean of rates, weighted by frequencies; where all of these are 0, the plain mean."""
    total = frequency.sum()
    return float(rates @ (frequency / total)) if total > 0 else float(rates.mean())


@lru_cache(maxsize=64)
def _curve(even: Even, length: float) -> LossCurve:
    return LossCurve.of(lambda share: even.lost(share, length))


UNKNOWN = Even()
"""Each event is as good as any other."""


def even_of(plan: MatchPlan, spare: float, frequency: Sequence[float]) -> Even:
    """Even dropping for a plan. `frequency`: shares of the types in `types_of`."""
    types = types_of(plan)
    sets = [component.types for component in plan.components]
    own = [tuple(place for place, name in enumerate(types) if _takes(one, name)) for one in sets]
    first = {place for component in beginnings(plan.pattern) for place in own[component]}
    needed = np.bincount([place for places in own for place in places], minlength=len(types))
    begins = tuple(number in first for number in range(len(types)))
    return Even(spare, types, tuple(frequency), tuple(needed.tolist()), begins, tuple(own[: plan.positive]))


def types_of(plan: MatchPlan) -> tuple[str | None, ...]:
    """The types of its components, each once; with ANY also None."""
    sets = [component.types for component in plan.components]
    return (*type_names(sets), *([None] if any(one.others for one in sets) else []))


def _takes(types: EventTypes, name: str | None) -> bool:
    """True if a component takes events of a type of `types_of`."""
    return types.others if name is None else name in types


def beginnings(shape: Shape) -> set[int]:
    """The components that a match may begin with."""
    match shape:
        case Take(component):
            return {component}
        case Loop(body=body):
            return beginnings(body)
        case Choice(parts) | Interleaved(parts):
            return set().union(*map(beginnings, parts))
        case InOrder(parts):
            found: set[int] = set()
            for part in parts:
                found |= beginnings(part)
                if not nullable(part):
                    break
            return found
        case _:
            return set()
