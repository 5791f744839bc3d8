"""An aggregate query as a reader of a graph: its own numbers, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from saffron.engine.events.strings import Strings
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.core.limits import check
from saffron.engine.trends.core.measures import Measures, measures_of
from saffron.engine.trends.values.returns import Returns, Rows, kinds_of
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind

if TYPE_CHECKING:
    from saffron.engine.trends.queries.shared import SharedGraph
    from saffron.engine.trends.queries.trend_query import TrendQuery


class Reader:
    """A query that is bound. `slot`: its bit in `Columns.dropped`. `graph`: what counts for it, once it is in force.

    `kinds`: kind of each attribute of the stream's schema. `results`: how many it has had. `taken`: ns, its share of
    what its graphs took. `apart`: it shares its graph with nobody, since one of those that shared it has failed.
    Raises SaffronError for what no graph can hold (`limits.check`).
    """

    def __init__(self, plan: TrendPlan, kinds: Mapping[str, Kind], slot: int) -> None:
        check(graphs_of(plan, kinds))
        self.plan = plan
        self.kinds = kinds
        self.slot = slot
        self.results = 0
        self.taken = 0
        self.apart = False
        self.graph: SharedGraph | None = None
        self.key_kinds = kinds_of(plan.key, kinds)
        self._measures = measures_of(plan)
        self.returns = Returns(plan, self._measures, kinds_of(plan.group, kinds))

    @property
    def counting(self) -> TrendQuery:
        """The running query that counts its events."""
        assert self.graph is not None
        return self.graph.run()

    def instead_of(self, other: Reader) -> None:
        """Read what another one of the same query has read, which was bound to an earlier schema."""
        self.results, self.taken, self.graph = other.results, other.taken, other.graph
        if self.graph is not None:
            self.graph.readers[self.graph.readers.index(other)] = self

    def leave(self) -> None:
        """Forget all events: as if the query were added now."""
        if self.graph is not None:
            self.graph.readers.remove(self)
            self.graph = None

    def own(self, rows: Rows, measures: Measures, strings: Strings) -> Rows:
        """The reader's rows, out of those that a graph with these measures found: its windows, its numbers, by its
        HAVING."""
        slide = self.plan.window.slide
        if slide is not None:
            mine = rows.out[:, layout.O_LOW] % slide == 0
            rows = rows if mine.all() else rows.at(np.flatnonzero(mine))
        if measures != self._measures:
            numbers = [measures.numbers.index(one) for one in self._measures.numbers]
            extremes = [measures.extremes.index(one) for one in self._measures.extremes]
            rows = Rows(rows.out, rows.numbers[:, numbers], rows.scales[:, numbers], rows.extremes[:, extremes])
        kept = self.returns.kept(rows, strings)
        self.results += len(kept.out)
        return kept
