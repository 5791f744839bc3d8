"""Queries with OUTPUT COMPRESSED whose matches are found as graphs, never one by one (X5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.kernel_layout import AT_ONCE, DEADLINE_OF, FOUND_ROWS, LAST_ROW
from saffron.engine.match.runs.graph import GraphRuns
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.grouped import Collapsed
from saffron.engine.match.selection.merged import merged

Ints = NDArray[np.int64]


class CollapsedRuns(GraphRuns):
    """As `GraphRuns`, with the graphs of a block as results."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._paused: list[tuple[Collapsed, int]] = []
        super().__init__(*arguments, **options)

    @property
    def ended(self) -> bool:
        """Whether the block has events that may have ended matches."""
        return bool(self._paused) or bool(len(self.ends))

    def collapsed(self) -> list[Collapsed]:
        """The graphs of the block, in the order of results."""
        return [*(self._placed(*one) for one in self._paused), self._collapsed()]

    def forget_matches(self) -> None:
        """The matches of the last block have been published."""
        super().forget_matches()
        self._paused = []

    def forget_runs(self) -> None:
        """Start afresh, as when paused; matches of the block at hand stay readable."""
        self._paused.append((self._collapsed(), self.rows.mask))
        self._ends = []
        super().forget_runs()

    def _collapsed(self) -> Collapsed:
        graphs, lows, serials = self.graphs_by_window()
        if self.told_apart and len(graphs):
            graphs = merged(graphs)
        found = np.zeros((FOUND_ROWS, len(graphs)), np.int64)
        found[LAST_ROW] = graphs.place[graphs.first_node[1:] - 1]
        found[DEADLINE_OF] = AT_ONCE
        own = self.windows.own
        return Collapsed(graphs, Entries(found, lows if own else None, serials if own else None))

    def _placed(self, collapsed: Collapsed, mask: int) -> Collapsed:
        """The same, now that the ring of rows may have grown."""
        tail = self.rows.tail
        place = (tail + ((collapsed.graphs.place - tail) & mask)) & self.rows.mask
        return Collapsed(replace(collapsed.graphs, place=place), collapsed.entries)
