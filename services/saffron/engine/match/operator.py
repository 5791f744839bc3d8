"""`matcher`'s operator: any number of match queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from saffron.engine.composition import bound, made_by, read_by, with_types
from saffron.engine.events.block import Block, Control
from saffron.engine.match.composition import Composition, composed
from saffron.engine.match.derived import Made
from saffron.engine.match.drops import Drops
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.history import replay_past
from saffron.engine.match.kinds import Runs, fired, pause, restore, save, start, unreported
from saffron.engine.match.observe import begin_block, end_block, spent, states_of, told, transition_rows
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.render import Matches
from saffron.engine.match.shedding.feature_watch import FeatureWatch
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.match.shedding.shadow import Shadows
from saffron.engine.match.standing import Standing
from saffron.engine.match.stream import Range
from saffron.engine.operator import History, State
from saffron.engine.queries import QueryOperator
from saffron.engine.results import PAST, Fired
from saffron.engine.standing import Compiler, compile_text
from saffron.engine.stopwatch import Stopwatch, no_time
from saffron.engine.strings import Strings
from saffron.errors import SaffronError
from saffron.language.plan import MatchPlan, Plan

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
        stopwatch: Stopwatch = no_time,
        merges: bool = True,
        one_in: int = ONE_IN,
    ) -> None:
        self._one_in = one_in
        self._merges = merges
        self._stopwatch = stopwatch
        super().__init__(partition=partition, stream=stream, compiled=compiled, compiler=compiler)

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
            "state_bytes": sum(standing.runs.size for standing in bound.values() if standing.runs),
        }

    def cost(self) -> tuple[int, int]:
        """Partial matches alive, and ns that drop orders have taken since the start of this operator."""
        return sum(one.runs.live for one in self._standing.values() if one.runs is not None), self._drops.nanoseconds

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """Since the last call: by query transitions of runs (P2), and features of events and matches (G2); what drop
        orders took (P7)."""
        rows: list[Mapping[str, Any]] = []
        for name, standing in self._standing.items():
            if own := transition_rows(standing):
                rows += [{**own[0], "followed": self._drops.told(name)}, *own[1:]]
        found = {
            "observations.transitions": rows,
            "observations.features": self._features.rows(self._standing),
            "observations.latency": self._drops.rows(),
        }
        return {topic: rows for topic, rows in found.items() if rows}

    def watch(self, one_in: int) -> None:
        """From the next block on, observe one in so many."""
        self._one_in = self._features.one_in = one_in
        for standing in self._standing.values():
            if isinstance(standing.runs, QueryRuns) and standing.runs.watch is not None:
                standing.runs.watch.share(one_in)

    @property
    def states(self) -> dict[str, int]:
        """By query how many states its transitions have, the match included; without those that tell of none."""
        found = {name: states_of(standing.runs) for name, standing in self._standing.items()}
        return {name: states for name, states in found.items() if states is not None}

    @property
    def made(self) -> Sequence[tuple[str, Made]]:
        """What results of the last block are as events to other queries (INTO), by the query that made them."""
        return self._made

    # ---------------------------------------------------------------- state

    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        self._composition: Composition | None = None
        self._made: list[tuple[str, Made]] = []
        self._before = (0, 0) if record is None else (record["before"][0], record["before"][1])
        self._drops = Drops(self._stopwatch, record)
        self._shadows = Shadows(clean=record is None)
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

    def restore(self, state: State) -> None:
        """Take over a snapshot; all earlier state is forgotten."""
        super().restore(state)
        for standing in self._standing.values():
            told(standing)
        self._compose()

    def _saved(self, runs: Runs) -> State:
        return save(runs)

    def _restore(self, runs: Runs, arrays: State) -> None:
        restore(runs, arrays)

    # ---------------------------------------------------------------- events

    def _begin(self, block: Block) -> None:
        self._block, self._made = block, []
        self._features.begin_block(block)
        if not len(block.columns):
            self._shadows.forget_matches()
            for standing in self._standing.values():
                if standing.runs is not None:
                    standing.runs.forget_matches()
            return
        seq, ts = int(block.columns.seq[0]), int(block.columns.ts[0])
        whole = Range(block.columns, 0, len(block.columns))
        for standing in self._standing.values():
            begin_block(standing, whole)
            if standing.runs is not None:
                standing.runs.begin_block(seq if standing.runs.plan.window.events else ts)
        self._drops.note(seq, len(block.columns), self._droppable(), max(1, self._one_in // _FOLLOWED_MORE))
        self._shadows.begin_block((seq, ts))
        if self._strings.wants_collection:
            held = [runs.string_codes() for s in self._standing.values() if (runs := s.runs) is not None]
            self._strings.collect(chain(*held, self._shadows.string_codes()))

    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        if begin == stop:
            return
        part = Range(block.columns, begin, stop)
        self._drops.masked(part, {name: one.slot for name, one in self._standing.items() if one.active is not None})
        self._features.advance(part, self._standing)
        if self._composition is not None:
            self._made += self._composition.advance(
                part, block, self._before, lambda name: _opened(block, name, part), self._stopwatch
            )
            return
        began = self._stopwatch()
        for name, standing in self._standing.items():
            if standing.active is not None:
                opened = _opened(block, name, part)
                self._shadow(part, name, standing, opened)
                standing.active.advance(part, opened)
                now = self._stopwatch()
                spent(standing, now - began)
                began = now

    def _finish(self, block: Block) -> None:
        if self._composition is not None:
            self._made += self._composition.finish(block, self._before)
        if len(block.columns):
            self._before = int(block.columns.seq[-1]), int(block.columns.ts[-1])
        for standing in self._standing.values():
            if self._composition is None and isinstance(standing.active, QueryRuns):
                standing.active.end_block(block.watermark, block.next_seq, end=block.end)
            end_block(standing)
            self._collect(standing)

    def _collect(self, standing: Standing) -> None:
        """Take what a query has found in this block."""
        runs, found = standing.runs, []
        if runs is not None and unreported(runs):
            for part in fired(runs, standing.name, self.partition, self._block):
                standing.results += len(part.results)
                self._features.found(standing, part.results)
                self._drops.found(standing.name, part.results)
                self._fired.append(part)
                found.append(part.results)
        matches = [one for one in found if isinstance(one, Matches)]
        if self._composition is None:
            self._shadows.end_block(standing.name, runs, self.partition, self._block, matches)
        if isinstance(runs, QueryRuns):
            self._drops.passed(standing.name, runs)

    def _shadow(self, part: Range, name: str, standing: Standing, opened: Sequence[int]) -> None:
        """What would be found if nothing was dropped goes on beside a query."""
        if isinstance(standing.active, QueryRuns) and part.dropped(standing.slot) is not None:
            last = int(part.seq[-1]), int(part.ts[-1])
            self._shadows.dropped(name, standing.active, int(part.seq[0]), last)
        self._shadows.advance(name, part, opened)

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        if control.kind == "keep":
            order, droppable = read_order(control.body), self._droppable()
            for name, runs in droppable.items():
                if name in order.queries and self._composition is None:
                    self._shadows.dropped(name, runs, control.position)
            for name in self._drops.carry_out(droppable, order, control.position):
                self._features.dropped(self._standing[name])
        if control.kind == "schema":
            self._shadows.forget_all()
        super()._control(control, history)
        if control.kind == "query":
            self._forget(str(control.body["name"]), control.body["op"])
        self._features.control(control)
        self._compose()

    def _forget(self, name: str, op: str) -> None:
        """What was dropped of a query, once it is paused, removed, or another one of its name is added: behind that,
        for what it had found by then is collected first."""
        if op in ("add", "remove"):
            self._drops.forget(name)
        else:
            self._drops.let_go(name)
        self._shadows.forget(name, gone=op == "remove")

    def _droppable(self) -> dict[str, QueryRuns]:
        """The queries that have runs: over imprecise time there are none to drop."""
        active = ((name, standing.active) for name, standing in self._standing.items())
        return {name: runs for name, runs in active if isinstance(runs, QueryRuns)}

    def _compose(self) -> None:
        """Queries have come, gone, or been bound: who reads whose results now. While any does there are no shadows."""
        before, self._composition = self._composition, composed(self._standing, self.partition)
        if before is not None or self._composition is not None:
            self._shadows.suspend(self._standing)

    def _compile(self, standing: Standing) -> Plan:
        """A query is bound to the stream's types and those that others make; which of these it reads is kept."""
        assert self._schema is not None
        others = {name: one.runs.plan for name, one in self._standing.items() if one.runs and one is not standing}
        derived = made_by(others.values()) if standing.derived is None else standing.derived
        plan = bound(self._compiler, standing.text, self._schema, standing.name, others, derived)
        standing.derived = read_by(plan, derived)
        if standing.derived and standing.earliest:
            why = "reads results of other queries, of which there are none in the past: add it without --from earliest"
            raise SaffronError(f"query {standing.name} {why}")
        return plan

    def _start(self, standing: Standing, plan: MatchPlan) -> Runs:
        assert self._schema is not None
        schema = with_types(self._schema, standing.derived or {})
        runs = start(
            plan,
            schema,
            self._strings,
            slot=standing.slot,
            compiled=self._compiled,
            shed=standing.shed,
            merges=self._merges,
        )
        if isinstance(runs, QueryRuns) and runs.watch is not None:
            runs.watch.share(self._one_in)
        standing.reported = standing.censored = None  # new runs count from the beginning
        return runs

    def _pause(self, runs: Runs) -> None:
        pause(runs)

    def _drop(self, standing: Standing, runs: Runs) -> None:
        self._collect(standing)
        runs.close()

    def _adopt(self, standing: Standing, runs: Runs) -> None:
        assert self._schema is not None
        if not runs.adopt(with_types(self._schema, standing.derived or {})):
            self._drop(standing, runs)
            standing.runs = standing.derived = None  # to be bound anew

    def _replay(self, standing: Standing, runs: Runs, history: History, position: int) -> None:
        past = replay_past(runs, standing.name, self.partition, history(), position)
        standing.results += len(past)
        self._fired.append(Fired(standing.name, past, PAST))


def _opened(block: Block, name: str, part: Range) -> list[int]:
    """Positions in the range at which windows of a query open."""
    low = block.first_seq if part.low == 0 else int(part.columns.seq[part.low])
    high = block.next_seq if part.high == len(part.columns) else int(part.columns.seq[part.high])
    return [position for position in block.opened.get(name, ()) if low <= position < high]
