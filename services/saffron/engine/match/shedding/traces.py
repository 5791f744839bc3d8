"""Traced matches: samples of matches with the positions of their events, on which learned orders of events are tried.

The orders were not learned from them. While something of a query is dropped, the traced matches are the true matches
that its shadow samples. Once no event has been dropped for a window, they are all matches that it reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.output.render import Written
from saffron.engine.match.runs.query_runs import QueryRuns

MOST_TRACED, MOST_OF_ONE = 32, 64
"""MOST_TRACED: matches of a query with listed events. MOST_OF_ONE: listed events of one match."""
_WINDOWS = 2
"""Windows after the last drop in which matches are traced."""


@dataclass
class Traced:
    """The traced matches of one query. `count`: their number. `newest`: positions of the events of the last ones.

    `masked`: the time up to which a dropped event may be missing from a match. `until`: the time up to which matches
    are traced.
    """

    count: int = 0
    newest: list[list[int]] = field(default_factory=list)
    masked: int = -(2**62)
    until: int = -(2**62)

    def add(self, part: Written, chosen: NDArray[np.intp]) -> None:
        """Add the chosen matches of a part of the results."""
        if not len(chosen):
            return
        counts, places = part.events_of(chosen[-MOST_TRACED:])
        seqs = part.stored.columns[SEQ][places].astype(np.int64)
        events = [one[:MOST_OF_ONE].tolist() for one in np.split(seqs, np.cumsum(counts)[:-1])]
        self.newest = [*self.newest, *events][-MOST_TRACED:]
        self.count += len(chosen)


class Traces:
    """The traces of all queries of an operator, since its start."""

    def __init__(self) -> None:
        self._of: dict[str, Traced] = {}

    def of(self, query: str) -> Traced:
        """The traces of a query; empty ones if it has none yet."""
        return self._of.setdefault(query, Traced())

    def dropping(self, query: str, runs: QueryRuns, instant: int, *, events: bool) -> None:
        """Record that events or partial matches of a query are dropped at this instant."""
        own, window = self.of(query), runs.plan.window.size
        own.until = max(own.until, instant + _WINDOWS * window)
        if events:
            own.masked = max(own.masked, instant + window)

    def reported(self, query: str, runs: QueryRuns, found: Sequence[Written]) -> None:
        """Trace the matches that a query has reported in a block."""
        own = self._of.get(query)
        if own is not None and own.masked < runs.clock <= own.until:
            for part in found:
                own.add(part, np.arange(len(part)))

    def forget(self, query: str) -> None:
        """Forget a query that begins anew or is removed."""
        self._of.pop(query, None)

    def statistics(self) -> Mapping[str, Traced]:
        """The traces of each query that has any."""
        return {query: one for query, one in self._of.items() if one.count}
