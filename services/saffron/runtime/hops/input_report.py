"""Reports on the topics that a group member reads: metrics, a digest on `health`, and details of /status.

The digest covers the whole service. It is sent once a second while there is an incident or obstacle. `doctor` and
`status` read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saffron.runtime.hops.input_state import KINDS, InputTracker
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.topics import Topics
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.digest import service_digest
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_names import INPUT_INCIDENTS, LOST_OFFSETS, STREAMS_STANDING
from saffron.runtime.telemetry.metrics import Metrics


@dataclass(frozen=True)
class InputRow:
    """The input of one chain. `trouble`: an obstacle that only the user can remove, or None."""

    where: TopicPartition
    tracker: InputTracker
    trouble: str | None


class InputReport:
    """Reporter of one member of `service`."""

    def __init__(self, service: str, metrics: Metrics, health: Health, advice: Advice, topics: Topics) -> None:
        self._service = service
        self._metrics = metrics
        self._health = health
        self._advice = advice
        self._topics = topics
        self._initialised: set[TopicPartition] = set()

    def report(self, rows: Iterable[InputRow], troubles: Iterable[str], now_ms: int, interval_ms: int) -> None:
        """Reports on `rows`, one for each chain. `troubles` includes those of topics without a chain."""
        rows, troubles = list(rows), sorted(set(troubles))
        for row in rows:
            self._initialise(row)
        self._metrics.set(STREAMS_STANDING, len(troubles))
        # The service stays ready: a start, a rollout or a restart would else wait for one stream, and hold up all.
        self._health.detail("streams", troubles)
        recent_incidents = [
            {
                "topic": row.where.topic,
                "partition": row.where.partition,
                "id": row.tracker.state.topic,
                "incidents": incidents,
            }
            for row in rows
            if (incidents := row.tracker.state.recent_incidents(now_ms))
        ]
        self._health.detail("inputs", recent_incidents)
        if recent_incidents or troubles:
            own = {"inputs": recent_incidents, "troubles": troubles}
            body = service_digest(self._service, now_ms, interval_ms, **own)
            self._advice.send(self._topics.health, body, self._service)

    def _initialise(self, row: InputRow) -> None:
        """Begins the counters of a chain's incidents at 0: one that begins at 1 shows no increase."""
        if row.where in self._initialised:
            return
        self._initialised.add(row.where)
        labels = (row.where.topic, str(row.where.partition))
        self._metrics.add(LOST_OFFSETS, 0, *labels)
        for kind in KINDS:
            self._metrics.add(INPUT_INCIDENTS, 0, *labels, kind)
