"""A standing match query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from saffron.engine.match.query import QueryRuns
from saffron.engine.standing import StandingQuery


@dataclass
class Standing(StandingQuery):
    """`runs` is there once the text is bound. `reported`: counts that observations have told already."""

    results: int = 0
    runs: QueryRuns | None = None
    reported: Mapping[str, int] | None = None

    @property
    def is_bound(self) -> bool:
        return self.runs is not None

    @property
    def active(self) -> QueryRuns | None:
        """The runs, if the query takes events."""
        return None if self.paused else self.runs

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        standing = super().from_record(record)
        standing.results = int(record.get("results", 0))
        return standing

    def record(self) -> dict[str, Any]:
        return {**super().record(), "results": self.results}
