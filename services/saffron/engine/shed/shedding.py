"""One chain's shedding: from the state of the queue to what is written into a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.belief.belief import SHARE, beyond
from saffron.engine.shed.belief.beliefs import Beliefs, Believed
from saffron.engine.shed.drops.allocation import Candidate, allocate
from saffron.engine.shed.drops.chance import exempt
from saffron.engine.shed.drops.evenly import UNKNOWN
from saffron.engine.shed.drops.event_drops import EVENTS_A_MATCH, LEARNED, EventDrops
from saffron.engine.shed.drops.loss_curve import LossCurve
from saffron.engine.shed.drops.lossless import ENOUGH, LosslessShares
from saffron.engine.shed.drops.splits import Droppable, Splits
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.drops.utility_tables import UtilityTables
from saffron.engine.shed.load.arrivals import Arrivals
from saffron.engine.shed.load.decision import PASS, Decider, Decision, Situation
from saffron.engine.shed.load.detector import READER, Detector
from saffron.engine.shed.load.outage import DROP, KEEP, Outage
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.losses.losses import Correction
from saffron.language.cost.shedding import NONE

Bits = NDArray[np.uint64]
_SPAN = 65_536
"""Events of a span that is exempt as a whole, where windows are not known."""
_LEAST_SPAN, _WINDOWS_A_SPAN = 256, 4
_AS_PROMISED = Correction()
"""Of queries of which nothing was measured."""
_LEAST_SHARE = 0.1
"""Least share of the time at which means are compared: curves of loss have points 1/64 apart, and below this only a few
of them tell the means apart."""
_COARSE = 8
"""Means are compared anew where a query's share of the time has moved by an eighth or so."""
_MOSTLY = 0.5
"""Belief from which on partial matches of a query compare with those of others."""
_FOLLOWED_MORE = 4.0
"""How many times more partial matches are followed where all that go are drawn: that costs nothing, and tells sooner
whether the model is right."""
_MOST_COMMIT = 0.5
"""Of the bound, that is left to commits at most: what takes longer gets shorter when there are fewer results."""


@dataclass(frozen=True)
class Queries:
    """The queries in force and not paused: traits, slots in `Columns.dropped` (-1: none), transition models;
    `corrections`: what was measured of the losses that models promise, where it is known."""

    traits: Mapping[str, Traits]
    slots: Mapping[str, int]
    models: Mapping[str, TransitionModel]
    corrections: Mapping[str, Correction] = field(default_factory=dict)

    @property
    def by_events(self) -> list[str]:
        """Those that may lose events."""
        return [name for name, own in self.traits.items() if own.drops_events and self.slots[name] >= 0]

    @property
    def by_partial(self) -> list[str]:
        """Those that may lose partial matches."""
        return [name for name, own in self.traits.items() if own.drops_partial_matches]

    @property
    def at_all(self) -> list[str]:
        """Those that may lose anything, and so all of a backlog."""
        return [name for name, own in self.traits.items() if own.by != NONE and self.slots[name] >= 0]


@dataclass(frozen=True)
class Shed:
    """What was decided of a block.

    `mask`: bits to set in `Columns.dropped`, None: no event goes. `orders`: bodies of "keep" records. `share`: of the
    work, planned to be saved by dropping events. `gone`: of what each query's matches need of the block, the part that
    goes, and `promised`: the part that the choice of means counted with. `masked`: the share of a query's events that
    goes; `false`: matches too many for each true one, as models expect. `why`: for statistics.
    """

    mask: Bits | None = None
    orders: tuple[Mapping[str, Any], ...] = ()
    share: float = 0.0
    gone: Mapping[str, float] = field(default_factory=dict)
    masked: Mapping[str, float] = field(default_factory=dict)
    false: Mapping[str, float] = field(default_factory=dict)
    promised: Mapping[str, float] = field(default_factory=dict)
    why: str = "pass"

    @property
    def keep(self) -> int | None:
        """Partial matches that may stay, over all orders; None: all."""
        return sum(int(order["n"]) for order in self.orders) if self.orders else None


