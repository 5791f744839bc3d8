"""Graphs of matches as JSON (OUTPUT COMPRESSED): one result for each last event and window, large ones in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.json_pieces import cut
from saffron.engine.match.compressed.graphs import Graphs
from saffron.engine.match.core.kernel_layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.output.render import Matches
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.grouped import Collapsed
from saffron.engine.operators.identity import digits

Ints = NDArray[np.int64]

CHUNK = 1 << 15  # names and numbers in one message, about
_LARGEST = 2**63


class CollapsedMatches(Matches):
    """Results of graphs, one for each chunk, written as `Matches` are. A chunk is nodes [begin, stop) of its graph."""

    def __init__(
        self, runs: QueryRuns, collapsed: Collapsed, name: str, partition: int, position: Ints | None = None
    ) -> None:
        self._graphs = graphs = collapsed.graphs
        self._counts = graphs.counts()
        self._chunks = _chunks(graphs)
        entries = _ends(collapsed)
        row = self._chunks[:, 0]
        super().__init__(runs, entries.only(row), name, partition, None if position is None else position[row])

    def json(self, chosen: Ints) -> list[bytes]:
        """These results as JSON objects."""
        if not len(chosen):
            return []
        found = np.ascontiguousarray(self._found[:, chosen])
        last = self._runs.rows.columns[SEQ][found[LAST_ROW] & self._runs.rows.mask].astype(np.int64)
        ids = digits(self._ids(chosen, np.ones((len(chosen), 1), np.int64), last))
        heads = cut(*self._heads(chosen, *self._span(chosen)))
        return [
            b'{"id":"' + ids[row].tobytes() + head + self._body(number)
            for row, (head, number) in enumerate(zip(heads, chosen.tolist(), strict=True))
        ]

    def _body(self, number: int) -> bytes:
        graph, begin, stop, chunk, chunks = self._chunks[number].tolist()
        count = self._counts[graph]
        said: dict[str, Any] = {"count": count if count < _LARGEST else str(count), "variables": self._variables()}
        if chunks > 1:
            said |= {"chunk": chunk, "chunks": chunks}
        said["nodes"] = self._nodes(graph, begin, stop)
        return b"," + orjson.dumps(said)[1:]

    def _variables(self) -> list[str]:
        plan = self._runs.plan
        return [one.variable + "[]" * one.closure for one in plan.components[: plan.positive]]

    def _nodes(self, graph: int, begin: int, stop: int) -> list[list[Any]]:
        """[variable, seq, numbers of possible predecessors], -1 among these where a match may begin."""
        graphs, plan = self._graphs, self._runs.plan
        nodes = slice(int(graphs.first_node[graph]) + begin, int(graphs.first_node[graph]) + stop)
        names = [*(one.variable for one in plan.components[: plan.positive]), None]
        seqs = self._runs.rows.columns[SEQ][graphs.place[nodes]].tolist()
        edges = graphs.first_before[nodes.start : nodes.stop + 1].tolist()
        before = graphs.before[edges[0] : edges[-1]].tolist()
        made = []
        for k, (component, root) in enumerate(zip(graphs.component[nodes].tolist(), graphs.root[nodes], strict=True)):
            earlier = sorted(before[edges[k] - edges[0] : edges[k + 1] - edges[0]])
            name = names[component]
            made.append([name, None if name is None else seqs[k], [-1, *earlier] if root else earlier])
        return made


def _ends(collapsed: Collapsed) -> Entries:
    """Entries of graphs, one each: first event, last event, window and deadline."""
    graphs, entries = collapsed.graphs, collapsed.entries
    found = entries.found.copy()
    found[FIRST_ROW] = graphs.place[graphs.first_node[:-1]]
    found[LAST_ROW] = graphs.place[graphs.first_node[1:] - 1]
    return Entries(found, entries.lows, entries.serials)


def _chunks(graphs: Graphs) -> Ints:
    """int64 [chunks, 5]: graph, first node and the one behind the last, number of the chunk, how many there are."""
    weight = 3 + np.diff(graphs.first_before)
    before = np.cumsum(weight) - weight
    graph = np.repeat(np.arange(len(graphs)), np.diff(graphs.first_node))
    part = (before - before[graphs.first_node[:-1]][graph]) // CHUNK
    start = np.ones(len(graph), np.bool_)
    start[1:] = (np.diff(graph) != 0) | (np.diff(part) != 0)
    begin = np.flatnonzero(start)
    stop = np.append(begin[1:], len(graph))
    owner = graph[begin]
    first = np.searchsorted(owner, owner)
    chunks = np.bincount(owner, minlength=len(graphs))[owner]
    base = graphs.first_node[owner]
    return np.stack([owner, begin - base, stop - base, np.arange(len(begin)) - first, chunks], axis=1).astype(np.int64)
