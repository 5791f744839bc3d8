"""Metrics and digests of `matcher` and `greta`, once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.hops.shell_metrics import ShellMetrics
from saffron.runtime.log import TopicPartition
from saffron.runtime.process.config import Settings
from saffron.runtime.results.large_results import REASON as TOO_LARGE
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.digest import Digest
from saffron.runtime.telemetry.gone_queries import GoneQueries
from saffron.runtime.telemetry.growth import Growth
from saffron.runtime.telemetry.histogram import Buckets
from saffron.runtime.telemetry.metric_kinds import Gauge
from saffron.runtime.telemetry.metrics import Metrics

_GAUGES = (names.PARTIAL_MATCHES, names.SHED_UTILITY, names.STATE_BYTES, names.WATERMARK, names.SNAPSHOT_AGE)


class ResultMetrics:
    """Reporter of all chains of one member: durations, and numbers of the present. Chains count by themselves.

    `stream_of`: from an input topic to the name of its stream.
    """

    def __init__(
        self,
        service: str,
        metrics: Metrics,
        shell: LastHop[ResultChain],
        settings: Settings,
        stream_of: Callable[[str], str],
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._shell = shell
        self._stream_of = stream_of
        self._bound_ms = settings.latency_bound_ms
        metrics.add(names.DEAD_LETTERS, 0, TOO_LARGE)  # a counter that begins at 1 shows no increase
        metrics.add(names.TRANSACTION_ABORTS, 0)
        metrics.set(names.LATENCY_BOUND, settings.latency_bound_ms / 1000, settings.overload)
        self._input = ShellMetrics(metrics, shell, settings.group(service), stream_of)
        self._growth: Growth[tuple[TopicPartition, str]] = Growth()
        self._gone = GoneQueries(metrics)
        self._begun: set[tuple[str, bool]] = set()

    def report(self, now_ms: int, interval_ms: int) -> list[Digest]:
        """Updates the metrics; returns a digest of each chain."""
        lags = self._input.report(interval_ms)
        gauges: dict[Gauge, dict[tuple[str, ...], float]] = {gauge: {} for gauge in _GAUGES}
        digests = []
        grown = self._growth.since(
            {
                (where, name): count
                for where, chain in self._shell.chains.items()
                for name, count in chain.tally.counts().items()
            }
        )
        told = {
            where: None if chain.operator is None else chain.operator.statistics()
            for where, chain in self._shell.chains.items()
        }
        self._gone.forget(
            {
                where: {*numbers["partial_matches"], *chain.operator.failed}
                for where, chain in self._shell.chains.items()
                if chain.operator is not None and not chain.catching_up and (numbers := told[where]) is not None
            }
        )
        self._begin({(query, "dropped" in one) for one in told.values() if one for query in one["partial_matches"]})
        for where, chain in self._shell.chains.items():
            labels = (self._stream_of(where.topic), str(where.partition))
            numbers = told[where]
            if numbers is not None:
                _state(numbers, labels, gauges)
                gauges[names.SNAPSHOT_AGE][labels] = chain.snapshot_age(now_ms) / 1000
            if chain.watermark is not None:
                gauges[names.WATERMARK][labels] = chain.watermark / 1000
            latency = self._latencies(chain)
            self._metrics.add(names.EVENTS_APPLIED, 0, *labels)
            digests.append(
                Digest(
                    service=self._service,
                    stream=labels[0],
                    partition=where.partition,
                    at=now_ms,
                    interval_ms=interval_ms,
                    events=grown[where, "events"],
                    results=grown[where, "results"],
                    latency=latency,
                    partial_matches=0 if numbers is None else sum(map(int, numbers["partial_matches"].values())),
                    watermark=chain.watermark,
                    lag=lags.get(where),
                )
            )
        for gauge, values in gauges.items():
            self._metrics.replace(gauge, values)
        return digests

    # ------------------------------------------------------------ inside

    def _begin(self, standing: set[tuple[str, bool]]) -> None:
        """Begins the counters of new queries at 0: one that begins at 1 shows no increase.

        `standing`: the names of all queries, each with whether its partial matches may be shed.
        """
        for query, sheds in standing - self._begun:
            self._metrics.observe(names.DETECTION_LATENCY, np.empty(0), query)
            self._metrics.add(names.OVERDUE_RESULTS, 0, query)
            if sheds:
                self._metrics.add(names.SHED_PARTIAL_MATCHES, 0, query)
        self._begun = standing

    def _latencies(self, chain: ResultChain) -> Buckets:
        """Observes the chain's measured durations; returns its detection latencies, all queries together."""
        buckets = Buckets()
        for query, latencies in chain.tally.drain_latencies().items():
            self._metrics.observe(names.DETECTION_LATENCY, latencies, query)
            self._metrics.add(names.OVERDUE_RESULTS, int((latencies > self._bound_ms).sum()), query)
            buckets.observe(latencies)
        for stage, times in chain.tally.drain_stages().items():
            self._metrics.observe(names.STAGE_LATENCY, times, f"{self._service}_{stage}")
        if len(snapshots := chain.tally.drain_snapshots()):
            self._metrics.observe(names.SNAPSHOT_DURATION, np.asarray(snapshots))
        return buckets


def _state(
    numbers: Mapping[str, Any], labels: tuple[str, str], gauges: Mapping[Gauge, dict[tuple[str, ...], float]]
) -> None:
    """Sets the gauges of an operator's state, for all its queries.

    The utility gauge is the mean number of matches expected of a dropped partial match.
    """
    gauges[names.STATE_BYTES][labels] = numbers.get("state_bytes", 0)
    for query, count in numbers["partial_matches"].items():
        gauges[names.PARTIAL_MATCHES][query, labels[1]] = int(count)
        if "dropped" in numbers:
            loss, dropped = numbers["loss"].get(query, 0.0), numbers["dropped"].get(query, 0)
            gauges[names.SHED_UTILITY][query, labels[1]] = loss / max(1, dropped)
