"""Metrics of routed streams, once a second."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from saffron.mapping.tables.table import Table
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.routing.route_chain import WAITS, RouteChain
from saffron.windowing.routing.route_plans import route_labels

_COUNTERS = (
    names.ROUTED_EVENTS,
    names.MISTYPED_VALUES,
    names.FILTERED,
    names.WITHOUT_ARRAY,
    names.TABLE_MISSES,
)
_MISSING = "topic"


class RouteMetrics:
    """Reporter of all routed streams of one member. `merged`: whether a stream has several topics."""

    def __init__(self, metrics: Metrics, merged: Callable[[str], bool]) -> None:
        self._metrics = metrics
        self._merged = merged

    def report(self, hops: Mapping[str, LastHop[RouteChain]], missing: Collection[str]) -> None:
        """Updates the metrics. `missing`: streams with a missing topic."""
        lags: dict[tuple[str, ...], float] = {}
        watermarks: dict[tuple[str, ...], float] = {}
        waiting: dict[tuple[str, ...], float] = {(stream, reason): 0.0 for stream in hops for reason in WAITS}
        waiting |= {(stream, _MISSING): 1.0 for stream in missing}
        for stream, hop in hops.items():
            for where, chain in hop.chains.items():
                labels = route_labels(stream, where, merged=self._merged(stream))
                self._metrics.add(names.TRANSACTION_ABORTS, 0)  # a counter that begins at 1 shows no increase
                for counter in _COUNTERS:
                    self._metrics.add(counter, 0, *labels)
                if (lag := hop.lag(where)) is not None:
                    lags[labels] = lag
                if chain.watermark is not None:
                    watermarks[labels] = chain.watermark / 1000
                if chain.waits_for is not None:
                    waiting[stream, chain.waits_for] += 1
        self._metrics.replace(names.ROUTE_LAG, lags)
        self._metrics.replace(names.ROUTE_WATERMARK, watermarks)
        self._metrics.replace(names.ROUTES_WAITING, waiting)

    def report_tables(self, streams: Mapping[str, Mapping[str, Table]]) -> None:
        """Updates the metrics of the tables of each stream."""
        tables = {(stream, name): table for stream, some in streams.items() for name, table in some.items()}
        self._metrics.replace(names.TABLE_ROWS, {labels: len(table) for labels, table in tables.items()})
        self._metrics.replace(names.TABLE_BYTES, {labels: table.size for labels, table in tables.items()})
        self._metrics.replace(names.TABLE_BAD_ROWS, {labels: table.bad.count for labels, table in tables.items()})
