"""What became of a chain's input topic: its id, its partitions, and incidents that people must know of.

It stands in what the chain itself writes, so that every later owner knows it, and is told on `health`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

LOST, REMADE, GROWN = KINDS = ("lost", "remade", "grown")
_KEPT = 4
_TOLD_MS = 7 * 86_400_000
"""How long an incident is told of."""


@dataclass(frozen=True)
class Incident:
    """Something that happened at `at` (ms), when the chain had come to `offset` of its input.

    lost: retention took the records from offset `before` to `after` - 1, which were never read;
    remade: the topic was deleted and made anew: it is read from offset `after` of the new one;
    grown: the topic had `before` partitions, and has `after`.
    """

    kind: str
    at: int
    offset: int
    before: int
    after: int

    def record(self) -> list[Any]:
        """As it is kept."""
        return [self.kind, self.at, self.offset, self.before, self.after]

    def body(self) -> dict[str, Any]:
        """As it is told (schemas/health.yaml)."""
        return dict(zip(("kind", "at", "offset", "before", "after"), self.record(), strict=True))


@dataclass(frozen=True)
class InputState:
    """`topic`: the id of the input topic, `partitions`: how many it had; "" and 0: not known (version 0.1.0)."""

    topic: str = ""
    partitions: int = 0
    incidents: tuple[Incident, ...] = ()

    def record(self) -> dict[str, Any]:
        """As a chain keeps it."""
        kept = [one.record() for one in self.incidents]
        return {"topic": self.topic, "partitions": self.partitions, "incidents": kept}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> InputState:
        """What was kept."""
        incidents = tuple(Incident(str(kind), *map(int, numbers)) for kind, *numbers in record.get("incidents", ()))
        return cls(record.get("topic") or "", int(record.get("partitions") or 0), incidents)

    def remade(self, topic: str) -> bool:
        """Whether the topic that has this id now is another one."""
        return bool(self.topic and topic and topic != self.topic)

    def with_incident(self, incident: Incident) -> InputState:
        """The newest few are kept."""
        return replace(self, incidents=(*self.incidents, incident)[-_KEPT:])

    def told(self, now_ms: int) -> list[dict[str, Any]]:
        """The incidents that are not long past."""
        return [one.body() for one in self.incidents if now_ms - one.at < _TOLD_MS]


class InputBook:
    """The state of one chain's input, and what is new in it. `take_news`: for metrics."""

    def __init__(self, state: InputState | None = None) -> None:
        self.state = state or InputState()
        self._news: list[Incident] = []

    def note(self, kind: str, now_ms: int, offset: int, before: int, after: int) -> None:
        """Something has happened."""
        incident = Incident(kind, now_ms, offset, before, after)
        self.state = self.state.with_incident(incident)
        self._news.append(incident)

    def know(self, topic: str, partitions: int, offset: int, now_ms: int) -> None:
        """The topic as it is now, and how far it has been read."""
        if 0 < self.state.partitions < partitions and offset > 0:  # else nothing can be open
            self.note(GROWN, now_ms, offset, self.state.partitions, partitions)
        self.state = replace(self.state, topic=topic, partitions=partitions)

    def take_news(self) -> list[Incident]:
        """The incidents since the last call."""
        news, self._news = self._news, []
        return news
