"""Features of events, each counted anew from all events before it (papers G1, G4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from saffron.engine.models.features.event_conditions import Comparison, Computed, Number
from saffron.engine.models.features.features import FeatureSpec

Event = Mapping[str, Any]
"""An event as `type`, `ts` and its attributes; None is null."""


def kind_of(spec: FeatureSpec, event: Event) -> int:
    """The place of the event's combination among the known ones; those of no use are None in it."""
    values = []
    for index, name in enumerate(spec.kinds):
        named = {known[index] for known in spec.known}
        values.append(event[name] if event[name] in named else None)
    return spec.known.index(tuple(values)) if tuple(values) in spec.known else len(spec.known)


def pane_of(spec: FeatureSpec, events: Sequence[Event], index: int) -> Sequence[Event]:
    """The predecessor pane of an event."""
    if spec.pane.events:
        return events[max(0, index - spec.pane.length) : index]
    return [event for event in events[:index] if event["ts"] >= events[index]["ts"] - spec.pane.length]


def vector_of(spec: FeatureSpec, events: Sequence[Event], index: int) -> tuple[int, ...]:
    """The binned features of an event."""
    event = events[index]
    kinds = [kind_of(spec, other) for other in pane_of(spec, events, index)]
    frequencies = [sum(edge <= kinds.count(code) for edge in spec.frequency_edges) for code in range(spec.codes)]
    attributes = []
    for one in spec.attributes:
        value = event[one.name]
        attributes.append(len(one.edges) + 1 if value is None else sum(edge <= value for edge in one.edges))
    conditions = [holds(one, event) for one in spec.conditions]
    return (kind_of(spec, event), *frequencies, *attributes, *map(int, conditions))


def holds(condition: Comparison, event: Event) -> bool:
    """Whether a condition holds of an event."""
    left, right = number_of(condition.left, event), number_of(condition.right, event)
    if math.isnan(left) or math.isnan(right):
        return False
    return {
        "<": left < right,
        "<=": left <= right,
        "=": left == right,
        "!=": left != right,
        ">": left > right,
        ">=": left >= right,
    }[condition.operator]


def number_of(number: Number, event: Event) -> float:
    """A number of an event, NaN being null."""
    if isinstance(number, str):
        value = event[number]
        return math.nan if value is None else float(value)
    if not isinstance(number, Computed):
        return number
    first, *rest = (number_of(operand, event) for operand in number.operands)
    if not rest:
        root = math.sqrt(first) if first >= 0 else math.nan
        return {"-": -first, "abs": abs(first), "sqrt": root}[number.operator]
    return _of_two(number.operator, first, rest[0])


def _of_two(operator: str, a: float, b: float) -> float:
    if operator in "/%" and b == 0:
        return math.nan
    if operator == "/":
        return a / b
    if operator == "%":
        return math.fmod(a, b) if math.isfinite(a) else math.nan
    return {"+": a + b, "-": a - b, "*": a * b}[operator]
