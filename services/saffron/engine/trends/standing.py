"""A standing trend query."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.standing import StandingQuery
from saffron.engine.trends.query import TrendQuery


@dataclass
class Standing(StandingQuery):
    """`query` is there once the text is bound to a trend plan."""

    query: TrendQuery | None = None

    @property
    def is_bound(self) -> bool:
        return self.query is not None

    @property
    def active(self) -> TrendQuery | None:
        """The query, if it takes events."""
        return None if self.paused else self.query
