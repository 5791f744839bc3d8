"""What carrying out drop orders did and cost: by query for the metrics, as samples of g (P7) for the model builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from saffron.engine.match.keep import keep_best
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.render import Written
from saffron.engine.match.rows import SEQ
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.match.shedding.spared import Spared
from saffron.engine.match.stream import Range
from saffron.engine.match.timed_out import TimedOutRuns
from saffron.engine.results import Part

Stopwatch = Callable[[], int]
"""Nanoseconds from any start, given by the shell: an operator has no clock, and nothing here changes an answer."""


def no_time() -> int:
    """The stopwatch of an operator that nobody measures."""
    return 0


class Drops:
    """Drop orders since the start of this operator; `total` goes on from a snapshot."""

    def __init__(
        self, stopwatch: Stopwatch, total: int = 0, spared: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.total = total
        self._spared = {name: Spared.of(one) for name, one in (spared or {}).items()}
        self._stopwatch = stopwatch
        self._events: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._losses: dict[str, float] = {}
        self._nanoseconds = 0
        self._samples: list[tuple[int, int]] = []

    @property
    def spared(self) -> dict[str, Any]:
        """What is noted of spared partial matches, for a snapshot."""
        return {name: one.record() for name, one in self._spared.items()}

    def carry_out(self, standing: Mapping[str, QueryRuns], body: Mapping[str, Any], position: int) -> Iterable[str]:
        """Execute one order on the queries that run, measured if there was something to drop; of which queries.

        `position`: where it stands; all events before it have been taken.
        """
        order = read_order(body)
        live = sum(standing[name].live for name in order.queries if name in standing)
        began = self._stopwatch()
        dropped = keep_best(standing, order, self._spared)
        nanoseconds = self._stopwatch() - began
        for query, runs in dropped.spared.items():
            own = self._spared.setdefault(query, Spared())
            own.note(position, runs.first, runs.last, runs.until, runs.expected, runs.weight, runs.alike)
            own.forget(runs.gone)
        if not dropped.count:
            return ()
        self.total += dropped.count
        for query, count in dropped.counts.items():
            self._counts[query] = self._counts.get(query, 0) + count
            self._losses[query] = self._losses.get(query, 0.0) + dropped.losses[query]
        self._nanoseconds += nanoseconds
        self._samples.append((live, nanoseconds))
        return dropped.counts

    def found(self, query: str, part: Part) -> None:
        """What a query reports."""
        own = self._spared.get(query)
        if own is None or not own.notes or not isinstance(part, Written) or isinstance(part, TimedOutRuns):
            return
        if not len(part):
            return
        counts, places = part.events_of(np.arange(len(part)))
        seqs = part.stored.columns[SEQ][places].astype(np.int64)
        first = np.minimum.reduceat(seqs, np.cumsum(counts) - counts)
        noted = np.flatnonzero(np.isin(first, np.fromiter(own.notes, np.int64)))
        for events in np.split(seqs, np.cumsum(counts)[:-1]) if len(noted) else ():
            own.match(np.sort(events))

    def passed(self, query: str, runs: QueryRuns) -> None:
        """What the query found in the block has been reported."""
        if query in self._spared:
            self._spared[query].passed(runs.clock)

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        self._spared.pop(query, None)

    def masked(self, part: Range, slots: Mapping[str, int]) -> None:
        """Some events come, of which those that are dropped for a query (by its slot) are as if they did not."""
        if part.columns.dropped is None:
            return
        for query, slot in slots.items():
            dropped = part.dropped(slot)
            if dropped is not None:
                self._events[query] = self._events.get(query, 0) + int(np.count_nonzero(dropped))

    def statistics(self) -> Mapping[str, Any]:
        """`dropped_events`, `dropped` partial matches, `loss` (expected matches missed) and `loss_ratio` (by what they
        are more than the model says) are by query, `shedding_ns` all orders together."""
        return {
            "dropped_events": dict(self._events),
            "dropped_partial_matches": self.total,
            "dropped": dict(self._counts),
            "loss": {query: self._spared.get(query, Spared()).corrected(loss) for query, loss in self._losses.items()},
            "loss_ratio": {query: one.ratio for query, one in self._spared.items()},
            "shedding_ns": self._nanoseconds,
        }

    def rows(self) -> list[Mapping[str, Any]]:
        """Rows for `observations.latency` since the last call: how long an order took that met so many live runs."""
        samples, self._samples = self._samples, []
        return [{"partial_matches": live, "nanoseconds": nanoseconds} for live, nanoseconds in samples]
