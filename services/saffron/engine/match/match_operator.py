"""`matcher`'s operator: any number of match queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.strings import Strings
from saffron.engine.match.composition import Composition, composed
from saffron.engine.match.core.stream import Range
from saffron.engine.match.drops import Drops
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.keep import unlistable
from saffron.engine.match.observe import begin_block, end_block, spent, transition_rows
from saffron.engine.match.output.render import Matches
from saffron.engine.match.queries.history import replay_past
from saffron.engine.match.queries.kinds import start
from saffron.engine.match.queries.registered import Standing
from saffron.engine.match.runs.derived import Made
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.shedding.feature_watch import FeatureWatch
from saffron.engine.match.shedding.orders import Order, read_order
from saffron.engine.match.shedding.shadow import Shadows
from saffron.engine.match.shedding.traces import Traces
from saffron.engine.operators.composition import bound, made_by, read_by, reads, still_made, with_types
from saffron.engine.operators.containment import (
    ADVANCING,
    BINDING,
    DROPPING,
    OBSERVING,
    REPORTING,
    Note,
    is_of_query,
    unnoted,
)
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.queries import QueryOperator
from saffron.engine.operators.results import PAST, Fired
from saffron.engine.operators.standing import Compiler, compile_text
from saffron.engine.operators.stopwatch import Stopwatch, no_time
from saffron.errors import SaffronError
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan

_FOLLOWED_MORE = 4
"""Partial matches are noted to be followed in so many times more blocks than transitions are counted in."""


class MatchOperator(QueryOperator[Standing, Runs]):
    """A `ResultOperator` for match queries (requirements N1-N9). `stopwatch` measures drop orders, and blocks by query.

    `one_in`: of so many blocks transitions are counted in one, for plans that walk a table (1: to learn a model soon).
    `merges`: equivalent runs go on as one (N7); results, snapshots of others and observations are the same without.
    """

    _plans = MatchPlan
    _queries = Standing

    def __init__(
        self,
        *,
        partition: int,
        stream: str = "events",
        compiled: bool = True,
        compiler: Compiler = compile_text,
        note: Note = unnoted,
        stopwatch: Stopwatch = no_time,
        merges: bool = True,
        one_in: int = ONE_IN,
    ) -> None:
        self._one_in = one_in
        self._merges = merges
        self._stopwatch = stopwatch
        super().__init__(partition=partition, stream=stream, compiled=compiled, compiler=compiler, note=note)

    def statistics(self) -> Mapping[str, Any]:
        """Counts for metrics and `load`, by query name: `results` ever; since the start of this operator `found`, and
        `dropped_events`, `dropped` (partial matches), `loss` (matches that these would have made, as expected), so that
        the share of missed matches is about loss / (loss + found), and `nanoseconds`, which its events took."""
        bound = {name: standing for name, standing in self._standing.items() if standing.runs is not None}
        return {
            "events": self._events,
            "results": {name: standing.results for name, standing in bound.items()},
            "found": {name: standing.results - standing.earlier for name, standing in bound.items()},
            "partial_matches": {name: standing.runs.live for name, standing in bound.items() if standing.runs},
            "nanoseconds": {name: standing.taken for name, standing in bound.items()},
            "keys": {name: standing.runs.keys.used for name, standing in bound.items() if standing.runs},
            **self._drops.statistics(),
            "sampled": self._shadows.statistics(),
            "traced": self._traces.statistics(),
            "state_bytes": sum(standing.runs.size for standing in bound.values() if standing.runs),
        }

    def cost(self) -> tuple[int, int]:
        """Partial matches alive, and ns that drop orders have taken since the start of this operator."""
        return sum(one.runs.live for one in self._standing.values() if one.runs is not None), self._drops.nanoseconds

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """Since the last call: by query transitions of runs (P2), and features of events and matches (G2); what drop
        orders took (P7)."""
        rows: list[Mapping[str, Any]] = []
        features: list[Mapping[str, Any]] = []
        for name, standing in self._standing.items():
            if standing.runs is None:
                continue
            with self._step(standing, OBSERVING):
                if own := transition_rows(standing):
                    rows += [{**own[0], "followed": self._drops.told(name)}, *own[1:]]
                features += self._features.rows(standing)
        self._failures.settle()
        found = {
            "observations.transitions": rows,
            "observations.features": features,
            "observations.latency": self._drops.rows(),
        }
        return {topic: rows for topic, rows in found.items() if rows}

    def watch(self, one_in: int) -> None:
        """From the next block on, observe one in so many."""
        self._one_in = self._features.one_in = one_in
        for standing in self._standing.values():
            if standing.runs is not None and standing.runs.transitions is not None:
                standing.runs.transitions.share(one_in)

    @property
    def states(self) -> dict[str, int]:
        """The number of states of each query, the match included; without queries that report no transitions."""
        found = {name: one.runs.states for name, one in self._standing.items() if one.runs is not None}
        return {name: states for name, states in found.items() if states is not None}

    @property
    def made(self) -> Sequence[tuple[str, Made]]:
        """The events (INTO) that results of the last block are to other queries, by the query that made them."""
        return self._made

    # ---------------------------------------------------------------- state

    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        self._composition: Composition | None = None
        self._made: list[tuple[str, Made]] = []
        self._ordered: frozenset[str] = frozenset()
        self._before = (0, 0) if record is None else (record["before"][0], record["before"][1])
        self._drops = Drops(self._stopwatch, record)
        self._shadows = Shadows(clean=record is None)
        self._traces = Traces()
        self._strings = Strings() if record is None else Strings(record["strings"])
        self._features = FeatureWatch(self._one_in)
        if record is not None:
            self._features.announced = record["features"]

    def _record(self) -> Mapping[str, Any]:
        return {
            **self._drops.record(),
            "before": self._before,
            "strings": self._strings.values,
            "features": self._features.announced,
        }

    def _saved(self, runs: Runs) -> State:
        return runs.save()

    def _restore(self, name: str, runs: Runs | None, arrays: State) -> None:
        if runs is not None:
            runs.restore(arrays)

    # ---------------------------------------------------------------- events

    def _begin(self, block: Block) -> None:
        self._block, self._made, self._ordered = block, [], frozenset()
        self._features.begin_block(block)
        if not len(block.columns):
            self._shadows.forget_matches()
            for standing in self._standing.values():
                if standing.runs is not None:
                    standing.runs.forget_matches()
            return
        whole = Range(block.columns, 0, len(block.columns))
        for standing in self._standing.values():
            with self._step(standing, ADVANCING):
                self._begin_query(standing, whole)
        if self._strings.wants_collection:
            self._strings.collect(chain(*self._held_codes(), self._shadows.string_codes()))

    def _begin_query(self, standing: Standing, whole: Range) -> None:
        """Begin a block with events for one query."""
        seq, ts = int(whole.seq[0]), int(whole.ts[0])
        begin_block(standing, whole)
        if standing.runs is not None:
            standing.runs.begin_block(seq if standing.runs.plan.window.events else ts)
        if standing.active is not None and (runs := standing.active.droppable) is not None:
            one_in = max(1, self._one_in // _FOLLOWED_MORE)
            self._drops.note(seq, len(whole), standing.name, runs, one_in)
        self._shadows.begin_block(standing.name, (seq, ts))

    def _held_codes(self) -> list[list[NDArray[np.int32]]]:
        """Codes of strings that queries hold."""
        held: list[list[NDArray[np.int32]]] = []
        for standing in self._standing.values():
            if standing.runs is not None:
                with self._step(standing, OBSERVING):
                    held.append(list(standing.runs.string_codes()))
        return held

    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        if begin == stop:
            return
        part = Range(block.columns, begin, stop)
        if part.columns.dropped is not None or part.columns.key is not None:
            self._observe(part)
        if self._composition is not None:
            self._made += self._composition.advance(
                part, block, self._before, lambda name: _opened(block, name, part), self._stopwatch
            )
            return
        began = self._stopwatch()
        for name, standing in self._standing.items():
            if standing.active is not None:
                with self._step(standing, ADVANCING):
                    opened = _opened(block, name, part)
                    self._shadow(part, name, standing, opened)
                    standing.active.advance(part, opened)
                now = self._stopwatch()
                spent(standing, now - began)
                began = now

    def _observe(self, part: Range) -> None:
        """Count the events of a part before the queries take them: their features, and those that are masked."""
        for standing in self._standing.values():
            if standing.active is not None:
                with self._step(standing, OBSERVING):
                    self._drops.masked(part, standing.name, standing.slot)
                    self._features.advance(part, standing)

    def _finish(self, block: Block) -> None:
        if self._composition is not None:
            self._made += self._composition.finish(block, self._before)
        if len(block.columns):
            self._before = int(block.columns.seq[-1]), int(block.columns.ts[-1])
        for standing in self._standing.values():
            with self._step(standing, REPORTING):
                if self._composition is None and standing.active is not None:
                    standing.active.end_block(block.watermark, block.next_seq, end=block.end)
                end_block(standing)
                self._collect(standing)

    def _collect(self, standing: Standing) -> None:
        """Take what a query has found in this block."""
        runs, found = standing.runs, []
        if runs is not None and runs.unreported:
            for part in runs.fired(standing.name, self.partition, self._block):
                standing.results += len(part.results)
                self._features.found(standing, part.results)
                self._drops.found(standing.name, part.results)
                self._failures.results.add(standing, part)
                found.append(part.results)
        matches = [one for one in found if isinstance(one, Matches)]
        if self._composition is None:
            traced = self._traces.of(standing.name)
            self._shadows.end_block(standing.name, runs, self.partition, self._block, matches, traced)
        if runs is not None and (exact := runs.droppable) is not None:
            self._traces.reported(standing.name, exact, matches)
            self._drops.passed(standing.name, exact)

    def _shadow(self, part: Range, name: str, standing: Standing, opened: Sequence[int]) -> None:
        """Give a part to the shadow of a query, which drops nothing; start one when events are first masked."""
        runs = None if standing.active is None else standing.active.droppable
        if runs is not None and part.dropped(standing.slot) is not None:
            last = int(part.seq[-1]), int(part.ts[-1])
            self._shadows.dropped(name, runs, int(part.seq[0]), last)
            self._traces.dropping(name, runs, last[0 if runs.plan.window.events else 1], events=True)
        self._shadows.advance(name, part, opened)

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        if control.kind == "keep":
            self._keep(read_order(control.body), control.position)
        if control.kind == "schema":
            self._shadows.forget_all()
        super()._control(control, history)
        if control.kind == "query":
            self._forget(str(control.body["name"]), control.body["op"])
            self._widen_readers(str(control.body["name"]))
        self._features.control(control)
        self._settled()

    def _keep(self, order: Order, position: int) -> None:
        """Carry out a drop order."""
        droppable = self._droppable()
        self._ordered |= order.queries.keys() & droppable.keys()
        for name, runs in droppable.items():
            if name in order.queries and self._composition is None:
                with self._step(self._standing[name], DROPPING):
                    self._shadows.dropped(name, runs, position)
                    self._traces.dropping(name, runs, runs.clock, events=False)
        droppable = self._droppable()
        try:
            for name in self._drops.carry_out(droppable, order, position):
                self._features.dropped(self._standing[name])
        except Exception as error:
            if not is_of_query(error):
                raise
            for name in unlistable(droppable, order) or self._ordered & droppable.keys():
                self._failures.fail(self._standing[name], DROPPING, error)

    def _forget(self, name: str, op: str) -> None:
        """Forget what was dropped of a query that is paused, removed or added again.

        It comes after the query has changed, since the query's last matches are collected first.
        """
        if op in ("add", "remove", "fail"):
            self._drops.forget(name)
        else:
            self._drops.let_go(name)
        self._shadows.forget(name, gone=op in ("remove", "fail"))
        self._traces.forget(name)

    def _droppable(self) -> dict[str, QueryRuns]:
        """The queries that have runs: over imprecise time there are none to drop."""
        active = ((name, one.active.droppable) for name, one in self._standing.items() if one.active is not None)
        return {name: runs for name, runs in active if runs is not None}

    def _settled(self) -> None:
        """Queries have come, gone, or been bound: who reads whose results now. While any does there are no shadows."""
        before, self._composition = self._composition, composed(self._standing, self.partition, self._step)
        if before is not None or self._composition is not None:
            self._shadows.suspend(self._standing)

    def _compile(self, standing: Standing) -> Plan:
        """A query is bound to the stream's types and those that others make; which of these it reads is kept."""
        assert self._schema is not None
        others = self._others(standing)
        derived = made_by(others.values()) if standing.derived is None else standing.derived
        plan = bound(self._compiler, standing.text, self._schema, standing.name, others, derived)
        standing.derived = read_by(plan, derived)
        if standing.derived and standing.earliest:
            why = "reads results of other queries, of which there are none in the past: add it without --from earliest"
            raise SaffronError(f"query {standing.name} {why}")
        return plan

    def _others(self, standing: Standing) -> dict[str, Plan]:
        """The plans of the other queries that are bound."""
        return {name: one.runs.plan for name, one in self._standing.items() if one.runs and one is not standing}

    def _widen_readers(self, name: str) -> None:
        """Tell the readers of a new query's results: they may have to hold other kinds of numbers of it."""
        maker = self._standing.get(name)
        for reader in () if maker is None else list(self._readers_of(maker)):
            known = reader.derived or {}
            made = still_made(known, made_by(self._others(reader).values()))
            if reader.runs is not None and any(made[one] != known[one] for one in known):
                with self._step(reader, BINDING):
                    self._adopt(reader, reader.runs)
                self._widen_readers(reader.name)

    def _start(self, standing: Standing, plan: MatchPlan) -> Runs:
        assert self._schema is not None
        schema = with_types(self._read.known, standing.derived or {})
        runs = start(
            plan,
            schema,
            self._strings,
            slot=standing.slot,
            compiled=self._compiled,
            shed=standing.shed,
            merges=self._merges,
        )
        if runs.transitions is not None:
            runs.transitions.share(self._one_in)
        return runs

    def _pause(self, runs: Runs) -> None:
        runs.pause()

    def _drop(self, standing: Standing, runs: Runs) -> None:
        self._collect(standing)
        runs.close()

    def _close(self, runs: Runs) -> None:
        runs.close()

    def _forget_all_of(self, standing: Standing) -> None:
        self._forget(standing.name, "fail")
        self._features.forget(standing.name)
        self._made = [(name, made) for name, made in self._made if name != standing.name]

    def _readers_of(self, standing: Standing) -> Iterator[Standing]:
        plan = None if standing.runs is None else standing.runs.plan
        if isinstance(plan, MatchPlan) and plan.into is not None:
            for other in self._standing.values():
                if other.runs is not None and reads(other.runs.plan, plan):
                    yield other

    def _has_touched_others(self, standing: Standing) -> bool:
        """A drop order chose among the partial matches of several queries."""
        return standing.name in self._ordered

    def _adopt(self, standing: Standing, runs: Runs) -> None:
        derived = standing.derived
        standing.runs, standing.derived = None, still_made(derived or {}, made_by(self._others(standing).values()))
        self._bind(standing)
        fresh: Any = standing.runs
        adopt: Any = runs.adopt
        if standing.failure:
            runs.close()
        elif fresh is None:  # the schema has no room for it: it goes on as it is
            standing.refusal, standing.foreign = "", False
            standing.runs, standing.derived = runs, derived
        elif type(fresh) is type(runs) and adopt(fresh):
            standing.runs = runs
        else:
            standing.runs = runs
            self._drop(standing, runs)
            standing.runs = fresh

    def _replay(self, standing: Standing, runs: Runs, history: History, position: int) -> None:
        past = replay_past(runs, standing.name, self.partition, history(), position)
        standing.results += len(past)
        self._failures.results.add(standing, Fired(standing.name, past, PAST))


def _opened(block: Block, name: str, part: Range) -> list[int]:
    """Positions in the range at which windows of a query open."""
    low = block.first_seq if part.low == 0 else int(part.columns.seq[part.low])
    high = block.next_seq if part.high == len(part.columns) else int(part.columns.seq[part.high])
    return [position for position in block.opened.get(name, ()) if low <= position < high]
