"""A graph of one or more queries, its readers, which are in force from the same position with the same events.

The content of a graph follows from the events since its beginning. So readers join one graph if their graphs are empty,
or hold only windows that both have seen from their beginning. Each reader has the results that it would have alone. A
query leaves when it is paused, removed or replaced; the graph goes on for the others. If shedding drops different
events for one reader, that reader takes a copy of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.core.measures import measures_of
from saffron.engine.trends.queries.adopting import adopted
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.engine.trends.values.returns import Rows
from saffron.engine.windows.bounds import first_window
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends.sharing import graph_of, in_order, sharing_key, united
from saffron.language.trends.trend_graphs import scanning

MOST_MEASURES = 32
"""Most numbers and extremes of one graph: each is a column of every vertex, and more text to compile."""
Openings = tuple[tuple[int, int], ...]
"""OPEN ON: (where it begins, seq of the event that opened it) of each open window."""


@dataclass(eq=False)
class SharedGraph:
    """A graph with the queries that read it.

    `plan`: of the graph, with the aggregates of all readers that it ever had. `running`: the counting state, None until
    it is needed. `low`: the first window; None: it follows from the stream's next event. `openings`: the windows of
    OPEN ON that are open at the beginning. `since`: the graph has had every event of windows that begin after this ts
    or position. `lost`: the reason why its snapshot could not be restored. `literals`: the codes that the snapshot's
    strings have; those of a graph that runs are its own.
    """

    plan: TrendPlan
    compiled: bool
    readers: list[Reader]
    low: int | None = None
    openings: Openings = ()
    running: TrendQuery | None = None
    since: int | None = None
    lost: Exception | None = None
    literals: Mapping[str, int] | None = None
    alike: str = field(init=False)

    def __post_init__(self) -> None:
        self._liken()
        for reader in self.readers:
            reader.graph = self

    @classmethod
    def of(cls, reader: Reader, *, compiled: bool) -> SharedGraph:
        """The graph of a query by itself, that has seen nothing."""
        return cls(graph_of(reader.plan), compiled, [reader])

    def _liken(self) -> None:
        self.alike = f"{sharing_key(self.plan)} {self.readers[0].key_kinds}"

    def adopt(self) -> None:
        """Go on under a wider schema, to which the readers have been bound, with all that the graph holds."""
        plan, kinds = graph_of(self.readers[0].plan), self.readers[0].kinds
        aggregates = tuple(replace(one, kind=kinds.get(one.attribute or "", one.kind)) for one in self.plan.aggregates)
        more = (one for reader in self.readers for one in reader.plan.aggregates)
        aggregates = tuple(dict.fromkeys((*aggregates, *more)))
        self.plan = replace(plan, aggregates=aggregates, window=self.plan.window)
        old = self.running
        if old is not None:  # what is in a list stays there
            self.plan = scanning(self.plan, graphs_of(self.plan, kinds).trees.keys() - old.graphs.trees.keys())
        if old is not None and not (old.plan == self.plan and old.keeps(kinds)):
            self.running = None  # nothing is left of it if what follows fails
            self.running = adopted(old, self._made(self.readers[0], old.strings.pin))
        self._liken()

    def add(self, reader: Reader) -> None:
        """Add a reader that has had all events of this graph."""
        self.readers.append(reader)
        reader.graph = self

    def run(self) -> TrendQuery:
        """The counting state; it and its kernels are made at the first call."""
        if self.running is None:
            running = self._made(self.readers[0], None if self.literals is None else self.literals.__getitem__)
            if self.low is not None:
                running.begin_at(self.low)
            running.reopen(self.openings)
            self.running = running
        self.running.slot = self.readers[0].slot
        return self.running

    def _made(self, reader: Reader, code_of: Callable[[str], int] | None) -> TrendQuery:
        return TrendQuery(self.plan, reader.kinds, reader.slot, compiled=self.compiled, code_of=code_of)

    def own(self, reader: Reader, rows: Rows) -> Rows:
        """The rows of one reader, out of those that the graph found."""
        assert self.running is not None
        return reader.own(rows, measures_of(self.plan), self.running.strings)

    def copy_for(self, readers: Sequence[Reader]) -> SharedGraph:
        """A graph that holds the same, for some of the readers, which leave this one."""
        assert self.running is not None
        running = self._made(readers[0], self.running.needs.strings.__getitem__)
        running.restore(self.running.snapshot())
        for reader in readers:
            self.readers.remove(reader)
        return SharedGraph(self.plan, self.compiled, list(readers), running=running, since=self.since)

    def part(self) -> None:
        """Give each reader a graph of its own with the same contents, which is shared no more."""
        for reader in self.readers:
            reader.apart = True
        for reader in self.readers[1:]:
            if self.running is not None:
                self.copy_for([reader])
                continue
            self.readers.remove(reader)
            own = graph_of(reader.plan)
            SharedGraph(own, self.compiled, [reader], low=self.low, openings=self.openings, since=self.since)
        if self.running is None:
            self.plan = graph_of(self.readers[0].plan)

    # ---------------------------------------------------------------- coming together

    def begins(self, point: int) -> int | Openings | None:
        """The begin of its first window if it holds nothing; None if it does. `point`: of the next event.

        OPEN ON: the open windows, which nothing has entered.
        """
        window = self.plan.window
        if self.running is not None and not self.running.is_empty:
            return None
        if window.slide is None:
            openings = self.openings if self.running is None else self.running.openings()
            return tuple((low, seq) for low, seq in openings if low + window.size > point)
        low: int = first_window(point, window.size, window.slide) * window.slide
        known = self.low if self.running is None else self.running.low()
        lowest = low if known is None else max(low, known)
        return max(0, lowest) if window.events else lowest

    def whole(self) -> tuple[object, ...] | None:
        """The properties that two graphs with events must share, so that one can serve the readers of both.

        None where nothing is enough: it lacks events of its open windows, or what it is in depends on earlier ones.
        """
        if self.running is None or self.since is None or not self._in_order:
            return None
        low = self.running.low()
        return (self.plan.window, low, self.running.openings()) if self.since < low else None

    def with_readers(self, other: SharedGraph, point: int) -> SharedGraph | None:
        """An empty graph for the readers of two empty graphs.

        None if that would change a result, or compile kernels once more than without it.
        """
        mine, others = self.begins(point), other.begins(point)
        assert mine is not None
        assert others is not None
        begin, plan = _common(mine, others, self, other), united(self.plan, other.plan)
        if begin is None or plan is None or len(measures_of(plan).all) > MOST_MEASURES:
            return None
        for one, low in ((self, mine), (other, others)):
            if one.running is not None and low == begin and _serves(one.plan, plan):
                return one._for_both(self, other)
        if self.running is not None and other.running is not None:
            return None
        made = SharedGraph(plan, self.compiled, [*self.readers, *other.readers])
        if isinstance(begin, int):
            made.low = begin
        else:
            made.openings = begin
        return made

    def instead_of(self, other: SharedGraph) -> SharedGraph | None:
        """The one of two equivalent, `whole` graphs that can serve the readers of both, or None."""
        for one, beside in ((self, other), (other, self)):
            if set(beside.plan.aggregates) <= set(one.plan.aggregates):
                return one._for_both(self, other)
        return None

    def _for_both(self, one: SharedGraph, other: SharedGraph) -> SharedGraph:
        readers = [*one.readers, *other.readers]
        return SharedGraph(self.plan, self.compiled, readers, running=self.running, since=self.since)

    @cached_property
    def _in_order(self) -> bool:
        return in_order(self.plan)


def _serves(plan: TrendPlan, asked: TrendPlan) -> bool:
    return plan.window == asked.window and set(asked.aggregates) <= set(plan.aggregates)


def _common(
    mine: int | Openings, others: int | Openings, one: SharedGraph, other: SharedGraph
) -> int | Openings | None:
    """The begin of the windows of a graph for both, so that each reader keeps its windows; None where there is none."""
    if isinstance(mine, int) and isinstance(others, int):
        begin = min(mine, others)
        for low, graph in ((mine, one), (others, other)):
            for slide in {reader.plan.window.slide for reader in graph.readers}:
                assert slide is not None
                if -(-low // slide) != -(-begin // slide):
                    return None
        return begin
    return mine if mine == others else None
