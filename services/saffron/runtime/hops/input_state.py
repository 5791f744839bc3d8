"""The identity of a chain's input topic, and incidents that users must know of.

The state is part of what the chain writes, so that each later owner knows it. Incidents are reported on `health`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from saffron.runtime.hops.when_written import WhenWritten
from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry.metric_names import INPUT_INCIDENTS, LOST_OFFSETS

LOST, REMADE, GROWN, TRUNCATED = KINDS = ("lost", "remade", "grown", "truncated")
_KEPT = 4
_REPORTED_MS = 7 * 86_400_000
"""Time for which an incident is reported."""


@dataclass(frozen=True)
class Incident:
    """An event in the life of an input topic, at time `at` (ms), when the chain had read up to `offset`.

    lost       retention removed the records `before` .. `after` - 1, which were never read
    remade     the topic was deleted and created again; the new one is read from offset `after` on
    grown      the topic had `before` partitions, and has `after`
    truncated  the partition lost its end: the records `after` .. `before` - 1, which had been read
    """

    kind: str
    at: int
    offset: int
    before: int
    after: int

    def record(self) -> list[Any]:
        """The form that is kept with the chain's position."""
        return [self.kind, self.at, self.offset, self.before, self.after]

    def body(self) -> dict[str, Any]:
        """The form that is reported (schemas/health.yaml)."""
        return dict(zip(("kind", "at", "offset", "before", "after"), self.record(), strict=True))


@dataclass(frozen=True)
class InputState:
    """The id of the input topic, its number of partitions, and the newest incidents.

    `topic` is "" and `partitions` 0 where unknown (positions of version 0.1.0).
    """

    topic: str = ""
    partitions: int = 0
    incidents: tuple[Incident, ...] = ()

    def record(self) -> dict[str, Any]:
        """The form that is kept with the chain's position."""
        kept = [one.record() for one in self.incidents]
        return {"topic": self.topic, "partitions": self.partitions, "incidents": kept}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> InputState:
        """The state in a kept record."""
        incidents = tuple(Incident(str(kind), *map(int, numbers)) for kind, *numbers in record.get("incidents", ()))
        return cls(record.get("topic") or "", int(record.get("partitions") or 0), incidents)

    def remade(self, topic: str) -> bool:
        """True if the topic with the id `topic` is a new one under the same name."""
        return bool(self.topic and topic and topic != self.topic)

    def with_incident(self, incident: Incident) -> InputState:
        """The state with `incident` added. Only the newest few are kept."""
        return replace(self, incidents=(*self.incidents, incident)[-_KEPT:])

    def recent_incidents(self, now_ms: int) -> list[dict[str, Any]]:
        """The incidents of the last seven days, in the form that is reported."""
        return [one.body() for one in self.incidents if now_ms - one.at < _REPORTED_MS]


class InputTracker:
    """The current state of one chain's input, and the incidents that are not yet in what the chain has written."""

    def __init__(self, state: InputState | None = None) -> None:
        self.state = state or InputState()
        self._new: list[Incident] = []

    @property
    def has_new(self) -> bool:
        """True if there are incidents since the last call of `count`."""
        return bool(self._new)

    def add_incident(self, kind: str, now_ms: int, offset: int, before: int, after: int) -> None:
        """Records an incident; see `Incident` for the numbers."""
        incident = Incident(kind, now_ms, offset, before, after)
        self.state = self.state.with_incident(incident)
        self._new.append(incident)

    def update(self, topic: str, partitions: int, offset: int, now_ms: int) -> None:
        """Records the topic's id and number of partitions. More partitions than before are an incident."""
        if 0 < self.state.partitions < partitions and offset > 0:  # at offset 0 no partial match can exist
            self.add_incident(GROWN, now_ms, offset, self.state.partitions, partitions)
        self.state = replace(self.state, topic=topic, partitions=partitions)

    def count(self, where: TopicPartition, when_written: WhenWritten[Any]) -> None:
        """Count the incidents since the last call, once the state that has them is written."""
        for incident in self._new:
            labels = (where.topic, str(where.partition))
            when_written.add(INPUT_INCIDENTS, 1, *labels, incident.kind)
            if incident.kind == LOST:
                when_written.add(LOST_OFFSETS, incident.after - incident.before, *labels)
        self._new = []
