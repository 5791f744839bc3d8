"""One chain's shedding: from the state of the queue to what is written into a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.models.model import TransitionModel
from saffron.engine.shed.arrivals import Arrivals
from saffron.engine.shed.chance import chance, exempt
from saffron.engine.shed.decision import Decider, Decision, Situation
from saffron.engine.shed.detector import Detector
from saffron.engine.shed.outage import DROP, KEEP, Outage
from saffron.engine.shed.partial import Worths
from saffron.engine.shed.settings import Overload
from saffron.engine.shed.traits import Traits
from saffron.language.shedding import NONE

Bits = NDArray[np.uint64]
_READER = "matcher"
"""Whose partial matches can be dropped."""
_SPAN = 65_536
"""Events of a span that is exempt as a whole, where windows are not known to be longer."""
_WINDOWS_A_SPAN = 4


@dataclass(frozen=True)
class Shed:
    """What was decided of a block. `mask`: bits to set in `Columns.dropped`, None: no event goes. `orders`: bodies of
    "keep" records. `share`: of its events to drop. `why`: for statistics."""

    mask: Bits | None = None
    orders: tuple[Mapping[str, Any], ...] = ()
    share: float = 0.0
    why: str = "pass"


@dataclass
class Shedding:
    """State of one chain. Times in ms of the caller's clock; what comes in are arguments only."""

    settings: Overload
    detector: Detector
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        self._decider = Decider(self.settings)
        self._outage = Outage(self.settings)
        self._worths = Worths(self.settings.seed)

    def plan(
        self,
        block: Block,
        queueing: float,
        now: float,
        queries: Mapping[str, tuple[Traits, int]],
        models: Mapping[str, TransitionModel],
    ) -> Shed:
        """`queries`: those in force and not paused, each with its slot in `Columns.dropped` (-1: none)."""
        count = len(block.columns)
        if self.arrivals.known < count:
            self.arrivals.arrived(count, now - queueing)
        waiting = self.arrivals.waiting(queueing, now)
        self.arrivals.taken(count)
        state = self._outage.taken(now, queueing) if count else KEEP
        by_events = {name: slot for name, (own, slot) in queries.items() if slot >= 0 and own.drops_events}
        by_partial = {name: own for name, (own, _) in queries.items() if own.drops_partial_matches}
        alive = self.detector.partial_matches.get(_READER, {})
        if state == KEEP:
            self._forward(block, Decision(), sum(alive.values()), 0)
            return Shed(why="pass" if not count else "catch-up")
        if state == DROP:
            slots = [slot for own, slot in queries.values() if slot >= 0 and own.by != NONE]
            self._forward(block, Decision(1.0), sum(alive.values()), 0)
            return Shed(mask=_mask(np.ones(count, np.bool_), slots), share=1.0, why="outage")
        droppable = {name: alive.get(name, 0) for name in by_partial}
        at = Situation(
            queueing=queueing,
            flying=0.0,
            events=count,
            rate=self.arrivals.rate(now),
            waiting=max(waiting, float(count)),
            alive=sum(alive.values()),
            droppable=sum(droppable.values()),
        )
        decision = self._decider.decide(
            at, self.detector, events=bool(by_events), partial=at.droppable > 0, first="partial"
        )
        self._forward(block, decision, at.alive, at.droppable)
        orders = () if decision.keep is None else self._orders(decision.keep, droppable, by_partial, models)
        mask = None if decision.share <= 0 else self._mask(block, decision.share, by_events, models, queueing)
        return Shed(mask, orders, decision.share, "shed" if orders or mask is not None else "pass")

    def _forward(self, block: Block, decision: Decision, alive: int, droppable: int) -> None:
        left = alive if decision.keep is None else alive - droppable + decision.keep
        self.detector.forwarded(block.next_seq, len(block.columns) * (1 - decision.share), left)

    # ------------------------------------------------------------ partial matches

    def _orders(
        self, keep: int, alive: Mapping[str, int], traits: Mapping[str, Traits], models: Mapping[str, TransitionModel]
    ) -> tuple[Mapping[str, Any], ...]:
        """One order over all queries whose partial matches compare, one over those of which some are drawn."""
        self._worths.use(models, {name: self._weight(name, own) for name, own in traits.items()})
        worths = {name: self._worths.of(name, own.by) for name, own in traits.items() if alive[name]}
        total = sum(alive.values())
        orders = []
        for by in ("utility", "random"):
            group = {name: one for name, one in worths.items() if one["by"] == by}
            if group:
                share = sum(alive[name] for name in group) / total
                orders.append({"n": int(keep * share), "queries": group})
        return tuple(orders)

    def _weight(self, name: str, traits: Traits) -> float:
        return self.settings.weights.get(name, traits.weight)

    # ------------------------------------------------------------ events

    def _mask(
        self,
        block: Block,
        share: float,
        slots: Mapping[str, int],
        models: Mapping[str, TransitionModel],
        queueing: float,
    ) -> Bits | None:
        """The bits of the events that go; in spans that are exempt none does, while the bound can bear it."""
        seq = block.columns.seq
        gone = chance(self.settings.seed, seq) < share
        bearable = (1 + self.settings.start) / 2 * self.settings.bound
        if queueing < bearable:
            gone &= ~exempt(self.settings.seed, seq, _span(models), self.settings.exempt)
        return _mask(gone, list(slots.values()))


def _span(models: Mapping[str, TransitionModel]) -> int:
    longest = max((model.expected_events for model in models.values()), default=0.0)
    return max(_SPAN, int(_WINDOWS_A_SPAN * longest))


def _mask(gone: NDArray[np.bool_], slots: list[int]) -> Bits | None:
    if not slots or not gone.any():
        return None
    bits = np.uint64(sum(1 << slot for slot in slots))
    return np.where(gone, bits, np.uint64(0))
