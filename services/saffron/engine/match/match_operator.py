"""`matcher`'s operator: any number of match queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.events.strings import Strings
from saffron.engine.match.composition import Composition, composed
from saffron.engine.match.core.stream import Range
from saffron.engine.match.effects import Effects
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.observe import begin_block, end_block, spent
from saffron.engine.match.output.timed_out import matches_in
from saffron.engine.match.queries import totals
from saffron.engine.match.queries.history import replay_past
from saffron.engine.match.queries.kinds import start
from saffron.engine.match.queries.readers import must_widen, plan_beside, readable, readers_of
from saffron.engine.match.queries.registered import StandingMatchQuery
from saffron.engine.match.runs.derived import Made
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.operators.composition import with_types
from saffron.engine.operators.containment import (
    ADVANCING,
    BINDING,
    OBSERVING,
    REPORTING,
    Note,
    unnoted,
)
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.queries import QueryOperator
from saffron.engine.operators.results import PAST, Fired
from saffron.engine.operators.standing import Compiler, compile_text
from saffron.engine.operators.stopwatch import Stopwatch, no_time
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan


class MatchOperator(QueryOperator[StandingMatchQuery, Runs]):
    """A `ResultOperator` for match queries (requirements N1-N9). `stopwatch` measures drop orders, and blocks by query.

    `one_in`: of so many blocks transitions are counted in one, for plans that walk a table (1: to learn a model soon).
    `merges`: equivalent runs go on as one (N7); results, snapshots of others and observations are the same without.
    """

    _plans = MatchPlan
    _queries = StandingMatchQuery

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
        """Counts for metrics and `load`, by query name.

        `results`: ever found. The others count from the start of this operator: `found`, `dropped_events` and `dropped`
        (partial matches). `loss`: the matches that these are expected to have made. `nanoseconds`: the time that events
        took. The share of missed matches is about loss / (loss + found).
        """
        return {
            "events": self._events,
            **totals.counts(self._standing),
            **self._effects.statistics(),
            "state_bytes": totals.state_bytes(self._standing),
        }

    def cost(self) -> tuple[int, int]:
        """Partial matches alive, and ns that drop orders have taken since the start of this operator."""
        return totals.live(self._standing), self._effects.drops.nanoseconds

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """Observations since the last call: by query transitions of runs (P2), and features of events and matches (G2);
        times of drop orders (P7).
        """
        found = self._effects.observations(self._standing, self._step)
        self._failures.settle()
        return found

    def watch(self, one_in: int) -> None:
        """Observe one in so many blocks, from the next on."""
        self._one_in = self._effects.features.one_in = one_in
        totals.watch(self._standing, one_in)

    @property
    def states(self) -> dict[str, int]:
        """The number of states of each query, the match included; without queries that report no transitions."""
        return totals.states(self._standing)

    @property
    def made(self) -> Sequence[tuple[str, Made]]:
        """The events (INTO) that results of the last block are to other queries, by the query that made them."""
        return self._made

    # ---------------------------------------------------------------- state

    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        self._composition: Composition | None = None
        self._made: list[tuple[str, Made]] = []
        self._before = (0, 0) if record is None else (record["before"][0], record["before"][1])
        self._effects = Effects(self._stopwatch, self._one_in, record)
        self._strings = Strings() if record is None else Strings(record["strings"])

    def _record(self) -> Mapping[str, Any]:
        return {
            **self._effects.drops.record(),
            "before": self._before,
            "strings": self._strings.values,
            "features": self._effects.features.announced,
        }

    def _saved(self, runs: Runs) -> State:
        return runs.save()

    def _restore(self, name: str, runs: Runs | None, arrays: State) -> None:
        if runs is not None:
            runs.restore(arrays)

    # ---------------------------------------------------------------- events

    def _begin(self, block: Block) -> None:
        """Begin a block for every query. A block without events only makes queries forget the last block's matches.

        Strings that nothing holds any more are freed when there are many.
        """
        self._block, self._made = block, []
        self._effects.begin_block(block)
        if not len(block.columns):
            for standing in self._standing.values():
                if standing.runs is not None:
                    standing.runs.forget_matches()
            return
        whole = Range(block.columns, 0, len(block.columns))
        for standing in self._standing.values():
            with self._step(standing, ADVANCING):
                self._begin_query(standing, whole)
        if self._strings.wants_collection:
            held = totals.string_codes(self._standing, self._step)
            self._strings.collect(chain(held, self._effects.shadows.string_codes()))

    def _begin_query(self, standing: StandingMatchQuery, whole: Range) -> None:
        """Begin a block with events for one query."""
        begin_block(standing, whole)
        if standing.runs is not None:
            now = whole.seq if standing.runs.plan.window.events else whole.ts
            standing.runs.begin_block(int(now[0]))
        self._effects.begin_query(standing, whole)

    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Give events begin..stop-1 to the active queries: makers first, if results are events of others (INTO).

        Features and drops are counted first. The time that each query takes is recorded.
        """
        if begin == stop:
            return
        part = Range(block.columns, begin, stop)
        if part.columns.dropped is not None or part.columns.key is not None:
            for standing in self._standing.values():
                if standing.active is not None:
                    with self._step(standing, OBSERVING):
                        self._effects.observe(part, standing)
        if self._composition is not None:
            self._made += self._composition.advance(
                part, block, self._before, lambda name: part.opened(block, name), self._stopwatch
            )
            return
        began = self._stopwatch()
        for name, standing in self._standing.items():
            if standing.active is not None:
                with self._step(standing, ADVANCING):
                    opened = part.opened(block, name)
                    self._effects.shadow(part, standing, opened)
                    standing.active.advance(part, opened)
                now = self._stopwatch()
                spent(standing, now - began)
                began = now

    def _finish(self, block: Block) -> None:
        """Close the windows that end with the block, and take the results of each query.

        Position and time of the last event are kept for the next block.
        """
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

    def _collect(self, standing: StandingMatchQuery) -> None:
        """Take the results of a query in this block."""
        fired: Sequence[Fired] = ()
        if standing.runs is not None and standing.runs.unreported:
            fired = standing.runs.fired(standing.name, self.partition, self._block)
        matches = matches_in(fired)
        self._effects.found(standing, matches)
        for part in fired:
            standing.results += len(part.results)
            self._failures.results.add(standing, part)
        self._effects.end_query(standing, self.partition, self._block, matches, shadowed=self._composition is None)

    # ---------------------------------------------------------------- controls

    def _control(self, control: Control, history: History | None) -> None:
        """Apply a control record. A drop order ("keep") is known to this engine alone.

        A change of the schema ends all shadows. A change of a query also reaches the readers of its results.
        """
        if control.kind == "keep":
            self._effects.carry_out(
                read_order(control.body),
                control.position,
                self._standing,
                self._step,
                self._failures.fail,
                shadowed=self._composition is None,
            )
        if control.kind == "schema":
            self._effects.shadows.forget_all()
        super()._control(control, history)
        if control.kind == "query":
            self._effects.forget(str(control.body["name"]), control.body["op"])
            self._widen_readers(str(control.body["name"]))
        self._effects.features.control(control)
        self._settled()

    def _settled(self) -> None:
        """Queries have come, gone, or been bound: who reads whose results now. While any does there are no shadows."""
        before, self._composition = self._composition, composed(self._standing, self.partition, self._step)
        if before is not None or self._composition is not None:
            self._effects.shadows.suspend(self._standing)

    def _compile(self, standing: StandingMatchQuery) -> Plan:
        assert self._schema is not None
        return plan_beside(self._standing, standing, self._schema, self._compiler)

    def _widen_readers(self, name: str) -> None:
        """Tell the readers of a new query's results: they may have to hold other kinds of numbers of it."""
        maker = self._standing.get(name)
        for reader in () if maker is None else list(self._readers_of(maker)):
            if reader.runs is not None and must_widen(self._standing, reader):
                with self._step(reader, BINDING):
                    self._adopt(reader, reader.runs)
                self._widen_readers(reader.name)

    def _start(self, standing: StandingMatchQuery, plan: MatchPlan) -> Runs:
        """The runs of a plan, over the stream's types and those of other queries. SaffronError if no engine can run it.

        Their transitions are counted in one of `one_in` blocks.
        """
        assert self._schema is not None
        schema = with_types(self._read.known_to(plan), standing.derived or {})
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

    def _drop(self, standing: StandingMatchQuery, runs: Runs) -> None:
        runs.end_part()  # what the events so far have decided is reported, wherever the block is cut
        self._collect(standing)
        runs.close()

    def _close(self, runs: Runs) -> None:
        runs.close()

    def _forget_all_of(self, standing: StandingMatchQuery) -> None:
        self._effects.forget(standing.name, "fail")
        self._effects.features.forget(standing.name)
        self._made = [(name, made) for name, made in self._made if name != standing.name]

    def _readers_of(self, standing: StandingMatchQuery) -> Iterator[StandingMatchQuery]:
        return readers_of(self._standing, standing)

    def _has_touched_others(self, standing: StandingMatchQuery) -> bool:
        """True if a drop order chose among the partial matches of several queries."""
        return standing.name in self._effects.ordered

    def _adopt(self, standing: StandingMatchQuery, runs: Runs) -> None:
        """Bind a query to the new schema. Its runs go on, if they can adopt the new ones.

        Else their results are taken, and the new runs begin. SchemaError if the text does not bind any more.
        """
        derived = standing.derived
        standing.runs, standing.derived = None, readable(self._standing, standing)
        self._bind(standing)
        fresh: Any = standing.runs
        adopt: Any = runs.adopt
        if standing.failure:
            runs.close()
        elif fresh is None:
            standing.runs, standing.derived = runs, derived
            self._raise_refusal(standing)
        elif type(fresh) is type(runs) and adopt(fresh):
            standing.runs = runs
        else:
            standing.runs = runs
            self._drop(standing, runs)
            standing.runs = fresh

    def _replay(self, standing: StandingMatchQuery, runs: Runs, history: History, position: int) -> None:
        past = replay_past(runs, standing.name, self.partition, history(), position)
        standing.results += len(past)
        self._failures.results.add(standing, Fired(standing.name, past, PAST))
