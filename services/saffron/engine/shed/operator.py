"""The shedder of one chain: takes blocks of `windows`, decides, and gives the blocks of `admitted`.

Pure: the time, the block's own append time and the readers' load come in as arguments. What it decides it writes into
the block, so that everything behind it only reads: the same blocks give the same results, however often they are read.
Without a bound (`overload`) every event passes; drop orders for partial matches may be given from outside by `order`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.features import FeatureSpec, Pane
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.shed.belief.belief import Belief
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.forced import NO_UTILITY, Forced
from saffron.engine.shed.drops.plans import Plans
from saffron.engine.shed.drops.shedders import SHEDDERS, Shedder
from saffron.engine.shed.drops.view import View
from saffron.engine.shed.known import Queries, length_of
from saffron.engine.shed.load.detector import Detector, Estimate
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.load_of_now import load_of_now
from saffron.engine.shed.losses.event_losses import Extent
from saffron.engine.shed.losses.losses import Losses
from saffron.engine.shed.losses.shed_counts import OUTAGE, OVERLOAD, ShedCounts
from saffron.engine.shed.observing import Observing
from saffron.engine.shed.offered import Offered
from saffron.engine.shed.shedding import Shed, Shedding
from saffron.language.plan.match_plan import MatchPlan


class ShedderOperator:
    """The shedder's state of one chain. Equal calls in equal order give equal blocks."""

    def __init__(
        self,
        partition: int,
        stream: str,
        overload: Overload | None = None,
        *,
        observes: Pane | None = None,
        shedders: Mapping[str, Shedder] = SHEDDERS,
    ) -> None:
        """`observes`: events carry keys of features that it chooses, with this pane, for models to learn from.
        `shedders`: by the names that records of queries give."""
        self.partition = partition
        self.stream = stream
        self._counter = 0
        self._next_seq = 0
        self._began = 0
        self._input: dict[str, int] = {"windows": -1, "models": 0}
        self._view = View(shedders=shedders)
        self._offered = Offered(stream)
        self._detector = Detector()
        self._forced = Forced(f"{stream}/{partition}")
        self._estimate = Estimate(None, None)
        seed = 0 if overload is None else overload.seed
        self._events = EventDrops(seed)
        self._plans = Plans()
        self._observing = Observing(self._events, self._plans, observes, seed=seed)
        self._shedding = None if overload is None else Shedding(overload, self._detector, self._events)
        self._losses = Losses()
        self._decided = Shed()
        self._taken = 0
        self._shed = ShedCounts()

    @property
    def counter(self) -> int:
        """The counter that the next output block carries."""
        return self._counter

    @property
    def next_seq(self) -> int:
        """The next event to pass on."""
        return self._next_seq

    @property
    def input(self) -> Mapping[str, int]:
        """{"windows": offset of the last block taken (-1: none), "models": next offset in `models`}."""
        return self._input

    @property
    def has_queries(self) -> bool:
        """True if any query is in force and not paused."""
        return self._view.any_active

    # ------------------------------------------------------------ what comes in

    def apply(
        self,
        block: Block,
        *,
        now_ms: float,
        offset: int | None = None,
        appended_ms: float | None = None,
        in_flight: int = 0,
    ) -> Block:
        """The output block for the next input block (the shell has checked its claim and counter).

        `offset`: of the block in `windows` (without a log: counted up). `appended_ms`: when the broker appended it,
        from which the queueing latency is taken; None: no wait. `in_flight`: events forwarded before it that its
        readers have not done yet. The output's claim is 0: the shell stamps its own.
        """
        waited = 0.0 if appended_ms is None else float(max(0, now_ms - appended_ms))
        self._estimate = self._detector.estimate()
        self._input["windows"] = self._input["windows"] + 1 if offset is None else offset
        before = dict(self._view.queries)
        self._decided = self._decide(block, waited, now_ms, in_flight)
        admitted = replace(
            self._marked(block, self._decided.events.mask),
            claim=0,
            counter=self._counter,
            controls=self._controls(block, before),
            input=dict(self._input),
        )
        self._counter = admitted.next_counter
        self._next_seq = admitted.next_seq
        self._taken += len(block.columns)
        self._shed.add(
            admitted, self._view.slots, self._view.since, OUTAGE if self._decided.why == OUTAGE else OVERLOAD
        )
        return admitted

    def may_go(self, in_flight: int) -> bool:
        """True if the latency bound lets a block follow the `in_flight` events.

        What cannot be called back is at most `Overload.ahead`; it is one block before the cost of an event is known.
        """
        if self._shedding is None or in_flight == 0 or not self.has_queries:
            return True
        return self._shedding.may_follow(self._next_seq - in_flight)

    def arrived(self, events: int, appended_ms: float) -> None:
        """Record a block of so many events, appended to `windows`; in order, each before it is applied."""
        if self._shedding is not None:
            self._shedding.arrivals.arrived(events, appended_ms)

    def watch(self, spec: FeatureSpec) -> None:
        """Blocks carry the keys of these features from the next one on, for models of events to learn from."""
        self._observing.watch(spec)

    def observe(self, load: Mapping[str, Any], now_ms: float = 0.0) -> None:
        """Give a reader's message on `load` to the detector, as advice."""
        present = load_of_now(load, self._view)
        self._detector.observe(present, now_ms)
        self._losses.heard(present, self._earlier())
        if self._shedding is not None:
            self._shedding.beliefs.heard(present)

    def offer(self, key: bytes | None, value: bytes | None, offset: int) -> str | None:
        """A record of `models`; returns why it was refused, or None. A refused one leaves the last good model in force:
        one that is torn, older, or of a query with other states or another window than the one in force.

        A transition model comes into force, and is announced, with the next block if its query and version are.
        """
        self._input["models"] = max(self._input["models"], offset + 1)
        refused = self._offered.offer(key or b"", value, self._view)
        self._detector.model = self._offered.latency
        return refused

    def order(self, query: str, keep: object) -> None:
        """Order the matcher to keep at most `keep` partial matches of `query`, from the next block on.

        InputError: no such query is in force here, or `keep` is no whole number from 0 on. A second order before that
        block replaces it.
        """
        self._forced.take(query, keep, self._view.queries)

    # ------------------------------------------------------------ coming back

    def resume(self, block: Block) -> None:
        """Take over an own output block of the log; call in order, from the newest checkpoint record to the end."""
        for control in block.controls:
            self._apply(control)
            self._observing.resume(control, self._view)
        self._counter = block.next_counter
        self._next_seq = self._began = block.next_seq
        self._input = {name: int(block.input.get(name, start)) for name, start in (("windows", -1), ("models", 0))}

    def statistics(self) -> Mapping[str, Any]:
        """Counts and states for metrics and health: events taken, the detector's inputs (ms), models in force and
        refused.

        `missed`: by query the estimated share of its matches lost to dropped events and partial matches, over all
        events so far. `false`: the estimated share of found matches that are false. `expected`: the matches behind
        both. `believed`: the belief in learned orders, by means. `decision`, `share`, `keep`: the last ones.
        """
        return {
            "events": self._taken,
            "decision": self._decided.why,
            "share": self._decided.share,
            "processing_ms": self._estimate.processing,
            "shedding_ms": self._estimate.shedding,
            "partial_matches": self._detector.by_query(),
            "models": {query: list(version) for query, version in self._view.models.items()},
            "believed": self._believed(),
            "refused_models": dict(self._offered.refused),
            "missed": {query: self._losses.missed(query) for query in self._view.queries},
            "false": {query: self._losses.false(query) for query in self._view.queries},
            "expected": {query: self._losses.expected(query) for query in self._view.queries},
            "shed_events": {query: self._shed.of(query) for query in self._view.queries},
            "shed_by_reason": self.shed_by_reason(),
            "keep": self._decided.keep,
        }

    def shed_by_reason(self) -> dict[str, dict[str, int]]:
        """The number of events that each query's reader has not seen so far, by query and reason."""
        return {query: self._shed.by_reason(query) for query in self._view.queries}

    # ------------------------------------------------------------ inside

    def _believed(self) -> dict[str, Mapping[str, float]]:
        """The belief in learned orders, by query and means. Without a bound only the trials of the models count."""
        if self._shedding is None:
            models = (model for model in self._offered.transitions.values() if self._fits(model))
            return {model.query: {"partial": Belief().share(model.trials)} for model in models}
        return {query: own.by_means for query, own in self._shedding.believed.items() if own.learned}

    def _decide(self, block: Block, waited: float, now_ms: float, in_flight: int) -> Shed:
        """The decision on a block; without a bound all events pass. `waited`: the block's queueing latency (ms).

        The block's events are taken in for features and drops, and expected losses are added to the estimates.
        """
        events = {query: model for query, model in self._offered.events.items() if self._fits(model)}
        self._events.use(events)
        self._observing.take(block, self._view, events)
        plans: Mapping[str, MatchPlan] = {}
        if self._shedding is not None:
            plans = self._plans.of(self._view)
            self._events.taking.serve(plans)
        self._events.apply(block.columns, anew=any(control.kind == "checkpoint" for control in block.controls))
        if self._shedding is None:
            return Shed()
        models = {query: model for query, model in self._offered.transitions.items() if self._fits(model)}
        running = self._view.sheddable
        queries = Queries(
            {name: traits for name, (traits, _) in running.items()},
            {name: slot for name, (_, slot) in running.items()},
            models,
            {name: self._losses.correction(name) for name in running},
            {name: length_of(events.get(name), models.get(name), plans.get(name)) for name in running},
        )
        decided = self._shedding.plan(block, waited, now_ms, queries, in_flight)
        reaches = {query: model.expected_events / 4 for query, model in models.items()}
        extents = {name: Extent(queries.length(name), reaches.get(name, 1.0)) for name in running}
        contributed = {name: self._events.contribution(name, len(block.columns)) for name in running}
        ends = block.first_seq, block.next_seq
        dropped, alive = decided.events, self._detector.by_query()
        self._losses.add(ends, contributed, alive, dropped.gone, extents, dropped.fitting, dropped.promised)
        self._losses.let_on(contributed, dropped.false)
        return decided

    def _marked(self, block: Block, mask: NDArray[np.uint64] | None) -> Block:
        """The block with the masks of its events, and their keys."""
        columns, watched = block.columns, self._events.watched()
        if mask is not None:
            mask = _of_queries_before(mask, block)
            columns = replace(columns, dropped=mask if columns.dropped is None else columns.dropped | mask)
        if watched is None:
            return block if mask is None else replace(block, columns=columns)
        return replace(block, columns=replace(columns, key=watched[0]), features=watched[1])

    def _controls(self, block: Block, before: Mapping[str, int]) -> tuple[Control, ...]:
        """The block's controls with the own ones behind those at its first position. `before`: the queries for which
        the block was decided, with their versions."""
        head = sum(control.position == block.first_seq for control in block.controls)
        passed = [self._pass(control) for control in block.controls[:head]]
        first = block.first_seq
        own = self._new_models(first) + self._new_orders(first, before) + self._observing.news(first)
        return (*passed, *own, *(self._pass(control) for control in block.controls[head:]))

    def _pass(self, control: Control) -> Control:
        if control.kind == "checkpoint":
            models = {query: list(version) for query, version in self._view.models.items()}
            control = replace(control, body={**control.body, "models": models, "features": self._observing.body})
        self._apply(control)
        return control

    def _apply(self, control: Control) -> None:
        """Put a control in force. Of a query that begins anew, or is gone, nothing is known any more."""
        self._view.apply(control)
        if control.kind == "query" and control.body["op"] in ("add", "remove"):
            beliefs = () if self._shedding is None else (self._shedding.beliefs,)
            for known in (self._losses, self._detector, self._shed, *beliefs):
                known.forget(str(control.body["name"]))

    def _new_models(self, position: int) -> list[Control]:
        """Records of the transition models that come into force at this position, each newer than the one in force.

        They are applied to the own view here.
        """
        announced = []
        for model in self._offered.transitions.values():
            in_force = self._view.models.get(model.query)
            if self._fits(model) and (in_force is None or model.version > in_force):
                body = {"query": model.query, "version": list(model.version)}
                announced.append(Control(position, "model", body))
        for control in announced:
            self._view.apply(control)
        return announced

    def _new_orders(self, position: int, before: Mapping[str, int]) -> list[Control]:
        orders = self._forced.controls(position, self._view.queries, self._utility)
        for body in self._decided.orders:
            queries = body["queries"]
            same = {name: one for name, one in queries.items() if self._view.queries.get(name) == before.get(name)}
            if same:
                orders.append(Control(position, "keep", {**body, "queries": same}))
        return orders

    def _earlier(self) -> set[str]:
        """The queries that were in force before this operator began, beside readers that ran."""
        return {name for name in self._view.queries if self._view.since.get(name, -1) < self._began}

    def _utility(self, query: str) -> Mapping[str, Any]:
        model = self._offered.transitions.get(query)
        return model.utility() if model is not None and self._fits(model) else NO_UTILITY

    def _fits(self, model: TransitionModel | EventModel) -> bool:
        """True if the model was trained on the version of its query that is in force. One that came before its query
        may be of another of that name."""
        if isinstance(model, TransitionModel) and self._view.misfit(model):
            return False
        return self._view.queries.get(model.query) == model.query_version


def _of_queries_before(mask: NDArray[np.uint64], block: Block) -> NDArray[np.uint64]:
    """The mask without the bits of queries added within the block.

    It was decided for the queries in force at the block's beginning, one of which may have had the slot.
    """
    added = [control for control in block.controls if control.kind == "query" and control.body["op"] == "add"]
    mask = mask.copy() if added else mask
    for control in added:
        if (slot := int(control.body.get("slot", -1))) >= 0:
            mask[block.columns.seq >= control.position] &= ~np.uint64(1 << slot)
    return mask
