"""The decision of a block (P7, G7): the share of its events to drop, and the number of partial matches to keep.

It is algorithm 1 of pSPICE with the block as its unit. A block is in time if three times fit LB - b_s: the queueing
latency of its oldest event, the work in flight, and its own processing. If not, as many partial matches are kept as
fit. As printed in the paper, none are kept once the queue alone has reached LB - b_s: one pause of the machine would
cost all. So between LB - b_s and LB a block gets a falling share of the time in which its events came, and a tenth of
it in the last quarter and beyond. The queue then shrinks by itself, and the safety buffer serves its purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saffron.engine.shed.load.drop_share import drop_share
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.load.speed import Speed

_LEAST_LEFT = 0.1
"""The least budget of a block, even beyond the bound, as a share of the time in which its events came."""
_UNTOUCHED = 0.25
"""The part of the safety buffer that is kept for surprises: below it only the least budget is given."""
_MOST_OF_BUFFER = 0.4
"""The most of the safety buffer that one block may use."""
_NOTHING_MS = 1e-6
"""The rounding error (ms) up to which partial matches have nothing to save."""
_WORTHWHILE = 0.5
"""The least share of a block's saving for which partial matches are dropped, if events can save all of it. Below it
hardly any time depends on them, and they would be lost to the rest of their windows.
"""
_MOST_BUFFER = 0.5
"""The greatest safety buffer, as a share of the bound."""


@dataclass(frozen=True)
class Situation:
    """A block and the state that one reader will meet it in. Times in ms.

    `queueing`: l_q of its oldest event, and the wait of its results for their commit. `events`: its own. `rate`: events
    a ms that come. `waiting`: events that wait, its own included. `flying`: work forwarded and not yet done. `alive`:
    n. `droppable`: the part of n whose time dropping all partial matches that may go would save. `met`: the partial
    matches that its events are expected to meet, n if nothing is in flight. `reach`: the share of the time that
    dropping all events that may go would save, as other queries keep theirs.
    """

    queueing: float
    events: int
    rate: float
    waiting: float
    flying: float = 0.0
    alive: int = 0
    droppable: int = 0
    met: float = 0.0
    reach: float = 1.0


@dataclass(frozen=True)
class Decision:
    """A decision on one block.

    `share`: of the block's time, to be saved by dropping events. `keep`: the greatest number of droppable partial
    matches to keep; None: all.
    """

    share: float = 0.0
    keep: int | None = None


PASS = Decision()

OfShare = Callable[[float], float]


@dataclass
class Decider:
    """Decides for block after block. `dropping`: events are being dropped (G7's hysteresis). `mean`: an event's ms.

    Dropping of events begins when the block's latency reaches `start` of the bound, and ends below half of that. In
    between the share follows the backlog, and falls to 0 when the load does. Those that lose nothing go above half of
    that, too, so that all that the queue may hold is there for a burst.
    """

    settings: Overload
    dropping: bool = False
    mean: float | None = None

    def decide(
        self, at: Situation, speed: Speed, *, events: bool, partial: bool, split: OfShare, lossless: OfShare
    ) -> Decision:
        """The decision for one block: how much to drop, so that it fits its budget and the backlog ends in time.

        `events`, `partial`: what may be dropped. `split`: share of the time to be saved -> the part of it (0 to 1) that
        dropping events saves, where both may be dropped; partial matches save the rest. `lossless`: share of the time
        -> the greatest one that dropping events saves while it loses no more.

        The plan for an interval sets the share of the time to be saved. A late block may need more, which is divided as
        the plan is. Without a plan events save all of it, if they may: for the sake of one block a partial match would
        be lost to the rest of its window. More events than the split says are dropped in two cases: it loses nothing,
        or the block exceeds its budget even without its droppable partial matches. These stay if all of them would save
        less than half of what must be saved, and events can save all of it.
        """
        settings = self.settings
        each = speed.processing(at.met)
        latency = at.queueing + at.flying + at.events * each
        threshold = settings.start * settings.bound
        self.dropping = events and latency > (threshold / 2 if self.dropping else threshold)
        mean = self._smoothed(each, at)
        planned = 0.0
        if self.dropping and mean > 0:
            planned = drop_share(
                backlog=at.waiting,
                rate=at.rate,
                capacity=1 / mean,
                interval=settings.horizon,
                slack=max(0.0, threshold - at.flying),
            )
        budget = self._budget(at, self._buffer(at, speed))
        wanted = max(planned, _to_fit(at, each, budget)) if events else 0.0
        share = min(at.reach, wanted * split(planned) if partial and planned > 0 else wanted)
        if share > 0 or (events and latency > threshold / 2):
            share = lossless(share)
        keep = self._keep(at, speed, share, budget, events=events) if partial else None
        if events:
            alive = at.met if keep is None else at.alive - at.droppable + keep
            share = min(at.reach, max(share, _to_fit(at, speed.processing(alive), budget)))
        return PASS if share == 0 and keep is None else Decision(share, keep)

    def _smoothed(self, each: float, at: Situation) -> float:
        """An event's time over the last half of an interval: a plan for an interval does not follow each burst."""
        if self.mean is None:
            self.mean = each
        passed = at.events / at.rate if at.rate > 0 else 0.0
        self.mean += (each - self.mean) * passed / (passed + self.settings.horizon / 2)
        return self.mean

    def _buffer(self, at: Situation, speed: Speed) -> float:
        """The safety buffer b_s (ms), up to half of the bound: the greatest of three times.

        They are the share that was set, the recent excess of blocks over their expected times, and the work in flight,
        which no decision affects any more.
        """
        settings = self.settings
        return min(_MOST_BUFFER * settings.bound, max(settings.bound - settings.limit, speed.overshoot, at.flying))

    def _budget(self, at: Situation, buffer: float) -> float:
        """The time (ms) that the block may take."""
        bound = self.settings.bound
        waited = at.queueing + at.flying
        above = (bound - waited) / buffer
        left = min(1.0, _LEAST_LEFT + (1 - _LEAST_LEFT) * max(0.0, (above - _UNTOUCHED) / (1 - _UNTOUCHED)))
        span = min(at.events / at.rate if at.rate > 0 else 0.0, _MOST_OF_BUFFER * buffer)
        return max(bound - buffer - waited, span * left)

    def _keep(self, at: Situation, speed: Speed, share: float, budget: float, *, events: bool) -> int | None:
        """The number of droppable partial matches that may stay, so that the remaining events fit the budget (ms).

        `share`: of the block's events that go. None: all may stay, also where events can save all of it and partial
        matches save too little (`_WORTHWHILE`).
        """
        staying, each = at.events * (1 - share), speed.processing(at.met)
        if staying * each <= budget + _NOTHING_MS:
            return None
        wanted, others = (budget - speed.shedding(at.alive)) / staying, at.alive - at.droppable
        worthwhile = each - speed.processing(others) >= _WORTHWHILE * (each - wanted)
        if not worthwhile and events and _to_fit(at, each, budget) <= at.reach:
            return None
        keep = max(0, speed.affordable(wanted, at.alive) - others)
        return keep if keep < at.droppable else None


def _to_fit(at: Situation, each: float, budget: float) -> float:
    """The share that must go for the block to fit its budget, whatever was planned."""
    if at.events * each <= budget:
        return 0.0
    return 1.0 - max(0.0, budget) / (at.events * each)
