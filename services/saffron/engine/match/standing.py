"""A standing query as the operator knows it: what was added, whether it is paused, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.engine.match.query import QueryRuns


@dataclass(frozen=True)
class Status:
    """`state`: "active", "paused", "waiting" (for the stream's schema) or "rejected" (`reason` says why)."""

    version: int
    state: str
    reason: str


@dataclass
class Standing:
    """A query that was added and not removed.

    `earliest`: it is to see the past too. `refusal`: why its text does not bind, or "". `foreign`: it is no match query
    of this stream. `runs` is there once the text is bound. `reported`: counts that observations have told already.
    """

    name: str
    version: int
    text: str
    slot: int
    earliest: bool
    paused: bool = False
    refusal: str = ""
    foreign: bool = False
    results: int = 0
    runs: QueryRuns | None = None
    reported: Mapping[str, int] | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Standing:
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
            results=int(record.get("results", 0)),
        )

    def record(self) -> dict[str, Any]:
        """What a snapshot keeps of it, beside the arrays of its runs."""
        return {
            "name": self.name,
            "version": self.version,
            "text": self.text,
            "slot": self.slot,
            "from": "earliest" if self.earliest else "now",
            "paused": self.paused,
            "refusal": self.refusal,
            "foreign": self.foreign,
            "results": self.results,
            "bound": self.runs is not None,
        }

    @property
    def is_waiting(self) -> bool:
        """Not bound yet, for want of a schema."""
        return self.runs is None and not self.foreign and not self.refusal

    @property
    def active(self) -> QueryRuns | None:
        """The runs, if the query takes events."""
        return None if self.paused else self.runs

    def status(self) -> Status:
        if self.refusal:
            return Status(self.version, "rejected", self.refusal)
        if self.paused:
            return Status(self.version, "paused", "")
        return Status(self.version, "waiting" if self.runs is None else "active", "")
