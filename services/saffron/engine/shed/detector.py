"""The overload detector's inputs (P7): l_q, the number of partial matches, and l_p = f(n), l_s = g(n)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.latency import LatencyFunction
from saffron.engine.models.model import LatencyModel


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
    """Keeps the newest load of each reader, and the latency functions in force."""

    partial_matches: dict[str, dict[str, int]] = field(default_factory=dict)
    model: LatencyModel | None = None

    def observe(self, load: Mapping[str, Any]) -> None:
        """A load message (schemas/load.yaml); it is advice, so that one without counts changes nothing."""
        counts = load.get("partial_matches")
        if isinstance(counts, Mapping):
            whole = {str(query): count for query, count in counts.items() if type(count) is int}
            self.partial_matches[str(load.get("service", ""))] = whole

    def by_query(self) -> dict[str, int]:
        """Partial matches of each query, over all readers."""
        total: dict[str, int] = {}
        for counts in self.partial_matches.values():
            for query, count in counts.items():
                total[query] = total.get(query, 0) + count
        return total

    def estimate(self, queueing_ms: float) -> Estimate:
        """The inputs of the decision for a block whose oldest event has waited `queueing_ms`."""
        n = sum(self.by_query().values())
        processing = self.model.processing if self.model else None
        shedding = self.model.shedding if self.model else None
        return Estimate(queueing_ms, _ms(processing, n), _ms(shedding, n), n)


def _ms(function: LatencyFunction | None, partial_matches: int) -> float | None:
    return None if function is None else function(partial_matches) / 1e6
