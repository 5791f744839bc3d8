"""The shedding of one chain: from the state of the queue to the masks and orders in a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.shed.belief.beliefs import Beliefs, Believed
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.utility_tables import UtilityTables
from saffron.engine.shed.event_masks import Masked, mask_all, mask_events, note_trials
from saffron.engine.shed.keep_orders import keep_orders
from saffron.engine.shed.known import Known, Queries, known_of
from saffron.engine.shed.load.arrivals import Arrivals
from saffron.engine.shed.load.decision import PASS, Decider, Decision, Situation
from saffron.engine.shed.load.detector import READER, Detector
from saffron.engine.shed.load.outage import DROP, KEEP, Outage
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.means import Means

_MOST_COMMIT = 0.5
"""The most of the bound that is left to commits: a longer commit shortens when there are fewer results."""


@dataclass(frozen=True)
class Shed:
    """The decision on a block. `orders`: bodies of "keep" records. `share`: of the work, planned to be saved by
    dropping events. `why`: for statistics."""

    events: Masked = Masked()
    orders: tuple[Mapping[str, Any], ...] = ()
    share: float = 0.0
    why: str = "pass"

    @property
    def keep(self) -> int | None:
        """Partial matches that may stay, over all orders; None: all."""
        return sum(int(order["n"]) for order in self.orders) if self.orders else None


@dataclass
class Shedding:
    """The state of one chain. Times are ms of the caller's clock."""

    settings: Overload
    detector: Detector
    events: EventDrops
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        self._outage = Outage(self.settings)
        self._means = Means(UtilityTables(self.settings.seed))
        self._deciders: dict[str, Decider] = {}
        self._ordered: deque[tuple[int, int]] = deque()
        self.beliefs = Beliefs()
        self.believed: dict[str, Believed] = {}

    def may_follow(self, done: int) -> bool:
        """True if the work forwarded behind this position leaves room for more."""
        return not self.detector.is_blind and self.detector.flying(done) <= self.settings.ahead(self.detector.idle)

    def plan(self, block: Block, queueing: float, now: float, queries: Queries, in_flight: int = 0) -> Shed:
        """The decision on the next block, whose oldest event has waited `queueing`. `in_flight`: events before it that
        were forwarded and are not done."""
        count = len(block.columns)
        if self.arrivals.known < count:
            self.arrivals.arrived(count, now - queueing)
        waiting = max(float(count), self.arrivals.waiting(queueing, now))
        self.arrivals.taken(count)
        self.believed = {
            name: self.beliefs.of(name, own.by, queries.models.get(name), self.events, queries.length(name))
            for name, own in queries.traits.items()
        }
        known = known_of(self.settings, self.detector, self.events, queries, self.believed)
        done = block.first_seq - in_flight
        at = Situation(queueing, events=count, rate=self.arrivals.rate(now), waiting=waiting)
        state = self._outage.taken(now, queueing) if count else KEEP
        here = self._situation(known, READER, at, block.first_seq, done)
        decisions: dict[str, Decision] = {}
        if state == KEEP:
            shed = Shed(why="catch-up" if count else "pass")
        elif state == DROP:
            dropped = mask_all(block, queries)
            shed = Shed(dropped, share=float(dropped.mask is not None), why="outage")
        else:
            decisions = {READER: self._decide(known, READER, here)}
            for reader in known.costs:
                if reader != READER:
                    situation = self._situation(known, reader, at, block.first_seq, done)
                    decisions[reader] = self._decide(known, reader, situation)
            shed = self._shed(known, block, decisions, queueing)
        self._forward(block, here, decisions.get(READER, PASS).keep, _seen(shed, queries), in_flight)
        return shed

    def _situation(self, known: Known, reader: str, at: Situation, position: int, done: int) -> Situation:
        """The situation in which a reader will take the block: all between `done` and `position` is in flight."""
        pace, alive = self.detector.pace(reader), self.detector.alive_of(reader)
        gone = self._gone(alive, done, position) if reader == READER else 0
        left = alive - gone
        return replace(
            at,
            queueing=at.queueing + min(pace.commit, _MOST_COMMIT * self.settings.bound),
            flying=pace.flying(done),
            alive=left,
            droppable=max(0, known.within - gone) if reader == READER else 0,
            met=self.detector.expected(reader, left) if reader == READER and position > done else float(left),
            reach=known.share(reader, known.queries.by_events),
        )

    def _decide(self, known: Known, reader: str, at: Situation) -> Decision:
        """A reader's decision on the next block: the share of its time that dropped events save, and how many partial
        matches stay. Each reader has a `Decider`, which each of its blocks updates.
        """
        return self._deciders.setdefault(reader, Decider(self.settings)).decide(
            at,
            self.detector.speed(reader),
            events=at.reach > 0,
            partial=at.droppable > 0,
            split=lambda share: self._means.split(known, share),
            lossless=lambda share: self._means.lossless(known, reader, share),
        )

    def _shed(self, known: Known, block: Block, decisions: Mapping[str, Decision], queueing: float) -> Shed:
        """The masks and orders that carry out the readers' decisions on a block.

        `queueing`: the block's wait (ms). Trials of the planned drops are noted for the beliefs.
        """
        keep = decisions[READER].keep
        saved = {reader: decision.share for reader, decision in decisions.items() if decision.share > 0}
        if keep is None and not saved:
            return Shed()
        shares = self._means.shares(known, saved)
        note_trials(known, block, shares, self.beliefs)
        orders = () if keep is None else keep_orders(known, keep, self._means.tables)
        dropped = mask_events(known, block, shares, queueing) if saved else Masked()
        return Shed(dropped, orders, max(saved.values(), default=0.0), "shed")

    def _gone(self, alive: int, done: int, position: int) -> int:
        """The number of partial matches that orders in flight drop, of those `alive` at `done`.

        Partial matches that begin until `position` are subtracted.
        """
        while self._ordered and self._ordered[0][0] <= done:
            self._ordered.popleft()
        born = self.detector.pace(READER).born
        left = min((left + round(born * (position - at)) for at, left in self._ordered), default=alive)
        return max(0, alive - left)

    def _forward(
        self, block: Block, at: Situation, keep: int | None, seen: Mapping[str, float], in_flight: int
    ) -> None:
        """`seen`: by query, the share of its events that are not masked."""
        met = at.met
        if keep is not None:
            left = at.alive - at.droppable + keep
            met = min(met, left)
            self._ordered.append((block.next_seq, left))
        elif in_flight:
            self.detector.behind_others(READER, block.next_seq, at.alive)
        self.detector.forwarded(block.next_seq, at.events, met, seen)


def _seen(shed: Shed, queries: Queries) -> dict[str, float]:
    """The share of events that are not masked, by query."""
    return {name: 1.0 - shed.events.masked.get(name, 0.0) for name in queries.slots}
