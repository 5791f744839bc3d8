"""The overload detector's inputs (P7) beside l_q: the number of partial matches n, and l_p = f(n), l_s = g(n)."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.shed.load.forecast import Forecast
from saffron.engine.shed.load.pace import Pace
from saffron.engine.shed.load.speed import Speed
from saffron.engine.shed.load.taken import Taken

READER = "matcher"
"""The reader whose partial matches can be dropped."""
_MEMORY_MS = 200.0
"""The memory of each query's cost, in ms of a reader's processing time."""
_SILENT_MS = 3_000
"""The time (ms) without a report after which a reader counts as gone, if others report: nothing is decided for it."""


@dataclass(frozen=True)
class Estimate:
    """The detector's estimate at a block: latencies in ms, None where no function has been learned yet.

    `processing`: l_p = f(n) of one event. `shedding`: l_s = g(n). n is over all queries.
    """

    processing: float | None
    shedding: float | None


@dataclass
class Detector:
    """Keeps the newest load of each reader, the latency functions in force, and how far they were off of late.

    f and g come from the model, by one function each for all that happens; what a reader measured on the same events
    corrects them by a factor (`Pace`). Readers work side by side: each has its own speed.
    """

    partial_matches: dict[str, dict[str, int]] = field(default_factory=dict)
    model: LatencyModel | None = None
    _taken: Taken = field(default_factory=Taken)
    _paces: dict[str, Pace] = field(default_factory=dict)
    _forecasts: dict[str, Forecast] = field(default_factory=dict)
    _works: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _heard: dict[str, float] = field(default_factory=dict)

    def observe(self, load: Mapping[str, Any], now_ms: float = 0.0) -> None:
        """Take a load message (schemas/load.yaml) of a reader. It is advice: one without counts changes nothing."""
        counts, by_query = load.get("partial_matches"), load.get("nanoseconds")
        service = str(load.get("service", ""))
        self._heard[service] = now_ms
        if isinstance(counts, Mapping):
            whole = {str(query): count for query, count in counts.items() if type(count) is int and count >= 0}
            self.partial_matches[service] = whole
        queries = by_query if isinstance(by_query, Mapping) and by_query else self.partial_matches.get(service, {})
        self._works[service] = tuple(map(str, queries))
        works = self.partial_matches.get(service) != {}
        if not works:
            self._paces.pop(service, None)  # it has no queries: how fast it is says nothing
        position, nanoseconds, events = load.get("position"), load.get("processing_ns"), load.get("events")
        if type(nanoseconds) is not int or nanoseconds < 0 or type(events) is not int or events <= 0:
            return
        seen: Mapping[str, float] = {}
        if works and type(position) is int:
            seen = self._measured(service, load, position, nanoseconds / 1e6, events)
        if isinstance(by_query, Mapping):
            kept = math.exp(-nanoseconds / 1e6 / _MEMORY_MS)
            unknown = 0.0 if seen else float(events)  # a query that is paused sees nothing
            for query, own in by_query.items():
                self._taken.measured(str(query), max(0.0, float(own)), seen.get(str(query), unknown), events, kept)

    def _measured(
        self, service: str, load: Mapping[str, Any], position: int, milliseconds: float, events: int
    ) -> Mapping[str, float]:
        """Give a reader's report to its pace and its forecast. The result: the events that each query saw, where known.

        `position`: all events before it are done. `events`: since the last report, done in `milliseconds`.
        """
        pace = self._paces.setdefault(service, Pace())
        alive = self.alive_of(service)
        corrects = self.model is not None and self.model.processing is not None
        seen = pace.measured(position, milliseconds, events, alive, corrects=corrects)
        self._forecasts.setdefault(service, Forecast()).reported(position, alive, milliseconds)
        elapsed, other = load.get("elapsed_ns"), load.get("other_ns")
        if type(elapsed) is int and type(other) is int and min(elapsed, other) >= 0:
            commit = load.get("commit_ms", 0.0)
            late = float(commit) if isinstance(commit, int | float) else 0.0
            pace.lived(elapsed / 1e6, milliseconds, other / 1e6, late)
        return seen

    def forget(self, query: str) -> None:
        """Forget a query that is removed, or added again."""
        self._taken.forget(query)

    def forwarded(self, next_seq: int, events: int, partial_matches: float, seen: Mapping[str, float]) -> None:
        """Record a block that goes out with the time that each reader should take, to compare that with its report.

        `partial_matches`: of the matcher, alive beside the block. `seen`: by query in force, the share of the block's
        events that are not masked.
        """
        for service, pace in self._paces.items():
            costs = self.costs(service, seen)
            worth = sum(cost * seen[query] for query, cost in costs.items()) if costs else 1.0
            n = partial_matches if service == READER else self.alive_of(service)
            expected = events * worth * self.speed(service).uncorrected(n)
            pace.forwarded(next_seq, expected, events, worth, seen)

    def behind_others(self, service: str, next_seq: int, known: int) -> None:
        """Record a block that goes out behind others in flight. `known`: the reader's partial matches known of now."""
        self._forecasts.setdefault(service, Forecast()).forwarded(next_seq, known)

    def expected(self, service: str, known: int) -> float:
        """The expected number of a reader's partial matches when a block comes, behind those in flight."""
        return self._forecasts.get(service, Forecast()).expected(known)

    def flying(self, beyond: int) -> float:
        """The work (ms) that was forwarded behind this position and is not known to be done."""
        return max((pace.flying(beyond) for pace in self._paces.values()), default=0.0)

    @property
    def idle(self) -> float:
        """The share of its time for which the busiest reader has waited for work, of late."""
        return min((pace.idle for pace in self._paces.values()), default=0.0)

    @property
    def is_blind(self) -> bool:
        """True if the time of an event is not known yet."""
        return not self._paces and (self.model is None or self.model.processing is None)

    @property
    def alive(self) -> int:
        """The number n of partial matches of all readers and queries."""
        return sum(sum(counts.values()) for counts in self.partial_matches.values())

    def alive_of(self, service: str) -> int:
        """The number n of partial matches of one reader, over all its queries."""
        return sum(self.partial_matches.get(service, {}).values())

    def by_query(self) -> dict[str, int]:
        """Partial matches of each query, over all readers."""
        total: dict[str, int] = {}
        for counts in self.partial_matches.values():
            for query, count in counts.items():
                total[query] = total.get(query, 0) + count
        return total

    def estimate(self) -> Estimate:
        """The latencies at the partial matches that are alive now."""
        model, n = self.model, self.alive
        functions = (None, None) if model is None else (model.processing, model.shedding)
        return Estimate(*(None if one is None else one(n) / 1e6 for one in functions))

    # ------------------------------------------------------------ readers

    @property
    def readers(self) -> list[str]:
        """Names of the readers that work and still report."""
        newest = max(self._heard.values(), default=0)
        return [name for name in self._paces if newest - self._heard.get(name, newest) <= _SILENT_MS]

    def speed(self, service: str) -> Speed:
        """The speed of one reader: measured, or by the model until it is measured."""
        model, pace = self.model, self.pace(service)
        functions = (None, None) if model is None else (model.processing, model.shedding)
        return Speed(*functions, pace.slowness, pace.mean, pace.mean_alive, pace.overshoot, pace.beside)

    def costs(self, service: str, queries: Container[str]) -> dict[str, float]:
        """The recent share of each of `queries` in their time at a reader, as if each saw all events."""
        taken = {query: self._taken.of(query) for query in self._works.get(service, ()) if query in queries}
        whole = sum(taken.values())
        return {query: own / whole for query, own in taken.items()}

    def pace(self, service: str) -> Pace:
        """The measured pace of a reader."""
        return self._paces.get(service) or Pace()
