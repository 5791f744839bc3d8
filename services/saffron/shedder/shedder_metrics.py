"""Metrics and digests of `shedder`: blocks as they are sent, the rest once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from saffron.engine.shed.losses.expected import Expected
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.shell_metrics import ShellMetrics
from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry.digest import Digest
from saffron.runtime.telemetry.gone_queries import GoneQueries
from saffron.runtime.telemetry.growth import Growth
from saffron.runtime.telemetry.histogram import Buckets
from saffron.runtime.telemetry.metric_kinds import Gauge
from saffron.runtime.telemetry.metric_names import (
    DECISION,
    ESTIMATED_FALSE,
    ESTIMATED_LOSS,
    ESTIMATED_MATCHES,
    EVENTS_IN,
    IN_FLIGHT,
    MODEL_BELIEF,
    MODEL_VERSION,
    PROCESSING_LATENCY,
    QUEUEING_LATENCY,
    SHED_EVENTS,
    SHEDDING_LATENCY,
    STAGE_LATENCY,
)
from saffron.runtime.telemetry.metrics import Metrics
from saffron.shedder.hop import ShedderHop

_ESTIMATED = (ESTIMATED_MATCHES, ESTIMATED_LOSS, ESTIMATED_FALSE)
_GAUGES = (IN_FLIGHT, PROCESSING_LATENCY, SHEDDING_LATENCY, MODEL_VERSION, MODEL_BELIEF, DECISION, *_ESTIMATED)

_Values = dict[tuple[str, ...], float]


class ShedderMetrics:
    """Reporter of all chains of one member. `stream_of`: from an input topic to the name of its stream."""

    def __init__(self, metrics: Metrics, shell: InnerHop, group: str, stream_of: Callable[[str], str]) -> None:
        self._metrics = metrics
        self._input = ShellMetrics(metrics, shell, group, stream_of)
        self._stage: list[float] = []
        self._events: Growth[TopicPartition] = Growth()
        self._held: Growth[TopicPartition] = Growth()
        self._gone = GoneQueries(metrics)

    def sent(self, appended_ms: int, now_ms: float) -> None:
        """Records a block sent. `appended_ms`: its time in the topic `windows`."""
        self._stage.append(now_ms - appended_ms)

    def report(self, hops: Mapping[TopicPartition, ShedderHop], now_ms: int, interval_ms: int) -> list[Digest]:
        """Updates the metrics; returns a digest of each chain."""
        held = max(self._held.since({where: hop.held_ms for where, hop in hops.items()}).values(), default=0)
        lags = self._input.report(interval_ms, held)
        if self._stage:
            self._metrics.observe(STAGE_LATENCY, np.array(self._stage), "shedder")
            self._stage.clear()
        gauges: dict[Gauge, _Values] = {gauge: {} for gauge in _GAUGES}
        expected: dict[str, list[Expected]] = {}
        digests = []
        told = {where: hop.operator.statistics() for where, hop in hops.items()}
        self._gone.forget({where: numbers["missed"] for where, numbers in told.items()})
        events = self._events.since({where: numbers["events"] for where, numbers in told.items()})
        for where, hop in hops.items():
            numbers = told[where]
            self._initialise(hop, numbers)
            self._gauge(hop, numbers, gauges, now_ms)
            for query, own in numbers["expected"].items():
                expected.setdefault(query, []).append(own)
            digests.append(
                Digest(
                    service="shedder",
                    stream=hop.operator.stream,
                    partition=hop.operator.partition,
                    at=now_ms,
                    interval_ms=interval_ms,
                    events=events[where],
                    latency=self._waits(hop),
                    partial_matches=sum(numbers["partial_matches"].values()),
                    lag=lags.get(where),
                    shed=_shed(numbers),
                )
            )
        _estimate(expected, gauges)
        for gauge, values in gauges.items():
            self._metrics.replace(gauge, values)
        return digests

    # ------------------------------------------------------------ inside

    def _gauge(self, hop: ShedderHop, numbers: Mapping[str, Any], gauges: Mapping[Gauge, _Values], now_ms: int) -> None:
        """Collect the gauges of one chain."""
        labels = (hop.operator.stream, str(hop.operator.partition))
        gauges[IN_FLIGHT][labels] = hop.credits.in_flight(now_ms)
        gauges[PROCESSING_LATENCY][labels] = (numbers["processing_ms"] or 0.0) / 1000
        gauges[SHEDDING_LATENCY][labels] = (numbers["shedding_ms"] or 0.0) / 1000
        for query, (epoch, batch) in numbers["models"].items():
            gauges[MODEL_VERSION] |= {(query, "epoch"): epoch, (query, "batch"): batch}
        for query, believed in numbers["believed"].items():
            gauges[MODEL_BELIEF] |= {(*labels, query, means): own for means, own in believed.items()}
        gauges[DECISION][*labels, "share"] = numbers["share"]
        if numbers["keep"] is not None:
            gauges[DECISION][*labels, "keep"] = numbers["keep"]

    def _initialise(self, hop: ShedderHop, numbers: Mapping[str, Any]) -> None:
        """Begins counters at 0: one that begins at 1 shows no increase."""
        self._metrics.add(EVENTS_IN, 0, hop.operator.stream, str(hop.operator.partition))
        for query, reasons in numbers["shed_by_reason"].items():
            for reason in reasons:
                self._metrics.add(SHED_EVENTS, 0, query, reason)

    def _waits(self, hop: ShedderHop) -> Buckets:
        """The histogram of queueing times (ms) since the last report."""
        buckets = Buckets()
        if hop.waits:
            waits = np.array(hop.waits, dtype=np.float64)
            self._metrics.observe(QUEUEING_LATENCY, waits, hop.operator.stream, str(hop.operator.partition))
            buckets.observe(waits)
            hop.waits.clear()
        return buckets


def _estimate(expected: Mapping[str, Sequence[Expected]], gauges: Mapping[Gauge, _Values]) -> None:
    """Sets the gauges of estimated lost and false matches by query, over all chains of this process."""
    for query, chains in expected.items():
        own = Expected.together((1.0, one) for one in chains)
        for part, count in asdict(own).items():
            gauges[ESTIMATED_MATCHES][query, part] = count
        gauges[ESTIMATED_LOSS][query,] = own.missed_share
        gauges[ESTIMATED_FALSE][query,] = own.false_share


def _shed(numbers: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shedding fields of a digest."""
    estimated = {
        query: {part: round(count, 6) for part, count in asdict(own).items()}
        for query, own in numbers["expected"].items()
    }
    decided = {"why": numbers["decision"], "share": round(numbers["share"], 4), "keep": numbers["keep"]}
    return {**decided, "estimated": estimated}
