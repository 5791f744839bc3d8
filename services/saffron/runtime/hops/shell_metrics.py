"""Consumer metrics of every service that reads partitions in a group: lag, rebalances, back pressure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry.metric_names import BACKPRESSURE, CONSUMER_LAG, REBALANCES
from saffron.runtime.telemetry.metrics import Metrics


class Shell(Protocol):
    """The measured side of `InnerHop` and `LastHop`.

    `rebalances`: assignments so far. `waited_ms`: time waited for room in the producer's queue.
    """

    rebalances: int

    @property
    def chains(self) -> Iterable[TopicPartition]: ...

    @property
    def waited_ms(self) -> float: ...

    def lag(self, where: TopicPartition) -> int | None: ...


class ShellMetrics:
    """Reporter of one shell, called once per digest. `stream_of`: from an input topic to the name of its stream."""

    def __init__(self, metrics: Metrics, shell: Shell, group: str, stream_of: Callable[[str], str]) -> None:
        self._metrics = metrics
        self._shell = shell
        self._group = group
        self._stream_of = stream_of
        self._rebalances = 0
        self._waited_ms = 0.0

    def report(self, interval_ms: int, held_ms: float = 0.0) -> Mapping[TopicPartition, int]:
        """The lag of each partition, in records, where it is known. `held_ms`: time waited for credit."""
        shell, metrics = self._shell, self._metrics
        known = {where: lag for where in shell.chains if (lag := shell.lag(where)) is not None}
        metrics.replace(CONSUMER_LAG, {self._labels(where): lag for where, lag in known.items()})
        metrics.add(REBALANCES, shell.rebalances - self._rebalances)
        # Revoked chains take their waiting time with them, so the sum may fall.
        waited = max(0.0, shell.waited_ms - self._waited_ms)
        metrics.set(BACKPRESSURE, min(1.0, (waited + held_ms) / interval_ms))
        self._rebalances, self._waited_ms = shell.rebalances, shell.waited_ms
        return known

    def _labels(self, where: TopicPartition) -> tuple[str, ...]:
        return self._stream_of(where.topic), where.topic, str(where.partition), self._group
