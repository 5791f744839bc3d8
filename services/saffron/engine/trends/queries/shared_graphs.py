"""The assignment of queries to shared graphs: decided anew wherever a query comes or goes, before the next event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import COMPILING, QueryStep, is_of_query
from saffron.engine.operators.operator import State
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.queries.shared import SharedGraph
from saffron.language.plan.trend_plan import TrendAggregate
from saffron.language.trends.sharing import graph_of
from saffron.language.trends.trend_graphs import scanned, scanned_at_first, scanning
from saffron.schema.schema import Kind

Given = tuple[bytes, tuple[int, ...]]
"""A reader's part of a block beside the events: the mask of events dropped for it, and its windows' openings."""
TakeStep = Callable[[Sequence[Reader], str], QueryStep]
"""A step that is taken for all these readers together."""


@dataclass
class SharedGraphs:
    """The graphs of all readers in force. `shares`: False gives each reader its own."""

    compiled: bool
    shares: bool
    _results: Mapping[str, int] = field(default_factory=dict)
    _saved: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _restored: dict[int, SharedGraph] = field(default_factory=dict)
    _kept: dict[int, State] = field(default_factory=dict)

    def alone(self, reader: Reader) -> SharedGraph:
        """A graph for a reader, as if it were the only one, until the next event."""
        return SharedGraph.of(reader, compiled=self.compiled)

    def settle(self, readers: Sequence[Reader], block: Block, begin: int, step: TakeStep) -> list[SharedGraph]:
        """The graphs for the events of the block from the `begin`-th on, each reader in one of them; all are ready.

        `step`: ends an exception with the readers that it is about, which leave their graphs.
        """
        for reader in readers:
            if reader.graph is None:
                self.alone(reader)
        if len(readers) > 1:
            self._share(readers, block, begin, step)
        for graph in graphs_of_readers(readers):
            with step(graph.readers, COMPILING):
                graph.run()
                self._note(graph, block, begin)
        return graphs_of_readers(readers)

    def _share(self, readers: Sequence[Reader], block: Block, begin: int, step: TakeStep) -> None:
        """Readers come together in one graph, and part."""
        if self.shares:
            for graph in _shared(readers):
                with step(graph.readers, COMPILING):
                    self._part(graph, block, begin)
            self._unite(graphs_of_readers(readers), block, begin, step)
        for graph in _shared(readers):
            if graph.running is None:
                with step(graph.readers, COMPILING):
                    _compile_or_part(graph)

    def _note(self, graph: SharedGraph, block: Block, begin: int) -> None:
        """Note the point from which on the graph has had every event.

        It is before the graph's first event, or behind a block of which the graph lacks events.
        """
        events = graph.plan.window.events
        if graph.since is None:
            graph.since = _point(block, begin, events=events) - events
        if _given(graph.readers[0], block, begin)[0]:
            graph.since = _point(block, len(block.columns) - 1, events=events)

    # ---------------------------------------------------------------- snapshots

    def record(self, readers: Sequence[Reader]) -> dict[str, Any]:
        """The shared graphs as JSON values: their readers, their aggregates, and the number of results so far."""
        by_graph: dict[SharedGraph, list[str]] = {}
        for reader in readers:
            if reader.graph is not None:
                by_graph.setdefault(reader.graph, []).append(reader.plan.name)
        graphs = [
            {
                "readers": names,
                "slide": graph.plan.window.slide,
                "since": graph.since,
                "scanned": scanned(graph.plan),
                "literals": graph.literals if graph.running is None else graph.running.needs.strings,
                "aggregates": [
                    [one.function, one.component, one.attribute, None if one.kind is None else one.kind.value]
                    for one in graph.plan.aggregates
                ],
            }
            for graph, names in by_graph.items()
        ]
        return {"graphs": graphs, "results": {reader.plan.name: reader.results for reader in readers}}

    def restore(self, record: Mapping[str, Any]) -> None:
        """Restore the state of `record`; readers, bound anew, are then put in their graphs one by one (`place`)."""
        self._results = record.get("results", {})
        self._saved = {name: one for one in record.get("graphs", ()) for name in one["readers"]}
        self._restored, self._kept = {}, {}

    def keep(self, name: str, arrays: State) -> None:
        """Keep the snapshot arrays of a reader that cannot be bound again, for the next reader of its graph."""
        if arrays and name in self._saved:
            self._kept[id(self._saved[name])] = arrays

    def kept(self, name: str) -> State:
        """The arrays kept for a reader's graph; each only once."""
        return self._kept.pop(id(self._saved.get(name)), {})

    def place(self, reader: Reader) -> None:
        """Put a reader into its graph of the snapshot, without the graph's contents."""
        reader.results = self._results[reader.plan.name]
        saved = self._saved.get(reader.plan.name)
        if saved is None:
            return
        if id(saved) in self._restored:
            self._restored[id(saved)].add(reader)
            return
        aggregates = tuple(
            TrendAggregate(function, component, attribute, None if kind is None else Kind(kind))
            for function, component, attribute, kind in saved["aggregates"]
        )
        window = replace(reader.plan.window, slide=saved["slide"])
        plan = replace(graph_of(reader.plan), aggregates=aggregates, window=window)
        plan = scanning(plan, saved["scanned"] if "scanned" in saved else scanned_at_first(plan))
        self._restored[id(saved)] = SharedGraph(
            plan, self.compiled, [reader], since=saved["since"], literals=saved.get("literals")
        )

    # ---------------------------------------------------------------- who is with whom

    def _part(self, graph: SharedGraph, block: Block, begin: int) -> None:
        """Readers that are given something else than the first one go on with a copy."""
        by_given: dict[Given, list[Reader]] = {}
        for reader in graph.readers:
            by_given.setdefault(_given(reader, block, begin), []).append(reader)
        for apart in list(by_given.values())[1:]:
            graph.copy_for(apart)

    def _unite(self, graphs: Sequence[SharedGraph], block: Block, begin: int, step: TakeStep) -> None:
        """Make as few graphs as possible of those that are alike. Readers that are `apart` keep graphs of their own.

        `begin`, `step`: as in `settle`.
        """
        alike: dict[str, list[SharedGraph]] = {}
        for graph in graphs:
            if not graph.readers[0].apart:
                alike.setdefault(graph.alike, []).append(graph)
        for candidates in alike.values():
            if len(candidates) > 1:
                with step([reader for graph in candidates for reader in graph.readers], COMPILING):
                    self._fold(candidates, block, begin)

    def _fold(self, candidates: Sequence[SharedGraph], block: Block, begin: int) -> None:
        """Put the readers of alike graphs into as few graphs as possible; `begin`: the row of the next event.

        An empty graph joins empty ones; a graph with events joins those with the same open windows. The events to come
        must be the same for all readers of a graph.
        """
        hosts: dict[object, list[SharedGraph]] = {}
        point = _point(block, begin, events=candidates[0].plan.window.events)
        for graph in candidates:
            empty = graph.begins(point) is not None
            known = None if empty else graph.whole()
            if not empty and known is None:
                continue  # it has state that no other graph can have
            beside = hosts.setdefault((_given(graph.readers[0], block, begin), known), [])
            for number, host in enumerate(beside):
                made = host.with_readers(graph, point) if empty else host.instead_of(graph)
                if made is not None:
                    beside[number] = made
                    break
            else:
                beside.append(graph)


