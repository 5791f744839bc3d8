"""The overload detector's inputs (P7): l_q, the number of partial matches, and l_p = f(n), l_s = g(n)."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.latency import LatencyFunction
from saffron.engine.models.model import LatencyModel

_SMOOTH = 0.1
_MEMORY_MS = 200.0
"""Of processing time, over which what was measured is remembered."""
_FURTHEST = 16.0
"""What was measured corrects the functions by at most this factor, either way."""


@dataclass(frozen=True)
class Estimate:
    """What the detector knows at a block. Latencies in ms; None where no function has been learned yet.

    `queueing`: l_q, how long the block's oldest event has waited. `processing`: l_p = f(n) of one event.
    `shedding`: l_s = g(n). `partial_matches`: n, over all queries.
    """

    queueing: float
    processing: float | None
    shedding: float | None
    partial_matches: int

    @property
    def latency(self) -> float:
        """l_q + l_p + l_s, what is compared with the bound (functions not learned yet count as 0)."""
        return self.queueing + (self.processing or 0.0) + (self.shedding or 0.0)


@dataclass
class Detector:
    """Keeps the newest load of each reader, the latency functions in force, and how far they were off of late.

    f and g come from the model, by one function each for all that happens; what a reader measured on the same events
    corrects them by a factor: time measured over time expected, of late. `times`: ns by query, of late.
    """

    partial_matches: dict[str, dict[str, int]] = field(default_factory=dict)
    model: LatencyModel | None = None
    factor: float = 1.0
    times: dict[str, float] = field(default_factory=dict)
    _predicted: deque[tuple[int, float]] = field(default_factory=deque)
    _mean: float | None = None
    _expected: float = _MEMORY_MS
    _spent: float = _MEMORY_MS

    def observe(self, load: Mapping[str, Any]) -> None:
        """A load message (schemas/load.yaml); it is advice, so that one without counts changes nothing."""
        counts = load.get("partial_matches")
        if isinstance(counts, Mapping):
            whole = {str(query): count for query, count in counts.items() if type(count) is int}
            self.partial_matches[str(load.get("service", ""))] = whole
        for query, own in load.get("nanoseconds", {}).items():
            before = self.times.get(query, float(own))
            self.times[query] = before + _SMOOTH * (own - before)
        position, nanoseconds, events = load.get("position"), load.get("processing_ns"), load.get("events")
        if type(position) is int and type(nanoseconds) is int and type(events) is int and events > 0:
            self._measured(position, nanoseconds / 1e6, events)

    def forwarded(self, next_seq: int, events: float, partial_matches: int) -> None:
        """A block of which `events` stay goes out, beside so many partial matches: compared when it has been done."""
        self._predicted.append((next_seq, events * self.uncorrected(partial_matches)))

    def _measured(self, position: int, milliseconds: float, events: int) -> None:
        expected = 0.0
        while self._predicted and self._predicted[0][0] <= position:
            expected += self._predicted.popleft()[1]
        mean = milliseconds / events
        self._mean = mean if self._mean is None else self._mean + _SMOOTH * (mean - self._mean)
        if self.model is None or self.model.processing is None:
            return
        kept = math.exp(-expected / _MEMORY_MS)
        self._expected = kept * self._expected + expected
        self._spent = kept * self._spent + milliseconds
        self.factor = min(_FURTHEST, max(1 / _FURTHEST, self._spent / self._expected))

    @property
    def alive(self) -> int:
        """n, over all readers and queries."""
        return sum(sum(counts.values()) for counts in self.partial_matches.values())

    def by_query(self) -> dict[str, int]:
        """Partial matches of each query, over all readers."""
        total: dict[str, int] = {}
        for counts in self.partial_matches.values():
            for query, count in counts.items():
                total[query] = total.get(query, 0) + count
        return total

    def estimate(self, queueing_ms: float) -> Estimate:
        """The inputs of the decision for a block whose oldest event has waited `queueing_ms`."""
        n = self.alive
        processing = self.model.processing if self.model else None
        shedding = self.model.shedding if self.model else None
        return Estimate(queueing_ms, _ms(processing, n), _ms(shedding, n), n)

    # ------------------------------------------------------------ f, g and f^-1 as they are believed now

    def uncorrected(self, partial_matches: float) -> float:
        """f(n) in ms an event; before a model is there, the mean that readers measured."""
        function = self.model.processing if self.model else None
        return (self._mean or 0.0) if function is None else function(partial_matches) / 1e6

    def processing(self, partial_matches: float) -> float:
        """f(n) in ms an event, corrected."""
        return self.uncorrected(partial_matches) * self.factor

    def shedding(self, partial_matches: float) -> float:
        """g(n) in ms; 0 before it is known."""
        function = self.model.shedding if self.model else None
        return 0.0 if function is None else function(partial_matches) / 1e6

    def affordable(self, milliseconds: float, at_most: int) -> int:
        """n' = f^-1: how many partial matches leave an event this many ms; all where f is not known."""
        function = self.model.processing if self.model else None
        if function is None:
            mean = self._mean or 0.0
            return at_most if mean <= milliseconds else int(at_most * max(0.0, milliseconds) / mean)
        return function.inverse(milliseconds * 1e6 / self.factor, at_most)


def _ms(function: LatencyFunction | None, partial_matches: int) -> float | None:
    return None if function is None else function(partial_matches) / 1e6
