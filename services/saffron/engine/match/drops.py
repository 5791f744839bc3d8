"""The effects and costs of drop orders: by query for the metrics, as samples of g (P7) for the model builder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.stream import Range
from saffron.engine.match.keep import keep_best, utilities
from saffron.engine.match.output.render import Written
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.candidates import candidates
from saffron.engine.match.shedding.orders import Order, Worth
from saffron.engine.match.shedding.retained import Retained
from saffron.engine.match.shedding.tracked import Tracked
from saffron.engine.operators.sampled import is_sampled
from saffron.engine.operators.stopwatch import Stopwatch

FOLLOWED = 0.02
"""The share of partial matches, by first events, of which a sample is noted first; orders decide whether they retain
it.
"""


class Drops:
    """Drop orders since the start of this operator; `total` goes on from a snapshot."""

    def __init__(self, stopwatch: Stopwatch, record: Mapping[str, Any] | None = None) -> None:
        given = record or {"dropped": 0, "spared": {}, "followed": {}}
        self.total = int(given["dropped"])
        self._spared = {name: Retained.of(one) for name, one in given["spared"].items()}
        self._followed = {name: Tracked(one) for name, one in given["followed"].items()}
        self._stopwatch = stopwatch
        self._events: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._losses: dict[str, float] = {}
        self._orders: dict[str, tuple[Worth, float]] = {}
        self.nanoseconds = 0
        self._samples: list[tuple[int, int]] = []

    def record(self) -> dict[str, Any]:
        """The record for a snapshot: numbers of dropped partial matches, and notes of retained and of tracked ones."""
        return {
            "dropped": self.total,
            "spared": {name: one.record() for name, one in self._spared.items()},
            "followed": {name: one.record() for name, one in self._followed.items()},
        }

    def note(self, first: int, count: int, name: str, runs: QueryRuns, one_in: int) -> None:
        """Note some partial matches of a query to track, before a block of `count` events that begins with `first`.

        This happens before one block of `one_in`, and less often where the partial matches are many.
        """
        seldom = max(one_in, runs.held // count) if one_in > 1 else 1
        if runs.composed or not runs.held or not is_sampled(first, seldom):
            return
        own = self._followed.setdefault(name, Tracked())
        if not own.full:
            found, (worth, share) = candidates(runs), self._orders.get(name, (None, FOLLOWED))
            ranked = None if worth is None or worth.random else utilities(found, worth, runs)
            own.note(first, runs.clock, runs.plan.window.size, found, share, ranked)

    def told(self, query: str) -> list[list[int]]:
        """Outcomes of tracked partial matches that became known since the last call: see `Tracked.rows`."""
        return self._followed[query].rows() if query in self._followed else []

    def carry_out(self, standing: Mapping[str, QueryRuns], order: Order, position: int) -> Iterable[str]:
        """Execute one order on the queries that run, measured if there was something to drop; of which queries.

        `position`: where it stands; all events before it have been taken.
        """
        live = sum(standing[name].live for name in order.queries if name in standing)
        self._orders |= {name: (worth, order.followed) for name, worth in order.queries.items()}
        began = self._stopwatch()
        dropped = keep_best(standing, order, self._spared)
        nanoseconds = self._stopwatch() - began
        for query, runs in dropped.spared.items():
            own = self._spared.setdefault(query, Retained())
            own.note(position, runs.first, runs.last, runs.until, runs.expected, runs.weight, runs.alike)
            own.forget(runs.gone)
        if not dropped.count:
            return ()
        self.total += dropped.count
        for query in dropped.counts.keys() & self._followed.keys():
            self._followed[query].void(order.followed)
        for query, count in dropped.counts.items():
            self._counts[query] = self._counts.get(query, 0) + count
            self._losses[query] = self._losses.get(query, 0.0) + dropped.losses[query]
        self.nanoseconds += nanoseconds
        self._samples.append((live, nanoseconds))
        return dropped.counts

    def found(self, query: str, part: Written) -> None:
        """Count the matches that a query reports for its tracked and retained partial matches."""
        spared, followed = self._spared.get(query, Retained()), self._followed.get(query, Tracked())
        if not len(part) or not (spared.notes or len(followed)):
            return
        near = followed.have(part.first) | np.isin(part.first, np.fromiter(spared.notes, np.int64))
        if not near.any():
            return
        counts, places = part.events_of(np.flatnonzero(near))
        seqs = part.stored.columns[SEQ][places].astype(np.int64)
        if len(followed):
            followed.match(seqs, counts)
        first = np.minimum.reduceat(seqs, np.cumsum(counts) - counts)
        noted = np.flatnonzero(np.isin(first, np.fromiter(spared.notes, np.int64)))
        for events in np.split(seqs, np.cumsum(counts)[:-1]) if len(noted) else ():
            spared.match(np.sort(events))

    def passed(self, query: str, runs: QueryRuns) -> None:
        """End a block of a query, whose matches are reported: settle the partial matches whose windows are over."""
        if query in self._spared:
            self._spared[query].passed(runs.clock)
        if query in self._followed:
            self._followed[query].passed(runs.clock, runs.plan.window.size)

    def let_go(self, query: str) -> None:
        """Forget the query's tracked and retained partial matches: all of its partial matches are gone."""
        self._spared.pop(query, None)
        self._followed.pop(query, None)

    def forget(self, query: str) -> None:
        """Forget all counts of a query that begins anew or is removed: another one of its name counts from 0."""
        self.let_go(query)
        for known in (self._events, self._counts, self._losses, self._orders):
            known.pop(query, None)

    def masked(self, part: Range, query: str, slot: int) -> None:
        """Count the events of a part that are masked for a query (by its slot)."""
        dropped = part.dropped(slot)
        if dropped is not None:
            self._events[query] = self._events.get(query, 0) + int(np.count_nonzero(dropped))
            if query in self._followed:
                self._followed[query].censor()

    def statistics(self) -> Mapping[str, Any]:
        """The counts of dropping since the start of this operator.

        By query: `dropped_events`, `dropped` (partial matches), `loss` (expected matches missed), `loss_ratio` (lost
        matches over those that the model expects) and `trials` of the order of utility. Of all orders together:
        `dropped_partial_matches` and `shedding_ns`.
        """
        return {
            "dropped_events": dict(self._events),
            "dropped_partial_matches": self.total,
            "dropped": dict(self._counts),
            "loss": {
                query: self._spared.get(query, Retained()).corrected(loss) for query, loss in self._losses.items()
            },
            "loss_ratio": {query: one.ratio for query, one in self._spared.items()},
            "trials": {query: one.tried.sums for query, one in self._followed.items() if one.tried.sums.count},
            "shedding_ns": self.nanoseconds,
        }

    def rows(self) -> list[Mapping[str, Any]]:
        """Rows for `observations.latency` since the last call: (live runs, ns) of each order."""
        samples, self._samples = self._samples, []
        return [{"partial_matches": live, "nanoseconds": nanoseconds} for live, nanoseconds in samples]
