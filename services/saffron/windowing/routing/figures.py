"""What routes say of themselves once a second, for metrics."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.telemetry.metric_names import (
    ROUTE_LAG,
    ROUTE_WATERMARK,
    ROUTED_EVENTS,
    ROUTES_WAITING,
    TRANSACTION_ABORTS,
)
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.routing.route_chain import WAITS, RouteChain, Routed

_MISSING = "topic"


class RoutingNumbers:
    """Of all streams that this member makes from others."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._told: dict[RouteChain, Routed] = {}

    def report(self, hops: Mapping[str, LastHop[RouteChain]], missing: Collection[str]) -> None:
        """`missing`: streams for which a topic is missing."""
        lags: dict[tuple[str, ...], float] = {}
        watermarks: dict[tuple[str, ...], float] = {}
        waiting: dict[tuple[str, ...], float] = {(stream, reason): 0.0 for stream in hops for reason in WAITS}
        waiting |= {(stream, _MISSING): 1.0 for stream in missing}
        told: dict[RouteChain, Routed] = {}
        for stream, hop in hops.items():
            for where, chain in hop.chains.items():
                labels = (stream, str(where.partition))
                told[chain] = self._count(chain, labels)
                if (lag := hop.lag(where)) is not None:
                    lags[labels] = lag
                if chain.watermark is not None:
                    watermarks[labels] = chain.watermark / 1000
                if chain.waits_for is not None:
                    waiting[stream, chain.waits_for] += 1
        self._told = told
        self._metrics.replace(ROUTE_LAG, lags)
        self._metrics.replace(ROUTE_WATERMARK, watermarks)
        self._metrics.replace(ROUTES_WAITING, waiting)

    def _count(self, chain: RouteChain, labels: tuple[str, str]) -> Routed:
        """Add what has been counted since it was last told."""
        now, before = Routed(chain.routed.events, chain.routed.aborts), self._told.get(chain, Routed())
        self._metrics.add(ROUTED_EVENTS, now.events - before.events, *labels)
        self._metrics.add(TRANSACTION_ABORTS, now.aborts - before.aborts)
        return now
