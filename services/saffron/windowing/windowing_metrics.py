"""Metrics and digests of `windowing`: blocks as they are sent, the rest once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.operator import WindowingOperator
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.hops.shell_metrics import ShellMetrics
from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.digest import Digest
from saffron.runtime.telemetry.growth import Growth
from saffron.runtime.telemetry.metrics import Metrics
from saffron.windowing.hop import WindowingHop
from saffron.windowing.process_losses import ProcessLosses

_COUNTERS = (
    names.EVENTS_IN,
    names.LATE_EVENTS,
    names.LATE_BY_SILENCE,
    names.MISTYPED_VALUES,
    names.LEFT_OUT_VALUES,
    names.TIMES_IN_SECONDS,
)


class WindowingMetrics:
    """Reporter of all chains of one member. `stream_of`: from an input topic to the name of its stream."""

    def __init__(self, metrics: Metrics, shell: InnerHop, group: str, stream_of: Callable[[str], str]) -> None:
        self._metrics = metrics
        self._shell = shell
        self._input = ShellMetrics(metrics, shell, group, stream_of)
        self._stage: list[float] = []
        self._newest: dict[TopicPartition, int] = {}
        self._growth: Growth[WindowingOperator] = Growth()
        self._stems: dict[str, str] = {}
        self._losses = ProcessLosses()

    def keep(self, stems: Mapping[str, str]) -> None:
        """Forgets the series of streams that were removed, or were made anew. `stems`: of the streams, by name."""
        for name, stem in self._stems.items():
            if stems.get(name) != stem:
                self._metrics.forget("stream", name)
                self._losses.forget(name)
        self._stems = dict(stems)

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        """Records a block sent: the age of its oldest event, and its newest event time."""
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
        counted = {where: (operator, operator.statistics()) for where, operator in self._operators()}
        events = self._growth.since({operator: int(numbers["events"]) for operator, numbers in counted.values()})
        for where, (operator, numbers) in counted.items():
            labels = (operator.stream, str(operator.partition))
            for counter in _COUNTERS:  # a counter that begins at 1 shows no increase
                self._metrics.add(counter, 0, *labels)
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
                events=events[operator],
                watermark=watermark,
                lag=lags.get(where),
                silent=silent(where),
                silence=numbers["silence"] or None,
                **self._losses.of(where, operator, numbers),
            )
            digests.append((where, digest))
        self._metrics.replace(names.WATERMARK, watermarks)
        self._metrics.replace(names.EVENT_TIME_LAG, behind)
        self._metrics.replace(names.SILENCE, silences)
        return digests

    # ------------------------------------------------------------ inside

    def _operators(self) -> list[tuple[TopicPartition, WindowingOperator]]:
        chains = self._shell.chains.items()
        return [(where, chain.hop.operator) for where, chain in chains if isinstance(chain.hop, WindowingHop)]
