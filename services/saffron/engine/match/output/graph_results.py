"""Graphs of matches as the results of a query (OUTPUT COMPRESSED): no match is ever listed (X5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.match.core.kernel_layout import AT_ONCE, DEADLINE_OF, FOUND_ROWS, LAST_ROW
from saffron.engine.match.output.collapsed import CollapsedMatches
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.parts import Reporter
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.grouped import Collapsed
from saffron.engine.match.selection.merged_nodes import merged
from saffron.engine.operators.results import Fired

Ints = NDArray[np.int64]


class Collapsing(Reporter):
    """A `Reporter` of the graphs that a `Linking` source has, in the order of results."""

    def __init__(self, runs: QueryRuns) -> None:
        super().__init__(runs)
        assert isinstance(runs.source, Linking)
        self._source = runs.source
        self._paused: list[tuple[Collapsed, int]] = []  # and what was then the mask of the ring of rows

    @property
    def unreported(self) -> bool:
        return bool(self._paused) or bool(len(self._source.ends))

    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        graphs = [*(self._placed(*one) for one in self._paused), self._collapsed()]
        return [Fired(name, CollapsedMatches(self.runs, one, name, partition)) for one in graphs]

    def pause(self) -> None:
        self._paused.append((self._collapsed(), self.runs.rows.mask))
        self._source.forget_matches()

    def forget_matches(self) -> None:
        self._paused = []

    def _collapsed(self) -> Collapsed:
        graphs, lows, serials = self._source.graphs_by_window()
        if self._source.told_apart and len(graphs):
            graphs = merged(graphs)
        found = np.zeros((FOUND_ROWS, len(graphs)), np.int64)
        found[LAST_ROW] = graphs.place[graphs.first_node[1:] - 1]
        found[DEADLINE_OF] = AT_ONCE
        own = self.runs.store.windows.own
        return Collapsed(graphs, Entries(found, lows if own else None, serials if own else None))

    def _placed(self, collapsed: Collapsed, mask: int) -> Collapsed:
        """The graphs with places in the ring of rows as it is now: it may have grown."""
        rows = self.runs.rows
        place = (rows.tail + ((collapsed.graphs.place - rows.tail) & mask)) & rows.mask
        return Collapsed(replace(collapsed.graphs, place=place), collapsed.entries)
