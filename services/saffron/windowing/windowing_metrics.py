"""Metrics and digests of `windowing`: blocks as they are sent, the rest once a second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.operator import WindowingOperator
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.shell_metrics import ShellMetrics
from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.digest import Digest
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.hop import WindowingHop

_COUNTERS = (
    ("events", names.EVENTS_IN),
    ("late", names.LATE_EVENTS),
    ("late_by_silence", names.LATE_BY_SILENCE),
    ("mistyped", names.MISTYPED_VALUES),
    ("left_out", names.LEFT_OUT_VALUES),
    ("in_seconds", names.TIMES_IN_SECONDS),
)
_NAMED = 20
"""Most attributes named in a digest."""


class WindowingMetrics:
    """Reporter of all chains of one member."""

    def __init__(self, metrics: Metrics, shell: InnerHop, group: str) -> None:
        self._metrics = metrics
        self._shell = shell
        self._input = ShellMetrics(metrics, shell, group)
        self._stage: list[float] = []
        self._newest: dict[TopicPartition, int] = {}
        self._counted: dict[WindowingOperator, Mapping[str, Any]] = {}
        self._stems: dict[str, str] = {}

    def keep(self, stems: Mapping[str, str]) -> None:
        """Forgets the series of streams that were removed, or were made anew. `stems`: of the streams, by name."""
        for name, stem in self._stems.items():
            if stems.get(name) != stem:
                self._metrics.forget("stream", name)
        self._stems = dict(stems)

    def sent(self, topic: str, where: TopicPartition, block: Block, now_ms: float) -> None:
        """Records a block sent: the age of its oldest event, and its newest event time."""
        self._metrics.add(names.BLOCKS, 1, topic)
        if len(block.columns):
            self._stage.append(now_ms - float(block.columns.time.min()))
            self._newest[where] = int(block.columns.ts[-1])

    def report(
        self, now_ms: int, interval_ms: int, silent: Callable[[TopicPartition], bool | None]
    ) -> list[tuple[TopicPartition, Digest]]:
        """Updates the metrics; returns a digest of each chain with its input.

        `silent`: whether an input partition is silent.
        """
        lags = self._input.report(interval_ms)
        if self._stage:
            self._metrics.observe(names.STAGE_LATENCY, np.array(self._stage), "windowing")
            self._stage.clear()
        digests = []
        watermarks: dict[tuple[str, ...], float] = {}
        behind: dict[tuple[str, ...], float] = {}
        silences: dict[tuple[str, ...], float] = {}
        counted: dict[WindowingOperator, Mapping[str, Any]] = {}
        for where, operator in self._operators():
            labels = (operator.stream, str(operator.partition))
            numbers = counted[operator] = operator.statistics()
            events = self._count(operator, numbers)
            watermark = None if operator.watermark == NO_WATERMARK else operator.watermark
            if watermark is not None:
                watermarks[labels] = watermark / 1000
            if silence := numbers["silence"]:
                silences[labels] = silence / 1000
            if where in self._newest:
                behind[labels] = (now_ms - self._newest[where]) / 1000
            digest = Digest(
                service="windowing",
                stream=operator.stream,
                partition=operator.partition,
                at=now_ms,
                interval_ms=interval_ms,
                events=events,
                watermark=watermark,
                lag=lags.get(where),
                silent=silent(where),
                **_losses(numbers),
            )
            digests.append((where, digest))
        self._counted = counted
        self._metrics.replace(names.WATERMARK, watermarks)
        self._metrics.replace(names.EVENT_TIME_LAG, behind)
        self._metrics.replace(names.SILENCE, silences)
        return digests

    # ------------------------------------------------------------ inside

    def _operators(self) -> list[tuple[TopicPartition, WindowingOperator]]:
        chains = self._shell.chains.items()
        return [(where, chain.hop.operator) for where, chain in chains if isinstance(chain.hop, WindowingHop)]

    def _count(self, operator: WindowingOperator, now: Mapping[str, Any]) -> int:
        """Adds the growth of the operator's counters to the metrics; returns the number of new events."""
        before = self._counted.get(operator, {})
        grown = {name: max(0, int(now[name]) - int(before.get(name, 0))) for name, _ in _COUNTERS}
        for name, metric in _COUNTERS:
            self._metrics.add(metric, grown[name], operator.stream, str(operator.partition))
        return grown["events"]


def _losses(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The values that this process did not keep (by attribute, most frequent first), odd times, and silence."""
    mistyped = Counter(numbers["mistyped_attributes"]).most_common(_NAMED)
    rest = {name: numbers[name] or None for name in ("left_out", "in_seconds", "silence", "late_by_silence")}
    return {"mistyped": dict(mistyped) or None, **rest}
