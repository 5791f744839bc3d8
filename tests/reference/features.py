"""Features of events, each counted anew from all events before it (papers G1, G4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saffron.engine.models.features import FeatureSpec

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
    conditions = [_holds(event[one.left], one.operator, event[one.right]) for one in spec.conditions]
    return (kind_of(spec, event), *frequencies, *attributes, *map(int, conditions))


def _holds(left: float | None, operator: str, right: float | None) -> bool:
    if left is None or right is None:
        return False
    return {
        "<": left < right,
        "<=": left <= right,
        "=": left == right,
        "!=": left != right,
        ">": left > right,
        ">=": left >= right,
    }[operator]