@dataclass
class _Plan:
    """What is kept of one reader's decisions."""

    decider: Decider
    splits: Splits = field(default_factory=Splits)
    lossless: LosslessShares = field(default_factory=LosslessShares)


@dataclass
class Shedding:
    """State of one chain. Times in ms of the caller's clock; what comes in are arguments only."""

    settings: Overload
    detector: Detector
    events: EventDrops
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        self._outage = Outage(self.settings)
        self._tables = UtilityTables(self.settings.seed)
        self._plans: dict[str, _Plan] = {}
        self._by: tuple[object, ...] = ()
        self._costs: Mapping[str, Mapping[str, float]] = {}
        self._curves: dict[str, LossCurve] = {}
        self._ordered: deque[tuple[int, int]] = deque()
        self.beliefs = Beliefs()
        self.believed: dict[str, Believed] = {}

    def may_follow(self, done: int) -> bool:
        """Whether what was forwarded behind this position leaves room for more."""
        return not self.detector.is_blind and self.detector.flying(done) <= self.settings.ahead(self.detector.idle)

    def plan(self, block: Block, queueing: float, now: float, queries: Queries, in_flight: int = 0) -> Shed:
        """What to do with the next block, whose oldest event has waited `queueing`. `in_flight`: events before it that
        were forwarded and are not done."""
        count = len(block.columns)
        if self.arrivals.known < count:
            self.arrivals.arrived(count, now - queueing)
        waiting = max(float(count), self.arrivals.waiting(queueing, now))
        self.arrivals.taken(count)
        self._costs = self._costs_of(queries)
        self.believed = {
            name: self.beliefs.of(name, own.by, queries.models.get(name), self.events, _length(name, queries))
            for name, own in queries.traits.items()
        }
        done = block.first_seq - in_flight
        at = Situation(queueing, events=count, rate=self.arrivals.rate(now), waiting=waiting)
        state = self._outage.taken(now, queueing) if count else KEEP
        here = self._met(READER, at, block.first_seq, done, queries)
        decisions: dict[str, Decision] = {}
        if state == KEEP:
            shed = Shed(why="catch-up" if count else "pass")
        elif state == DROP:
            shed = self._drop_all(block, queries)
        else:
            met = {name: self._met(name, at, block.first_seq, done, queries) for name in self._costs if name != READER}
            decisions = {name: self._decide(name, one, queries) for name, one in {READER: here, **met}.items()}
            shed = self._shed(block, decisions, queries, queueing)
        self._forward(block, here, decisions.get(READER, PASS).keep, _seen(shed, queries), in_flight)
        return shed

    def _met(self, reader: str, at: Situation, position: int, done: int, queries: Queries) -> Situation:
        """The block as a reader will meet it: behind `done` all up to `position` is in flight."""
        costs, pace = self._costs.get(reader, {}), self.detector.pace(reader)
        alive = self.detector.alive_of(reader)
        gone = self._gone(alive, done, position) if reader == READER else 0
        known = alive - gone
        return replace(
            at,
            queueing=at.queueing + min(pace.commit, _MOST_COMMIT * self.settings.bound),
            flying=pace.flying(done),
            alive=known,
            droppable=max(0, self._within(queries) - gone) if reader == READER else 0,
            met=self.detector.expected(reader, known) if reader == READER and position > done else float(known),
            reach=_share(costs, queries.by_events),
        )

    def _decide(self, reader: str, at: Situation, queries: Queries) -> Decision:
        return self._plan_of(reader).decider.decide(
            at,
            self.detector.speed(reader),
            events=at.reach > 0,
            partial=at.droppable > 0,
            split=lambda share: self._split(queries, share),
            lossless=lambda share: self._raised(reader, queries, share),
        )

    def _plan_of(self, reader: str) -> _Plan:
        return self._plans.setdefault(reader, _Plan(Decider(self.settings)))

    def _split(self, queries: Queries, share: float) -> float:
        """Where both may go: the part of what is to be saved that dropping events saves best."""
        self._use(queries)
        share = max(_LEAST_SHARE, share)
        splits = self._plan_of(READER).splits
        return splits.split(share, lambda: (self._candidates(READER, queries), self._droppable(queries)))

    def _raised(self, reader: str, queries: Queries, share: float) -> float:
        """The share of the time that dropping events may save where this one is to be saved, and no more be lost: where
        little is known, by what the queries cannot take."""
        names = self._of(reader, queries.by_events)
        if not all(self._is_known(name) for name in names):
            known = [name for name in names if queries.traits[name].by in LEARNED]
            spare = sum(self.events.taking.spare_now(name) * self._costs[reader][name] for name in known)
            return max(share, spare)
        self._use(queries)
        reach = _share(self._costs[reader], names)
        lossless = self._plan_of(reader).lossless
        return reach * lossless.share(min(1.0, share / reach), lambda: self._candidates(reader, queries))

    def _is_known(self, name: str) -> bool:
        """Whether enough is known, and believed, of what the query's events are worth."""
        model = self.events.models.get(name)
        return model is not None and model.matches >= ENOUGH and self.believed[name].events == 1.0

    def _droppable(self, queries: Queries) -> dict[str, Droppable]:
        return {
            name: Droppable(
                self._tables.curve(name, queries.traits[name].by),
                self._worth(name, queries),
                self._costs[READER][name],
                queries.corrections.get(name, _AS_PROMISED).partial,
                self.believed[name].partial,
            )
            for name in self._droppable_of(queries)
        }

    def _droppable_of(self, queries: Queries) -> list[str]:
        """Queries of the matcher whose partial matches may go, and of which some are alive."""
        alive = self.detector.partial_matches.get(READER, {})
        return [name for name in self._of(READER, queries.by_partial) if alive.get(name, 0) > 0]

    def _within(self, queries: Queries) -> int:
        """Partial matches of the mean cost that take as long as all that may go."""
        costs = self._costs.get(READER, {})
        return round(self.detector.alive_of(READER) * _share(costs, self._droppable_of(queries)))

    def _of(self, reader: str, names: Sequence[str]) -> list[str]:
        """Those that a reader has told of."""
        return [name for name in names if name in self._costs.get(reader, {})]

    def _gone(self, alive: int, done: int, position: int) -> int:
        """Of the partial matches that were alive at `done`, those that orders behind it, in flight, let go, less those
        that will have come instead until `position`."""
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

    def _use(self, queries: Queries) -> None:
        self._tables.use(queries.models, {name: self._weight(name, queries) for name in queries.traits})
        partial = ((name, one.query_version, one.version) for name, one in queries.models.items())
        events = ((name, one.query_version, one.version) for name, one in self.events.models.items())
        costs = [round(_COARSE * cost) for own in self._costs.values() for cost in own.values()]
        measured = (*queries.corrections.items(), *self.believed.items())
        taking = ((self.events.even(name, own.by), self._errors(name, queries)) for name, own in queries.traits.items())
        known: tuple[object, ...] = (*partial, None, *events, *measured, *queries.traits.items(), *costs, *taking)
        if known != self._by:
            self._by = known
            self._curves.clear()
            for plan in self._plans.values():
                plan.splits.forget()
                plan.lossless.forget()

    def _costs_of(self, queries: Queries) -> dict[str, dict[str, float]]:
        """By reader and query in force: the share of the reader's time. While none has told, all alike are one's."""
        readers = self.detector.readers
        if not readers:
            return {READER: dict.fromkeys(queries.traits, 1 / max(1, len(queries.traits)))}
        return {reader: self.detector.costs(reader, queries.traits) for reader in readers}

    def _weight(self, name: str, queries: Queries) -> float:
        return self.settings.weights.get(name, queries.traits[name].weight)

    def _worth(self, name: str, queries: Queries) -> float:
        """Its weight times its matches an event, where they are known."""
        model = self.events.models.get(name)
        rate = model.matches / model.observations if model is not None and model.observations else 1.0
        return self._weight(name, queries) * rate

    # ------------------------------------------------------------ partial matches

    def _orders(self, keep: int, queries: Queries) -> tuple[Mapping[str, Any], ...]:
        """`keep`: of partial matches that cost as much as the mean. One order over all queries whose partial matches
        compare and whose models are believed, one over those that are hardly believed, one over those without."""
        self._use(queries)
        alive = self.detector.partial_matches.get(READER, {})
        names = self._droppable_of(queries)
        whole = sum(alive[name] for name in names)
        keep = keep * whole // self._within(queries)
        tables = {name: self._tables.of(name, queries.traits[name].by) for name in names}
        orders = []
        for believed in (True, False, None):
            group = {name: one for name, one in tables.items() if self._is_believed(name, one) is believed}
            if group:
                within = sum(alive[name] for name in group)
                evenly = 1.0 - sum(alive[name] * self.believed[name].partial for name in group) / within
                drawn = {"evenly": evenly} if believed is not None and evenly > 0 else {}
                more = 1.0 + _FOLLOWED_MORE * drawn.get("evenly", 0.0)
                exempt = {
                    "exempt": self.settings.spared,
                    "exempt_seed": self.settings.seed,
                    "followed": self.settings.followed * more,
                }
                orders.append({"n": int(keep * within / whole), **exempt, **drawn, "queries": group})
        return tuple(orders)

    def _is_believed(self, name: str, table: Mapping[str, Any]) -> bool | None:
        """None: it has no order but a draw."""
        return None if table["by"] == "random" else self.believed[name].partial >= _MOSTLY

    # ------------------------------------------------------------ events

    def _candidates(self, reader: str, queries: Queries) -> dict[str, Candidate]:
        return {
            name: Candidate(
                self._curve(name, queries),
                self._worth(name, queries),
                self._costs[reader][name],
                _length(name, queries),
                queries.corrections.get(name, _AS_PROMISED).events,
                self._errors(name, queries),
                self._begun(name, queries),
            )
            for name in self._of(reader, queries.by_events)
        }

    def _errors(self, name: str, queries: Queries) -> float:
        """How many errors a match is that dropped events lose (G10): none takes its stead where none can."""
        errors = queries.traits[name].errors
        return 1.0 + (errors - 1.0) * self.events.taking.replaced(name)

    def _begun(self, name: str, queries: Queries) -> LossCurve | None:
        """The share of partial matches that do not begin, by the share of events that goes."""
        even = self.events.even(name, queries.traits[name].by)
        if even is UNKNOWN:
            return None
        length = _length(name, queries)
        return even.not_begun.towards(self._curve(name, queries).of_each(length), self.believed[name].events)

    def _curve(self, name: str, queries: Queries) -> LossCurve:
        """What dropping its events loses, with what was measured of such promises."""
        at_random = queries.corrections.get(name, _AS_PROMISED).at_random
        known = self._curves.get(name)
        if known is None:
            believed = self._believed_curve(name, queries)
            known = self._curves[name] = believed.towards_random(at_random, _length(name, queries))
        return known

    def _believed_curve(self, name: str, queries: Queries) -> LossCurve:
        """What dropping its events loses, as far as the model is believed, and else as even dropping does."""
        by = queries.traits[name].by
        promised, evenly = self.events.curve(name, by), self.events.even(name, by).curve(_length(name, queries))
        return promised.towards(evenly, 1.0 - self.believed[name].events)

    def _shed(self, block: Block, decisions: Mapping[str, Decision], queries: Queries, queueing: float) -> Shed:
        keep = decisions[READER].keep
        orders = () if keep is None else self._orders(keep, queries)
        saved = {reader: decision.share for reader, decision in decisions.items() if decision.share > 0}
        if not saved:
            if orders:
                self._try(block, {}, queries)
            return Shed(orders=orders, why="shed" if orders else "pass")
        seq = block.columns.seq
        kept = np.zeros(len(seq), np.bool_)
        # Spans are exempt until the wait is halfway from where dropping begins to the bound: then time is too short.
        if queueing < (1 + self.settings.start) / 2 * self.settings.bound:
            kept = exempt(self.settings.seed, seq, _span(queries.models), self.settings.exempt)
        mask, gone, masked, false, left = np.zeros(len(seq), np.uint64), {}, {}, {}, float(1 - kept.mean())
        promised = {}
        shares = self._shares(saved, queries)
        self._try(block, shares, queries)
        for name, share in shares.items():
            traits = queries.traits[name]
            marks = self.events.marks(block.columns, name, traits, share, self.believed[name].events)
            going = marks & ~kept
            mask[going] |= np.uint64(1 << queries.slots[name])
            masked[name] = float(going.mean())
            gone[name] = self._parts(name, share, marks, queries) * left
            false[name] = self.events.false(name, traits.by, share) * left
            lost = self._believed_curve(name, queries).at(share)
            promised[name] = (1.0 - (1.0 - lost) ** (1.0 / _length(name, queries))) * left
        return Shed(mask if mask.any() else None, orders, max(saved.values()), gone, masked, false, promised, "shed")

    def _parts(self, name: str, share: float, marks: NDArray[np.bool_], queries: Queries) -> float:
        """Of what the query's matches need of the block, the part that goes with the marked events: as models say, as
        far as they are believed, and as even dropping loses for the rest."""
        by, length, belief = queries.traits[name].by, _length(name, queries), self.believed[name].events
        parts = self.events.parts(name, by, share, marks, length)
        even = self.events.even(name, by)
        if belief == 1.0 or even is UNKNOWN:
            return parts
        evenly = 1.0 - (1.0 - even.lost(share, length)) ** (1.0 / length)
        return float(belief * parts + (1.0 - belief) * evenly)

    def _try(self, block: Block, shares: Mapping[str, float], queries: Queries) -> None:
        """Remember which events learned orders alone would drop, for trials of them."""
        for name in queries.by_events:
            traits = queries.traits[name]
            if name in self.events.models and traits.by in LEARNED:
                even = self.events.even(name, traits.by)
                least = beyond(even.spare, SHARE) if even.spare > 0 else 0.0
                share = max(shares.get(name) or SHARE, least)
                goes = self.events.marks(block.columns, name, traits, share)
                self.beliefs.saw(name, block.columns.seq, goes, even, queries.models.get(name))

    def _shares(self, saved: Mapping[str, float], queries: Queries) -> dict[str, float]:
        """By query the share of its events to drop, so that each reader saves this share of its time."""
        self._use(queries)
        shares: dict[str, float] = {}
        for reader, share in saved.items():
            candidates = self._candidates(reader, queries)
            shares |= allocate(candidates, min(1.0, share / sum(one.cost for one in candidates.values())))
        return shares

    def _drop_all(self, block: Block, queries: Queries) -> Shed:
        bits = np.uint64(sum(1 << queries.slots[name] for name in queries.at_all))
        mask = np.full(len(block.columns), bits, np.uint64) if bits else None
        all_of = dict.fromkeys(queries.at_all, 1.0)
        return Shed(mask, share=float(bits > 0), gone=all_of, masked=all_of, why="outage")


def _length(name: str, queries: Queries) -> float:
    """Events of a match."""
    return float(queries.models[name].length) if name in queries.models else EVENTS_A_MATCH


def _share(costs: Mapping[str, float], names: Sequence[str]) -> float:
    """Of a reader's time, what these of its queries take."""
    return min(1.0, sum(costs.get(name, 0.0) for name in names))


def _seen(shed: Shed, queries: Queries) -> dict[str, float]:
    """By query, the share of events that are not masked."""
    return {name: 1.0 - shed.masked.get(name, 0.0) for name in queries.slots}


def _span(models: Mapping[str, TransitionModel]) -> int:
    """A span is much shorter than a stream, and much longer than windows, of which it is to hold some whole."""
    if not models:
        return _SPAN
    return max(_LEAST_SPAN, int(_WINDOWS_A_SPAN * max(model.expected_events for model in models.values())))
