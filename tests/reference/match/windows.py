"""The windows of a query over a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saffron.language.syntax import tree
from tests.reference.match.events import Event
from tests.reference.match.question import Question
from tests.reference.match.values import value


@dataclass(frozen=True)
class Window:
    """`bounds`, `opener`: as results name them, None for WITHIN alone. `events`: those that a match may bind.

    `starts`: how many of them, from the first on, a match may begin with: all, or the first alone.
    """

    bounds: tuple[int, int] | None
    opener: Event | None
    events: list[Event]
    starts: int


def clock(asked: Question, event: Event) -> int:
    return event.seq if asked.query.within.size.events else event.ts


def reach(asked: Question) -> int:
    """The largest last - first under WITHIN alone."""
    size = asked.query.within.size
    return size.amount - 1 if size.events else size.amount


def windows(asked: Question, events: Sequence[Event]) -> Iterator[Window]:
    within = asked.query.within
    size = within.size.amount
    if within.opening is not None:
        for opener in events:
            if _opens(within.opening, opener):
                low = clock(asked, opener)
                inside = [e for e in events if e.order() >= opener.order() and clock(asked, e) < low + size]
                yield Window((low, low + size), opener, inside, len(inside))
    elif within.slide is not None:
        slide, instants = within.slide.amount, [clock(asked, event) for event in events]
        first = 0 if within.size.events else (min(instants, default=0) - size) // slide
        for low in range(first * slide, max(instants, default=0) + 1, slide):
            inside = [event for event in events if low <= clock(asked, event) < low + size]
            yield Window((low, low + size), None, inside, len(inside))
    else:
        for index, start in enumerate(events):
            inside = [e for e in events[index:] if clock(asked, e) - clock(asked, start) <= reach(asked)]
            yield Window(None, None, inside, 1)


def _opens(opening: tree.Opening, event: Event) -> bool:
    def look(expression: tree.Reference | tree.Call) -> object:
        assert isinstance(expression, tree.Reference)
        return event.get(str(expression.attribute))

    if event.type != opening.type or event.counter:
        return False
    return opening.condition is None or value(opening.condition, look) is True