def _compile_or_part(graph: SharedGraph) -> None:
    """Make an empty graph's counting state; if its kernels do not compile, give each reader a graph of its own."""
    try:
        graph.run()
    except Exception as error:  # a reader that is at fault finds out by itself
        if not is_of_query(error):
            raise
        graph.part()


def _shared(readers: Iterable[Reader]) -> Iterator[SharedGraph]:
    """The graphs with several readers, out of the graphs of these."""
    return (graph for graph in graphs_of_readers(readers) if len(graph.readers) > 1)


def graphs_of_readers(readers: Iterable[Reader]) -> list[SharedGraph]:
    """Their graphs, each once."""
    return list(dict.fromkeys(reader.graph for reader in readers if reader.graph is not None))


def _given(reader: Reader, block: Block, begin: int) -> Given:
    columns = block.columns
    dropped = b""
    if columns.dropped is not None and reader.slot >= 0:
        bits = (columns.dropped[begin:] >> np.uint64(reader.slot)) & np.uint64(1)
        dropped = np.packbits(bits.astype(np.bool_)).tobytes() if bits.any() else b""
    first = int(columns.seq[begin]) if begin < len(columns) else block.next_seq
    return dropped, tuple(seq for seq in block.opened.get(reader.plan.name, ()) if seq >= first)


def _point(block: Block, begin: int, *, events: bool) -> int:
    """A time, or position, that the next event is not before."""
    columns = block.columns
    if begin < len(columns):
        return int(columns.seq[begin] if events else columns.ts[begin])
    return block.next_seq if events else max(block.watermark, -(2**61))
