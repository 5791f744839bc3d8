"""A standing query as a result operator knows it: what was added, whether it is paused, and what became of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Status:
    """`state`: "active", "paused", "waiting" (for the stream's schema) or "rejected" (`reason` says why)."""

    version: int
    state: str
    reason: str


@dataclass
class StandingQuery(ABC):
    """A query that was added and not removed; each engine adds what it runs once the text is bound.

    `earliest`: it is to see the past too. `refusal`: why its text does not bind, or "". `foreign`: it is no query of
    this engine, or not of this stream.
    """

    name: str
    version: int
    text: str
    slot: int
    earliest: bool
    paused: bool = False
    refusal: str = ""
    foreign: bool = False

    @property
    @abstractmethod
    def is_bound(self) -> bool:
        """Whether there is something to run."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """From a "query" control's body, a checkpoint's entry, or a snapshot's."""
        return cls(
            name=str(record["name"]),
            version=int(record.get("version", 1)),
            text=str(record["text"]),
            slot=int(record.get("slot", 0)),
            earliest=record.get("from") == "earliest",
            paused=bool(record.get("paused")) or record.get("state") == "paused",
            refusal=str(record.get("refusal", "")),
            foreign=bool(record.get("foreign")),
        )

    def record(self) -> dict[str, Any]:
        """What a snapshot keeps of it, beside the arrays of what it runs."""
        return {
            "name": self.name,
            "version": self.version,
            "text": self.text,
            "slot": self.slot,
            "from": "earliest" if self.earliest else "now",
            "paused": self.paused,
            "refusal": self.refusal,
            "foreign": self.foreign,
            "bound": self.is_bound,
        }

    @property
    def is_waiting(self) -> bool:
        """Not bound yet, for want of a schema."""
        return not (self.is_bound or self.foreign or self.refusal)

    def status(self) -> Status:
        if self.refusal:
            return Status(self.version, "rejected", self.refusal)
        if self.paused:
            return Status(self.version, "paused", "")
        return Status(self.version, "active" if self.is_bound else "waiting", "")
