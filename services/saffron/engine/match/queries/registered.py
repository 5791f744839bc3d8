"""A standing match query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from saffron.engine.match.runs.runs import Runs
from saffron.engine.operators.composition import Derived
from saffron.engine.operators.containment import QueryStep
from saffron.engine.operators.standing import StandingQuery
from saffron.schema.schema import Kind


@dataclass
class StandingMatchQuery(StandingQuery[Runs]):
    """A registered match query and its counts.

    `results`: ever found; `earlier`: those of them found before this operator took over. `nanoseconds`: the time of its
    events since the last observations. `taken`: the time of all its events since this operator took over. `clean`: the
    instant from which on nothing was dropped that runs could have met.

    `derived`: the types, made by other queries (INTO), that it reads, as they were when it was bound; None before.
    """

    results: int = 0
    clean: int = -(2**62)
    derived: Derived | None = None
    earlier: int = 0
    nanoseconds: int = 0
    taken: int = 0

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        standing = super().from_record(record)
        standing.results = standing.earlier = int(record.get("results", 0))
        standing.clean = int(record.get("clean", standing.clean))
        if (derived := record.get("derived")) is not None:
            standing.derived = {
                name: {attribute: Kind(kind) for attribute, kind in own.items()} for name, own in derived.items()
            }
        return standing

    def record(self) -> dict[str, Any]:
        record = {**super().record(), "results": self.results, "clean": self.clean}
        if self.derived is not None:
            kinds = {name: {one: kind.value for one, kind in own.items()} for name, own in self.derived.items()}
            record["derived"] = kinds
        return record


TakeStep = Callable[[StandingMatchQuery, str], QueryStep]
"""An operator's step of one query: it ends an exception of the query with the query."""
