"""A standing match query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from saffron.engine.match.kinds import Runs
from saffron.engine.standing import StandingQuery


@dataclass
class Standing(StandingQuery[Runs]):
    """`reported`: counts that observations have told already."""

    results: int = 0
    reported: Mapping[str, int] | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        standing = super().from_record(record)
        standing.results = int(record.get("results", 0))
        return standing

    def record(self) -> dict[str, Any]:
        return {**super().record(), "results": self.results}
