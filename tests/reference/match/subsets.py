"""What a shape derives, without any automaton: every way to give each of some events to a component, in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product

from tests.reference.match.conditions import pairs_hold
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.question import Question, complete, distinct_differ, in_order, keys_agree
from tests.reference.match.shape import Both, Either, Loop, Seq, Shape, Take
from tests.reference.match.until import ended

Events = tuple[Event, ...]


@lru_cache(maxsize=50_000)
def derived(shape: Shape, events: Events) -> frozenset[Bindings]:
    """All ways to fill the shape with exactly these events."""
    match shape:
        case Take(leaf=leaf):
            fits = len(events) == 1 and leaf.takes(events[0])
            return frozenset([(Bound(events[0], leaf.number, ()),)]) if fits else frozenset()
        case Either(parts=parts):
            return frozenset(way for part in parts for way in derived(part, events))
        case Seq(parts=parts):
            return frozenset(_in_turn(parts, events))
        case Loop():
            return frozenset(_iterated(shape, events, 1))
        case Both():
            return frozenset(_shared(shape, events))


def _in_turn(parts: tuple[Shape, ...], events: Events) -> Iterator[Bindings]:
    if not parts:
        if not events:
            yield ()
        return
    for cut in range(len(events) + 1):
        for head in derived(parts[0], events[:cut]):
            for tail in _in_turn(parts[1:], events[cut:]):
                yield head + tail


def _iterated(loop: Loop, events: Events, number: int) -> Iterator[Bindings]:
    for cut in range(1, len(events) + 1):
        for head in derived(loop.body, events[:cut]):
            mine = tuple(bound._replace(iterations=(number, *bound.iterations)) for bound in head)
            if cut == len(events) and number >= loop.low:
                yield mine
            if cut < len(events) and (loop.high is None or number < loop.high):
                for tail in _iterated(loop, events[cut:], number + 1):
                    yield mine + tail


def _shared(both: Both, events: Events) -> Iterator[Bindings]:
    """Each event to one of the parts taking part; a part without events must do without."""
    for chosen in combinations(range(len(both.parts)), both.count):
        for owners in product(chosen, repeat=len(events)):
            piles = [tuple(e for e, owner in zip(events, owners, strict=True) if owner == part) for part in chosen]
            ways = [derived(both.parts[part], pile) for part, pile in zip(chosen, piles, strict=True)]
            for filled in product(*ways):
                whole = [bound for way in filled for bound in way]
                yield tuple(sorted(whole, key=lambda bound: events.index(bound.event)))


def any_matches(asked: Question, events: list[Event]) -> set[Bindings]:
    """All matches among these events under skip-till-any-match, but for windows and NOT."""
    found = set()
    for size in range(1, len(events) + 1):
        for chosen in combinations(events, size):
            for way in derived(asked.pattern.root, chosen):
                if any(ended(asked, way[: number + 1], events) for number in range(len(way))):
                    continue
                fits = in_order(asked, way) and keys_agree(asked, way) and distinct_differ(asked, way)
                if fits and pairs_hold(asked.pairs, way) and complete(asked, way):
                    found.add(way)
    return found
