"""The effects of dropping on an operator's queries: counts of dropped and found, and lost matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.match.core.stream import Range
from saffron.engine.match.drops import Drops
from saffron.engine.match.keep import unlistable
from saffron.engine.match.observe import transition_rows
from saffron.engine.match.output.render import Written
from saffron.engine.match.queries.registered import StandingMatchQuery, TakeStep
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.feature_watch import FeatureWatch
from saffron.engine.match.shedding.orders import Order
from saffron.engine.match.shedding.shadow import Shadows
from saffron.engine.match.shedding.traces import Traces
from saffron.engine.operators.containment import DROPPING, OBSERVING, is_of_query
from saffron.engine.operators.stopwatch import Stopwatch
from saffron.language.plan.clauses import Output

_FOLLOWED_MORE = 4
"""The ratio of blocks in which partial matches are noted to blocks in which transitions are counted."""

Row = Mapping[str, Any]
Queries = Mapping[str, StandingMatchQuery]


class Effects:
    """The effects of dropping on each query of an operator.

    `drops`: drop orders, and what they took. `shadows`: true matches of a sample. `traces`: matches whose events are
    told. `features`: features of events and matches. `ordered`: the queries that an order in the block at hand has
    reached.
    """

    def __init__(self, stopwatch: Stopwatch, one_in: int, record: Mapping[str, Any] | None) -> None:
        self.drops = Drops(stopwatch, record)
        self.shadows = Shadows(clean=record is None)
        self.traces = Traces()
        self.features = FeatureWatch(one_in)
        if record is not None:
            self.features.announced = record["features"]
        self.ordered: frozenset[str] = frozenset()

    def statistics(self) -> dict[str, Any]:
        """See `MatchOperator.statistics`."""
        return {
            **self.drops.statistics(),
            "sampled": self.shadows.statistics(),
            "traced": self.traces.statistics(),
        }

    def observations(self, queries: Queries, step: TakeStep) -> dict[str, list[Row]]:
        """See `MatchOperator.observations`. `step`: of the operator."""
        transitions: list[Row] = []
        features: list[Row] = []
        for name, standing in queries.items():
            if standing.runs is None:
                continue
            with step(standing, OBSERVING):
                if own := transition_rows(standing):
                    transitions += [{**own[0], "followed": self.drops.told(name)}, *own[1:]]
                features += self.features.rows(standing)
        found = {
            "observations.transitions": transitions,
            "observations.features": features,
            "observations.latency": self.drops.rows(),
        }
        return {topic: rows for topic, rows in found.items() if rows}

    # ---------------------------------------------------------------- blocks

    def begin_block(self, block: Block) -> None:
        """Begin a block, before its queries do."""
        self.ordered = frozenset()
        self.features.begin_block(block)
        if not len(block.columns):
            self.shadows.forget_matches()

    def begin_query(self, standing: StandingMatchQuery, whole: Range) -> None:
        """Begin a block with events for one query, whose runs have begun it."""
        seq, ts = int(whole.seq[0]), int(whole.ts[0])
        if standing.active is not None and (runs := standing.active.droppable) is not None:
            one_in = max(1, self.features.one_in // _FOLLOWED_MORE)
            self.drops.note(seq, len(whole), standing.name, runs, one_in)
        self.shadows.begin_block(standing.name, (seq, ts))

    def observe(self, part: Range, standing: StandingMatchQuery) -> None:
        """Count the events of a part before a query takes them: their features, and those that are masked."""
        self.drops.masked(part, standing.name, standing.slot)
        self.features.advance(part, standing)

    def shadow(self, part: Range, standing: StandingMatchQuery, opened: Sequence[int]) -> None:
        """Give a part to a query's shadow, if there is one: runs of the same query that drop nothing.

        Where events of the part are masked, the shadow begins, if the query may have one, or lives on for longer; the
        query's traces learn of the drop.
        """
        name, runs = standing.name, None if standing.active is None else standing.active.droppable
        if runs is not None and part.dropped(standing.slot) is not None:
            last = int(part.seq[-1]), int(part.ts[-1])
            self.shadows.dropped(name, runs, int(part.seq[0]), last)
            self.traces.dropping(name, runs, last[0 if runs.plan.window.events else 1], events=True)
        self.shadows.advance(name, part, opened)

    def found(self, standing: StandingMatchQuery, matches: Sequence[Written]) -> None:
        """Count matches that a query reports. A graph of many has no events that are those of one match."""
        for part in () if _is_compressed(standing) else matches:
            self.features.found(standing, part)
            self.drops.found(standing.name, part)

    def end_query(
        self, standing: StandingMatchQuery, partition: int, block: Block, matches: Sequence[Written], *, shadowed: bool
    ) -> None:
        """End a block of one query, in which it has reported these matches."""
        name, runs = standing.name, standing.runs
        if shadowed:
            self.shadows.end_block(name, runs, partition, block, matches, self.traces.of(name))
        if runs is not None and (exact := runs.droppable) is not None:
            self.traces.reported(name, exact, () if _is_compressed(standing) else matches)
            self.drops.passed(name, exact)

    # ---------------------------------------------------------------- orders, and queries that go

    def carry_out(
        self,
        order: Order,
        position: int,
        queries: Queries,
        step: TakeStep,
        fail: Callable[[StandingMatchQuery, str, Exception], None],
        *,
        shadowed: bool,
    ) -> None:
        """Carry out a drop order that stands at `position`. `step`, `fail`: of the operator."""
        active = _droppable(queries)
        self.ordered |= order.queries.keys() & active.keys()
        for name, runs in active.items():
            if name in order.queries and shadowed:
                with step(queries[name], DROPPING):
                    self.shadows.dropped(name, runs, position)
                    self.traces.dropping(name, runs, runs.clock, events=False)
        active = _droppable(queries)
        try:
            for name in self.drops.carry_out(active, order, position):
                self.features.dropped(queries[name])
        except Exception as error:
            if not is_of_query(error):
                raise
            for name in unlistable(active, order) or self.ordered & active.keys():
                fail(queries[name], DROPPING, error)

    def forget(self, name: str, op: str) -> None:
        """Forget what was dropped of a query that is paused, removed or added again.

        It comes after the query has changed, since the query's last matches are collected first.
        """
        if op in ("add", "remove", "fail"):
            self.drops.forget(name)
        else:
            self.drops.let_go(name)
        self.shadows.forget(name, gone=op in ("remove", "fail"))
        self.traces.forget(name)


def _droppable(queries: Queries) -> dict[str, QueryRuns]:
    """The queries with droppable runs; over imprecise time there are none."""
    active = ((name, one.active.droppable) for name, one in queries.items() if one.active is not None)
    return {name: runs for name, runs in active if runs is not None}


def _is_compressed(standing: StandingMatchQuery) -> bool:
    return standing.runs is not None and standing.runs.plan.output is Output.COMPRESSED
