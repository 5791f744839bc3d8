"""The windows of an aggregate query, and what a trend is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from saffron.language.syntax import tree
from tests.reference.match.events import Event
from tests.reference.match.values import value

Trend = tuple[tuple[int, Event], ...]
"""Its events in order, each with the number of the component that it is for."""


class Window(NamedTuple):
    """low <= instant (ts or seq) < high; `opener`: the event that opened it (OPEN ON), else None."""

    low: int
    high: int
    opener: Event | None
    events: tuple[Event, ...]


def windows(within: tree.Within, events: Sequence[Event]) -> Iterator[Window]:
    """Each window that has an event, in order of their beginnings."""
    size = within.size.amount
    instants = [event.seq if within.size.events else event.ts for event in events]
    if within.opening is not None:
        for place, opener in enumerate(events):
            if _opens(within.opening, opener):
                high = instants[place] + size
                inside = tuple(event for event, at in zip(events[place:], instants[place:], strict=True) if at < high)
                yield Window(instants[place], high, opener, inside)
        return
    slide = size if within.slide is None else within.slide.amount
    lows = {at // slide * slide - back * slide for at in instants for back in range(size // slide + 1)}
    for low in sorted(lows):
        inside = tuple(event for event, at in zip(events, instants, strict=True) if low <= at < low + size)
        if inside and not (within.size.events and low < 0):
            yield Window(low, low + size, None, inside)


def _opens(opening: tree.Opening, event: Event) -> bool:
    def look(leaf: tree.Reference) -> object:
        return event.get(str(leaf.attribute))

    if event.type != opening.type:
        return False
    return opening.condition is None or value(opening.condition, look) is True
