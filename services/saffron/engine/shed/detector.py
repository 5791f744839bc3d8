"""The overload detector's inputs (P7) beside l_q: the number of partial matches n, and l_p = f(n), l_s = g(n)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.latency import LatencyFunction
from saffron.engine.models.model import LatencyModel
from saffron.engine.shed.foresight import Foresight
from saffron.engine.shed.pace import Pace
from saffron.engine.shed.taken import Given, Taken

_MEMORY_MS = 200.0
"""Of a reader's processing time, over which is remembered what each of its queries takes."""
_LEAST, _MOST = 0.25, 2.0
"""How far from what was measured f(n) is believed to be in proportion to n, where no model is there."""


@dataclass(frozen=True)
class Estimate:
    """What the detector knows at a block: latencies in ms, None where no function has been learned yet.

    `processing`: l_p = f(n) of one event. `shedding`: l_s = g(n). n is over all queries.
    """

    processing: float | None
    shedding: float | None


@dataclass
class Detector:
    """Keeps the newest load of each reader, the latency functions in force, and how far they were off of late.

    f and g come from the model, by one function each for all that happens; what a reader measured on the same events
    corrects them by a factor (`Pace`); of several readers, which work side by side, the slowest counts.
    """

    partial_matches: dict[str, dict[str, int]] = field(default_factory=dict)
    model: LatencyModel | None = None
    _taken: Taken = field(default_factory=Taken)
    _given: dict[str, Given] = field(default_factory=dict)
    _paces: dict[str, Pace] = field(default_factory=dict)
    _foresight: dict[str, Foresight] = field(default_factory=dict)

    def observe(self, load: Mapping[str, Any]) -> None:
        """A load message (schemas/load.yaml); it is advice, so that one without counts changes nothing."""
        counts = load.get("partial_matches")
        service = str(load.get("service", ""))
        if isinstance(counts, Mapping):
            whole = {str(query): count for query, count in counts.items() if type(count) is int}
            self.partial_matches[service] = whole
        position, nanoseconds, events = load.get("position"), load.get("processing_ns"), load.get("events")
        works = self.partial_matches.get(service) != {}
        if not works:
            self._paces.pop(service, None)  # it has no queries: how fast it is says nothing
        if type(nanoseconds) is not int or type(events) is not int or events <= 0:
            return
        seen = self._given.setdefault(service, Given()).done(position) if type(position) is int else {}
        by_query = load.get("nanoseconds")
        if isinstance(by_query, Mapping):
            kept = math.exp(-nanoseconds / 1e6 / _MEMORY_MS)
            for query, own in by_query.items():
                self._taken.measured(str(query), float(own), seen.get(str(query), float(events)), events, kept)
        if works and type(position) is int:
            pace = self._paces.setdefault(service, Pace())
            alive = sum(self.partial_matches.get(service, {}).values())
            pace.measured(position, nanoseconds / 1e6, events, alive, corrects=self._function is not None)
            self._foresight.setdefault(service, Foresight()).reported(position, alive, nanoseconds / 1e6)
            elapsed, other = load.get("elapsed_ns"), load.get("other_ns")
            if type(elapsed) is int and type(other) is int:
                commit = load.get("commit_ms", 0.0)
                late = float(commit) if isinstance(commit, int | float) else 0.0
                pace.lived(elapsed / 1e6, nanoseconds / 1e6, other / 1e6, late)

    def forget(self, query: str) -> None:
        """The query begins anew, or is gone."""
        self._taken.forget(query)

    def forwarded(
        self, next_seq: int, events: float, partial_matches: float, seen: Mapping[str, float] | None = None
    ) -> None:
        """A block that is worth `events` of which none is masked goes out, beside so many partial matches: compared
        when it has been done. `seen`: by query, how many of its events are not."""
        for service, pace in self._paces.items():
            pace.forwarded(next_seq, events * self.uncorrected(partial_matches), events)
            self._given.setdefault(service, Given()).forwarded(next_seq, seen or {})

    def behind_others(self, service: str, next_seq: int, known: int) -> None:
        """A block goes out while others are in flight, and so many partial matches of a reader are known of."""
        self._foresight.setdefault(service, Foresight()).forwarded(next_seq, known)

    def expected(self, service: str, known: int) -> float:
        """How many partial matches of a reader a block will meet behind those in flight."""
        return self._foresight.get(service, Foresight()).expected(known)

    def flying(self, beyond: int) -> float:
        """ms of work that was forwarded, behind this position, and is not known to be done."""
        return max((pace.flying(beyond) for pace in self._paces.values()), default=0.0)

    @property
    def commit(self) -> float:
        """ms that results wait for their commit once their block is done, with the slowest reader, of late."""
        return max((pace.commit for pace in self._paces.values()), default=0.0)

    @property
    def idle(self) -> float:
        """The share of its time for which the busiest reader has waited for work, of late."""
        return min((pace.idle for pace in self._paces.values()), default=0.0)

    @property
    def is_blind(self) -> bool:
        """Nothing says yet how long an event takes."""
        return not self._paces and self._function is None

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

    def estimate(self) -> Estimate:
        """The latencies at the partial matches that are alive now."""
        n = self.alive
        return Estimate(_ms(self._function, n), _ms(self._of_shedding, n))

    def time(self, query: str) -> float:
        """ns that a query takes of an event that it sees, of late (`Taken.of`)."""
        return self._taken.of(query)

    def shares(self) -> dict[str, float]:
        """By query of the reader that takes longest, the share of its time that it takes, of late; of readers that have
        not told yet nothing is known."""
        if not self._paces:
            return {}
        slowest = max(self._paces, key=lambda service: self._paces[service].mean / self._paces[service].free)
        taken = {query: self.time(query) for query in self.partial_matches.get(slowest, {})}
        whole = sum(taken.values())
        return {query: own / whole for query, own in taken.items()}

    # ------------------------------------------------------------ f, g and f^-1 as they are believed now

    def uncorrected(self, partial_matches: float) -> float:
        """f(n) in ms an event; before a model is there, in proportion to the mean that readers measured."""
        function = self._function
        if function is not None:
            return function(partial_matches) / 1e6
        mean, alive = self._mean
        return mean * min(_MOST, max(_LEAST, partial_matches / alive)) if alive > 0 else mean

    def processing(self, partial_matches: float) -> float:
        """f(n) in ms an event, corrected."""
        return self.uncorrected(partial_matches) * self._slowness

    def shedding(self, partial_matches: float) -> float:
        """g(n) in ms; 0 before it is known."""
        return _ms(self._of_shedding, partial_matches) or 0.0

    def affordable(self, milliseconds: float, at_most: int) -> int:
        """n' = f^-1: how many partial matches leave an event this many ms; all where f is not known."""
        function = self._function
        if function is None:
            whole = self.processing(at_most)
            return at_most if whole <= milliseconds else int(at_most * max(0.0, milliseconds) / whole)
        return function.inverse(milliseconds * 1e6 / self._slowness, at_most)

    @property
    def born(self) -> float:
        """By how many more partial matches are alive after an event, of late."""
        return max((pace.born for pace in self._paces.values()), default=0.0)

    @property
    def overshoot(self) -> float:
        """By how many ms what was done of late took longer than expected, at most: what the safety buffer is for."""
        return max((pace.overshoot for pace in self._paces.values()), default=0.0)

    @property
    def _function(self) -> LatencyFunction | None:
        return self.model.processing if self.model else None

    @property
    def _of_shedding(self) -> LatencyFunction | None:
        return self.model.shedding if self.model else None

    @property
    def _slowness(self) -> float:
        return max((pace.slowness for pace in self._paces.values()), default=1.0)

    @property
    def _mean(self) -> tuple[float, float]:
        """Of the slowest reader: ms an event, and the partial matches beside which that was measured."""
        return max(((pace.mean, pace.mean_alive) for pace in self._paces.values()), default=(0.0, 0.0))


def _ms(function: LatencyFunction | None, partial_matches: float) -> float | None:
    return None if function is None else function(partial_matches) / 1e6
