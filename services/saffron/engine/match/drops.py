"""What carrying out drop orders did and cost: by query for the metrics, as samples of g (P7) for the model builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from saffron.engine.match.keep import keep_best
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.match.stream import Range

Stopwatch = Callable[[], int]
"""Nanoseconds from any start, given by the shell: an operator has no clock, and nothing here changes an answer."""


def no_time() -> int:
    """The stopwatch of an operator that nobody measures."""
    return 0


class Drops:
    """Drop orders since the start of this operator; `total` goes on from a snapshot."""

    def __init__(self, stopwatch: Stopwatch, total: int = 0) -> None:
        self.total = total
        self._stopwatch = stopwatch
        self._events: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._losses: dict[str, float] = {}
        self._nanoseconds = 0
        self._samples: list[tuple[int, int]] = []

    def carry_out(self, standing: Mapping[str, QueryRuns], body: Mapping[str, Any]) -> Iterable[str]:
        """Execute one order on the queries that run, measured if there was something to drop; of which queries."""
        order = read_order(body)
        live = sum(standing[name].live for name in order.queries if name in standing)
        began = self._stopwatch()
        dropped = keep_best(standing, order)
        nanoseconds = self._stopwatch() - began
        if not dropped.count:
            return ()
        self.total += dropped.count
        for query, count in dropped.counts.items():
            self._counts[query] = self._counts.get(query, 0) + count
            self._losses[query] = self._losses.get(query, 0.0) + dropped.losses[query]
        self._nanoseconds += nanoseconds
        self._samples.append((live, nanoseconds))
        return dropped.counts

    def masked(self, part: Range, slots: Mapping[str, int]) -> None:
        """Some events come, of which those that are dropped for a query (by its slot) are as if they did not."""
        if part.columns.dropped is None:
            return
        for query, slot in slots.items():
            dropped = part.dropped(slot)
            if dropped is not None:
                self._events[query] = self._events.get(query, 0) + int(np.count_nonzero(dropped))

    def statistics(self) -> Mapping[str, Any]:
        """`dropped_events`, `dropped` partial matches and `loss` (expected matches missed) are by query, `shedding_ns`
        all orders together."""
        return {
            "dropped_events": dict(self._events),
            "dropped_partial_matches": self.total,
            "dropped": dict(self._counts),
            "loss": dict(self._losses),
            "shedding_ns": self._nanoseconds,
        }

    def rows(self) -> list[Mapping[str, Any]]:
        """Rows for `observations.latency` since the last call: how long an order took that met so many live runs."""
        samples, self._samples = self._samples, []
        return [{"partial_matches": live, "nanoseconds": nanoseconds} for live, nanoseconds in samples]
