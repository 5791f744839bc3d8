"""The operator of `greta`: any number of trend queries over the blocks of one partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.containment import ADVANCING, BINDING, REPORTING, Note, QueryStep, together, unnoted
from saffron.engine.operators.operator import History, State
from saffron.engine.operators.queries import QueryOperator
from saffron.engine.operators.results import DUE, FULL, PAST, Fired
from saffron.engine.operators.standing import Compiler, StandingQuery, compile_text
from saffron.engine.operators.stopwatch import Stopwatch, no_time
from saffron.engine.trends.core.arrays import Batch
from saffron.engine.trends.queries.history import replay_past
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.queries.shared import SharedGraph
from saffron.engine.trends.queries.shared_graphs import SharedGraphs, graphs_of_readers
from saffron.engine.trends.results import Trends
from saffron.language.plan.trend_plan import TrendPlan

Standing = StandingQuery[Reader]


class TrendOperator(QueryOperator[Standing, Reader]):
    """A `ResultOperator` for aggregate queries (requirements T1-T7).

    `shares`: False gives each query a graph of its own; the results are the same. `stopwatch`: measures graphs.
    """

    _plans = TrendPlan
    _queries = StandingQuery

    def __init__(
        self,
        *,
        partition: int,
        stream: str = "events",
        compiled: bool = True,
        compiler: Compiler = compile_text,
        note: Note = unnoted,
        shares: bool = True,
        stopwatch: Stopwatch = no_time,
    ) -> None:
        self._stopwatch = stopwatch
        self._graphs = SharedGraphs(compiled, shares)
        self._apart: frozenset[str] = frozenset()
        super().__init__(partition=partition, stream=stream, compiled=compiled, compiler=compiler, note=note)

    def part(self, names: frozenset[str]) -> None:
        """Give these queries graphs that they share with nobody."""
        self._apart |= names
        for graph in graphs_of_readers(self._readers()):
            if any(reader.plan.name in names for reader in graph.readers):
                graph.part()

    def statistics(self) -> Mapping[str, Any]:
        """Counts for metrics and `load`; those of queries are by name, `partial_matches` being stored vertices.

        Queries that share a graph have its vertices, windows and keys each; its bytes count once. `nanoseconds`: what
        events took since this operator took over, in equal parts by those who share a graph.
        """
        readers = self._active()
        by_graph = {graph: graph.run().statistics() for graph in graphs_of_readers(readers.values())}

        def column(key: str) -> dict[str, int]:
            return {name: by_graph[one.graph][key] for name, one in readers.items() if one.graph is not None}

        return {
            "events": self._events,
            "results": {name: reader.results for name, reader in readers.items()},
            "partial_matches": column("vertices"),
            "vertices": column("vertices"),
            "open_windows": column("open_windows"),
            "keys": column("keys"),
            "nanoseconds": {name: reader.taken for name, reader in readers.items()},
            "state_bytes": sum(numbers["state_bytes"] for numbers in by_graph.values()),
            "graphs": len(by_graph),
        }

    def cost(self) -> tuple[int, int]:
        """No cost of dropping: trend queries have nothing that could be dropped."""
        return 0, 0

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """No observations: trend queries build no partial matches that a model could rate."""
        return {}

    # ---------------------------------------------------------------- state

    def _reset(self, record: Mapping[str, Any] | None = None) -> None:
        self._last_ts: int | None = None if record is None else record["last_ts"]
        self._batches: dict[SharedGraph, Batch] = {}
        self._graphs.restore({} if record is None else record)

    def _record(self) -> Mapping[str, Any]:
        return {"last_ts": self._last_ts, **self._graphs.record(self._readers())}

    def _saved(self, runs: Reader) -> State:
        """The state of the reader's graph; empty for all but the graph's first reader."""
        first = next(reader for reader in self._readers() if reader is runs or reader.graph is runs.graph)
        return runs.graph.run().snapshot() if runs.graph is not None and first is runs else {}

    def _restore(self, name: str, runs: Reader | None, arrays: State) -> None:
        """Put the reader into its graph of the snapshot; the graph's first reader restores the arrays.

        If that fails, every reader of the graph raises the same error. Arrays of a query that is not bound are kept for
        the graph's next reader.
        """
        if runs is None:
            self._graphs.keep(name, arrays)
            return
        self._graphs.place(runs)
        graph, arrays = runs.graph, arrays or self._graphs.kept(name)
        if graph is None:
            return
        if graph.lost is not None:
            raise graph.lost
        try:
            if arrays:
                graph.run().restore(arrays)
        except Exception as error:
            graph.lost = error
            raise

    # ---------------------------------------------------------------- events

    def _readers(self) -> list[Reader]:
        return [standing.runs for standing in self._standing.values() if standing.runs is not None]

    def _active(self) -> dict[str, Reader]:
        return {name: standing.active for name, standing in self._standing.items() if standing.active is not None}

    def _begin(self, block: Block) -> None:
        for graph in graphs_of_readers(self._active().values()):
            with self._step_of(graph.readers, ADVANCING):
                graph.run().tidy()  # each has been settled at the end of the block before

    def _advance(self, block: Block, begin: int, stop: int, position: int) -> None:
        """Give the events to the graphs, which are settled before them, and collect the results.

        The readers of a graph share its time (ns) in equal parts.
        """
        readers = list(self._active().values())
        some = stop > begin
        graphs = self._graphs.settle(readers, block, begin, self._step_of) if some else graphs_of_readers(readers)
        for graph in graphs:
            with self._step_of(graph.readers, ADVANCING):
                if some:
                    began = self._stopwatch()
                    self._take(graph, block, begin, stop)
                    part = (self._stopwatch() - began) // len(graph.readers)
                    for reader in graph.readers:
                        reader.taken += part
                if graph.running is not None:  # else it waits for its first event
                    graph.running.pass_position(position)
            self._collect(graph)

    def _take(self, graph: SharedGraph, block: Block, begin: int, stop: int) -> None:
        query = graph.run()
        if graph not in self._batches:
            self._batches[graph] = query.batch(block.columns, block.opened.get(graph.readers[0].plan.name, ()))
        query.apply(self._batches[graph], begin, stop)

    def _finish(self, block: Block) -> None:
        """Pass the block's watermark to the graphs, and its end if it has one, and collect the results."""
        if len(block.columns):
            self._last_ts = int(block.columns.ts[-1])
        readers = list(self._active().values())
        for graph in self._graphs.settle(readers, block, len(block.columns), self._step_of):
            with self._step_of(graph.readers, ADVANCING):
                query = graph.run()
                query.pass_time(block.watermark, block.next_seq)
                if block.end:
                    query.end(self._last_ts, block.watermark, block.next_seq)
            self._collect(graph)
        self._batches = {}

    def _collect(self, graph: SharedGraph) -> None:
        """Take the results that have fired."""
        if graph.running is None or not graph.readers:
            return
        rows = graph.running.take_results()
        for reader in list(graph.readers) if len(rows.out) else ():
            standing = self._standing[reader.plan.name]
            with self._step(standing, REPORTING):
                own = graph.own(reader, rows)
                if len(own.out):
                    trends = Trends(reader, self.partition, own)
                    phase = FULL if reader.plan.window.events else DUE
                    self._failures.results.add(standing, Fired(standing.name, trends, phase, trends.deadline))

    # ---------------------------------------------------------------- failures

    def _step_of(self, readers: Sequence[Reader], step: str) -> QueryStep:
        """A step for these readers together: an exception is the fault of one of them, nobody knows whose."""
        if len(readers) == 1:
            return self._step(self._standing[readers[0].plan.name], step)
        concerned = [self._standing[reader.plan.name] for reader in readers]
        names = frozenset(standing.name for standing in concerned)

        def failed(query: StandingQuery[Any], step: str, error: Exception) -> None:
            for standing in concerned:
                self._failures.fail(standing, step, error, names)

        self._note(concerned[0].name, concerned[0].version, together(step))
        return QueryStep(failed, concerned[0], step)

    def _close(self, runs: Reader) -> None:
        runs.leave()

    def _forget_all_of(self, standing: Standing) -> None:
        """Do nothing: a query has no state beside its runs."""

    def _settled(self) -> None:
        """Readers come together, and part, before the next event."""

    # ---------------------------------------------------------------- controls

    def _start(self, standing: Standing, plan: TrendPlan) -> Reader:
        assert self._schema is not None
        reader = Reader(replace(plan, name=standing.name), self._read.known_to(plan).kinds, standing.slot)
        reader.apart = standing.name in self._apart
        return reader

    def _pause(self, runs: Reader) -> None:
        runs.leave()

    def _drop(self, standing: Standing, runs: Reader) -> None:
        runs.leave()

    def _control(self, control: Control, history: History | None) -> None:
        super()._control(control, history)
        if control.kind == "schema":
            self._batches = {}  # to be read again

    def _adopt(self, standing: Standing, runs: Reader) -> None:
        """Bind the query to the new schema. Its new reader takes over the old reader's graph, which `_adopted` changes.

        SchemaError: it cannot be bound any more; its old reader stays until the query has failed.
        """
        standing.runs = None
        self._bind(standing)
        fresh = standing.runs
        if standing.refusal:
            standing.runs = runs
            self._raise_refusal(standing)
        elif fresh is None:  # it has failed
            runs.leave()
        else:
            fresh.instead_of(runs)

    def _adopted(self) -> None:
        for graph in graphs_of_readers(self._readers()):
            with self._step_of(graph.readers, BINDING):
                graph.adopt()

    def _replay(self, standing: Standing, runs: Reader, history: History, position: int) -> None:
        graph = self._graphs.alone(runs)
        replay_past(graph.run(), history(), position)
        rows = graph.own(runs, graph.run().take_results())
        self._failures.results.add(standing, Fired(standing.name, Trends(runs, self.partition, rows, position), PAST))

    def _begin_at(self, body: Mapping[str, Any], position: int) -> None:
        """Open windows are in the record too."""
        super()._begin_at(body, position)
        for name, openings in body.get("windows", {}).items():
            reader = self._standing[name].active if name in self._standing else None
            if reader is not None:
                events = reader.plan.window.events
                self._graphs.alone(reader).openings = tuple((seq if events else ts, seq) for seq, ts in openings)
