"""A service's metrics: cheap to update, and exposed to Prometheus on request.

metrics.add(EVENTS_IN, block.next_seq - block.first_seq, "events", "0")
metrics.observe(DETECTION_LATENCY, latencies_ms, query)        one call per block, with an array
metrics.text()                                                  the answer to GET /metrics
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family

from saffron.runtime.telemetry.histogram import BOUNDS_MS, Buckets
from saffron.runtime.telemetry.metric_kinds import Counter, Gauge, Histogram, Metric
from saffron.runtime.telemetry.metric_names import METRICS

_Labels = tuple[str, ...]


class Metrics:
    """All metrics of one process. The service's loop updates them, the HTTP thread reads them."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[_Labels, float]] = {one.name: {} for one in METRICS}
        self._buckets: dict[str, dict[_Labels, Buckets]] = {one.name: {} for one in METRICS}
        self._lock = threading.Lock()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def add(self, metric: Counter, amount: float, *labels: str) -> None:
        """Adds `amount` (>= 0) to a counter."""
        key = _key(metric, labels)
        with self._lock:
            numbers = self._numbers[metric.name]
            numbers[key] = numbers.get(key, 0.0) + amount

    def set(self, metric: Gauge, value: float, *labels: str) -> None:
        """Sets a gauge."""
        key = _key(metric, labels)
        with self._lock:
            self._numbers[metric.name][key] = value

    def observe(self, metric: Histogram, milliseconds: NDArray[np.float64], *labels: str) -> None:
        """Adds observations ([n] float64, ms) to a histogram."""
        key = _key(metric, labels)
        with self._lock:
            self._buckets[metric.name].setdefault(key, Buckets()).observe(milliseconds)

    def replace(self, metric: Gauge, values: Mapping[_Labels, float]) -> None:
        """Sets all series of a gauge. Series of removed queries and revoked partitions disappear."""
        fresh = {_key(metric, labels): value for labels, value in values.items()}
        with self._lock:
            self._numbers[metric.name] = fresh

    def forget(self, label: str, value: str) -> None:
        """Drops all series that have this value of a label, for example those of a stream that was removed."""
        with self._lock:
            for metric in METRICS:
                if label in metric.labels:
                    place = metric.labels.index(label)
                    for series in (self._numbers[metric.name], self._buckets[metric.name]):
                        for labels in [one for one in series if one[place] == value]:
                            del series[labels]

    def value(self, metric: Counter | Gauge, *labels: str) -> float:
        """The present value; 0 if it was never set."""
        return self._numbers[metric.name].get(_key(metric, labels), 0.0)

    def total(self, metric: Counter | Gauge) -> float:
        """The sum over all labels."""
        with self._lock:
            return sum(self._numbers[metric.name].values())

    def merged(self, metric: Histogram) -> Buckets:
        """All series of a histogram as one (a copy)."""
        merged = Buckets()
        with self._lock:
            for buckets in self._buckets[metric.name].values():
                merged.counts += buckets.counts
                merged.total_ms += buckets.total_ms
        return merged

    def text(self) -> bytes:
        """The Prometheus exposition."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterator[Family]:
        """Called by prometheus_client at each scrape."""
        with self._lock:
            families = [self._family(metric) for metric in METRICS]
        yield from families

    def _family(self, metric: Metric) -> Family:
        """All series of a metric as Prometheus has them, sums of histograms in seconds. The caller holds the lock."""
        if isinstance(metric, Histogram):
            family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, buckets in self._buckets[metric.name].items():
                family.add_metric(labels, _cumulative(buckets), sum_value=buckets.total_ms / 1000)
            return family
        make = CounterMetricFamily if isinstance(metric, Counter) else GaugeMetricFamily
        family = make(metric.name, metric.help, labels=metric.labels)
        for labels, value in self._numbers[metric.name].items():
            family.add_metric(labels, value)
        return family


def _key(metric: Metric, labels: _Labels) -> _Labels:
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels}, but was given {labels}")
    return labels


def _cumulative(buckets: Buckets) -> list[tuple[str, float]]:
    ends = np.cumsum(buckets.counts)
    names = [f"{bound / 1000:.10g}" for bound in BOUNDS_MS] + ["+Inf"]
    return [(name, float(end)) for name, end in zip(names, ends, strict=True)]
