"""The numbers and extremes that a query keeps for its aggregates (T9)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.trend_plan import TrendAggregate, TrendPlan
from saffron.schema.schema import Kind


@dataclass(frozen=True)
class Measure:
    """A number ("count", "sum") or an extreme ("min", "max"), over events of a component (None: over trends).

    "count" with an attribute counts the events that have a value.
    """

    function: str
    component: int | None = None
    attribute: str | None = None
    kind: Kind | None = None


@dataclass(frozen=True)
class Measures:
    """The measures of a graph: `numbers` (COUNT(*) first), then `extremes`."""

    numbers: tuple[Measure, ...]
    extremes: tuple[Measure, ...]

    @property
    def all(self) -> tuple[Measure, ...]:
        return self.numbers + self.extremes

    @property
    def read(self) -> list[tuple[str, Kind]]:
        """(name, kind) of the attributes that they read."""
        return [(m.attribute, m.kind) for m in self.all if m.attribute is not None and m.kind is not None]

    @property
    def summed(self) -> list[tuple[str, Kind]]:
        """(name, kind) of the attributes that are summed, each once."""
        found = [(m.attribute, m.kind) for m in self.numbers if m.function == "sum" and m.attribute and m.kind]
        return list(dict.fromkeys(found))


def measures_of(plan: TrendPlan) -> Measures:
    """The measures that the plan's aggregates need, each once; counts come before sums."""
    numbers: dict[Measure, None] = {Measure("count"): None}
    extremes: dict[Measure, None] = {}
    for aggregate in plan.aggregates:
        for measure in parts_of(aggregate):
            (extremes if measure.function in ("min", "max") else numbers)[measure] = None
    return Measures(tuple(sorted(numbers, key=lambda measure: measure.function == "sum")), tuple(extremes))


def parts_of(aggregate: TrendAggregate) -> tuple[Measure, ...]:
    """The measures that an aggregate is made of: "avg" is a sum and the number of values."""
    whole = Measure(aggregate.function, aggregate.component, aggregate.attribute, aggregate.kind)
    if aggregate.function != "avg":
        return (whole,)
    return (
        Measure("sum", aggregate.component, aggregate.attribute, aggregate.kind),
        Measure("count", aggregate.component, aggregate.attribute, aggregate.kind),
    )
