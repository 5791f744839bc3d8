"""Trends by GRETA's definition 1: every trend of a nested pattern is enumerated as a sequence of events, then counted.

Nothing here is clever: windows, keys, groups and conditions are read off their definitions, events are dicts with
`seq`, `ts`, `type` and attributes. The number of trends is exponential; use it on a dozen events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]
Vertex = tuple[int, int]
"""An event as one occurrence of its type in the pattern: (occurrence, seq)."""
Trend = tuple[Vertex, ...]


@dataclass(frozen=True)
class Leaf:
    """One occurrence of an event type, numbered from the left."""

    number: int
    type: str


@dataclass(frozen=True)
class Plus:
    body: Pattern


@dataclass(frozen=True)
class Seq:
    parts: tuple[Pattern, ...]


Pattern = Leaf | Plus | Seq


@dataclass(frozen=True)
class Question:
    """An aggregate query, each part as a plain function of events.

    `local`: of the event, by occurrence. `edge`: of two adjacent events, by the pair of their occurrences.
    `windows`: from all events to (low, high, opening seq or -1, the window's events) in order of their ends.
    """

    pattern: Pattern
    key: tuple[str, ...]
    group: tuple[str, ...]
    windows: Callable[[Sequence[Event]], Iterable[tuple[int, int, int, list[Event]]]]
    strict: bool = False
    local: Mapping[int, Callable[[Event], bool]] = field(default_factory=dict)
    edge: Mapping[tuple[int, int], Callable[[Event, Event], bool]] = field(default_factory=dict)


def answers(question: Question, events: Sequence[Event]) -> list[tuple[int, int, int, dict[str, Any], int]]:
    """(low, high, opening seq, group, number of trends) of every window and group that has a trend.

    Windows come in the order of `windows`; the groups of a window in order of their first vertex.
    """
    result = []
    for low, high, opener, inside in question.windows(events):
        counts: dict[tuple[Any, ...], int] = {}
        firsts: dict[tuple[Any, ...], int] = {}
        for key in dict.fromkeys(values_of(event, question.key) for event in inside):
            if None in key:
                continue
            own = [event for event in inside if values_of(event, question.key) == key]
            group = values_of(own[0], question.group)
            counts[group] = counts.get(group, 0) + len(trends(question, own))
            for event in own:
                if _starts(question, event):
                    firsts[group] = min(firsts.get(group, event["seq"]), event["seq"])
        found = [group for group in counts if counts[group]]
        for group in sorted(found, key=lambda group: firsts[group]):
            result.append((low, high, opener, dict(zip(question.group, group, strict=True)), counts[group]))
    return result


def values_of(event: Event, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(event.get(name) for name in names)


def trends(question: Question, events: Sequence[Event]) -> set[Trend]:
    """All trends over these events (of one key and window)."""
    by_seq = {event["seq"]: event for event in events}
    return _matches(question, question.pattern, by_seq)


def _matches(question: Question, pattern: Pattern, events: Mapping[int, Event]) -> set[Trend]:
    if isinstance(pattern, Leaf):
        fits = {seq for seq, event in events.items() if _is_vertex(question, pattern, event)}
        return {((pattern.number, seq),) for seq in fits}
    if isinstance(pattern, Seq):
        found = _matches(question, pattern.parts[0], events)
        for part in pattern.parts[1:]:
            found = _joined(question, found, _matches(question, part, events), events)
        return found
    once = _matches(question, pattern.body, events)
    found, newest = set(once), set(once)
    while newest:
        newest = _joined(question, newest, once, events) - found
        found |= newest
    return found


def _joined(question: Question, left: set[Trend], right: set[Trend], events: Mapping[int, Event]) -> set[Trend]:
    return {one + other for one in left for other in right if _adjacent(question, one[-1], other[0], events)}


def _adjacent(question: Question, before: Vertex, after: Vertex, events: Mapping[int, Event]) -> bool:
    first, second = events[before[1]], events[after[1]]
    if question.strict and not first["ts"] < second["ts"]:
        return False
    if not (first["ts"], first["seq"]) < (second["ts"], second["seq"]):
        return False
    condition = question.edge.get((before[0], after[0]))
    return condition is None or condition(first, second)


def _is_vertex(question: Question, leaf: Leaf, event: Event) -> bool:
    condition = question.local.get(leaf.number)
    return event["type"] == leaf.type and (condition is None or condition(event))


def _starts(question: Question, event: Event) -> bool:
    leaf = question.pattern
    while not isinstance(leaf, Leaf):
        leaf = leaf.body if isinstance(leaf, Plus) else leaf.parts[0]
    return _is_vertex(question, leaf, event)


def sliding(size: int, slide: int, in_events: bool) -> Callable[[Sequence[Event]], Any]:
    """Windows [k slide, k slide + size) over ts, or over seq with k >= 0."""

    def windows(events: Sequence[Event]) -> list[tuple[int, int, int, list[Event]]]:
        if not events:
            return []
        points = [event["seq" if in_events else "ts"] for event in events]
        first = min(points) // slide - size // slide - 2
        result = []
        for k in range(max(first, 0) if in_events else first, max(points) // slide + 1):
            low, high = k * slide, k * slide + size
            inside = [event for event, point in zip(events, points, strict=True) if low <= point < high]
            result.append((low, high, -1, inside))
        return result

    return windows


def opening(size: int, in_events: bool, opens: Callable[[Event], bool]) -> Callable[[Sequence[Event]], Any]:
    """A window at every event that fits: from that event on, as long as `size`."""

    def windows(events: Sequence[Event]) -> list[tuple[int, int, int, list[Event]]]:
        result = []
        for event in events:
            if opens(event):
                low = event["seq" if in_events else "ts"]
                inside = [
                    other
                    for other in events
                    if other["seq"] >= event["seq"] and other["seq" if in_events else "ts"] < low + size
                ]
                result.append((low, low + size, event["seq"], inside))
        return result

    return windows
