"""When a result is known: with the last event of its match, or when a window has closed (reading 26)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.match.absence import is_trailing
from tests.reference.match.events import Event
from tests.reference.match.matches import Match
from tests.reference.match.question import Question
from tests.reference.match.shape import Both, Either, Loop, Seq, Shape, Take, nullable
from tests.reference.match.windows import clock, reach, windows


def deadline(asked: Question, match: Match, events: Sequence[Event]) -> int | None:
    """The last instant before it is known; None: known with its last event."""
    mode = "ALL" if asked.query.output is None else asked.query.output.mode
    consumes = asked.query.consume is not None and asked.query.consume.scope != "none"
    late = may_trail(asked)
    first, last = match.events()[0], match.events()[-1]
    by_first = clock(asked, first) + reach(asked) if match.window is None else match.window[1] - 1
    if mode == "LONGEST" or (late and mode == "FIRST" and not consumes):
        return by_first
    if late and mode == "NON-OVERLAP":
        return _latest(asked, last, events)
    if late and consumes:
        return clock(asked, last) + reach(asked) if match.window is None else by_first
    return by_first if is_trailing(asked, match.bindings) else match.due


def may_trail(asked: Question) -> bool:
    """Whether some match is known only when its window closes: a NOT is the last thing, or only options follow it."""
    return _may_trail(asked.pattern.root)


def _may_trail(shape: Shape) -> bool:
    if isinstance(shape, Take):
        return False
    if isinstance(shape, Loop):
        return _may_trail(shape.body)
    if not isinstance(shape, Seq):
        return any(map(_may_trail, shape.parts)) or (isinstance(shape, Either | Both) and shape.absent is not None)
    rest = [all(map(nullable, shape.parts[place:])) for place in range(len(shape.parts) + 1)]
    own = any(place and rest[place] for place, _ in shape.absent)
    return own or any(_may_trail(part) and rest[place] for place, part in enumerate(shape.parts, 1))


def _latest(asked: Question, event: Event, events: Sequence[Event]) -> int:
    """The last instant of the last window that holds an event."""
    within = asked.query.within
    if within.opening is None and within.slide is None:
        return clock(asked, event) + reach(asked)
    return max(w.bounds[1] - 1 for w in windows(asked, events) if w.bounds is not None and event in w.events)
