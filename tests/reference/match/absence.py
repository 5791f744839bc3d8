"""NOT: whether what must be absent is, once a match is complete (N10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from tests.reference.match.conditions import pairs_hold, violated
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.question import Question, adjacent, distinct_differ, in_order, keys_agree
from tests.reference.match.shape import Both, Either, Loop, Seq, Shape, Take, leaves_of
from tests.reference.match.subsets import derived
from tests.reference.match.windows import Window, clock, reach


class Gap(NamedTuple):
    """A NOT and its neighbours: the nearest events bound before and after it; None: there is none.

    `iterations`: of the repetitions around it.
    """

    absent: Shape
    iterations: tuple[int, ...]
    before: Event | None
    after: Event | None


def stands(asked: Question, bindings: Bindings, window: Window, events: Sequence[Event]) -> bool:
    """Whether no NOT of the query forbids a match. `events`: the whole stream."""
    for gap in gaps(asked.pattern.root, bindings):
        candidates = [event for event in events if _inside(asked, event, gap, bindings, window)]
        if _occurs(asked, gap, candidates, bindings):
            return False
    return True


def is_trailing(asked: Question, bindings: Bindings) -> bool:
    """Whether the match is known only when its window closes."""
    return any(gap.after is None for gap in gaps(asked.pattern.root, bindings))


def gaps(shape: Shape, bindings: Bindings) -> Iterator[Gap]:
    yield from _gaps(shape, list(bindings), (), None, None)


def _gaps(
    shape: Shape, mine: list[Bound], iterations: tuple[int, ...], before: Event | None, after: Event | None
) -> Iterator[Gap]:
    """The NOTs of a shape that bound `mine` and stands between two events."""
    if isinstance(shape, Take) or not mine:
        return
    if isinstance(shape, Loop):
        depth = len(iterations)
        for number in sorted({bound.iterations[depth] for bound in mine}):
            own = [bound for bound in mine if bound.iterations[depth] == number]
            earlier = [bound.event for bound in mine if bound.iterations[depth] < number]
            later = [bound.event for bound in mine if bound.iterations[depth] > number]
            inner = (*iterations, number)
            yield from _gaps(shape.body, own, inner, _last(earlier) or before, _first(later) or after)
        return
    parts = [_of(part, mine) for part in shape.parts]
    for index, part in enumerate(shape.parts):
        earlier = [bound.event for other in parts[:index] for bound in other]
        later = [bound.event for other in parts[index + 1 :] for bound in other]
        if isinstance(shape, Both | Either):
            earlier = later = []
        yield from _gaps(part, parts[index], iterations, _last(earlier) or before, _first(later) or after)
    if isinstance(shape, Seq):
        for place, absent in shape.absent:
            earlier = [bound.event for other in parts[:place] for bound in other]
            later = [bound.event for other in parts[place:] for bound in other]
            yield Gap(absent, iterations, _last(earlier) or before, _first(later) or after)


def _of(shape: Shape, bindings: list[Bound]) -> list[Bound]:
    numbers = {leaf.number for leaf in leaves_of(shape)}
    return [bound for bound in bindings if bound.leaf in numbers]


def _first(events: list[Event]) -> Event | None:
    return min(events, key=Event.order, default=None)


def _last(events: list[Event]) -> Event | None:
    return max(events, key=Event.order, default=None)


def _inside(asked: Question, event: Event, gap: Gap, bindings: Bindings, window: Window) -> bool:
    """Whether an event lies strictly between a NOT's neighbours, or between one and the window's end."""
    if gap.before is not None and not adjacent(asked, gap.before, event):
        return False
    if gap.after is not None and not adjacent(asked, event, gap.after):
        return False
    if window.bounds is not None:
        low, high = window.bounds
        late_enough = window.opener is None or event.order() >= window.opener.order()
        return late_enough and low <= clock(asked, event) < high
    first, last = bindings[0].event, bindings[-1].event
    if gap.before is None:
        return clock(asked, last) - clock(asked, event) <= reach(asked)
    return gap.after is not None or clock(asked, event) - clock(asked, first) <= reach(asked)


def _occurs(asked: Question, gap: Gap, candidates: list[Event], bindings: Bindings) -> bool:
    """Whether some choice of the candidates matches what must be absent."""
    leaves = list(leaves_of(gap.absent))
    wanted = [event for event in candidates if any(leaf.takes(event) for leaf in leaves)]
    repeats = any(len(leaf.loops) > len(gap.iterations) for leaf in leaves)
    for size in range(1, 1 + (len(wanted) if repeats else min(len(wanted), len(leaves)))):
        for chosen in combinations(wanted, size):
            for way in derived(gap.absent, chosen):
                found = tuple(b._replace(iterations=(*gap.iterations, *b.iterations)) for b in way)
                if _fits(asked, gap, found, bindings, candidates):
                    return True
    return False


def _fits(asked: Question, gap: Gap, found: Bindings, bindings: Bindings, events: Sequence[Event]) -> bool:
    whole = (*bindings, *found)
    if not in_order(asked, found) or not keys_agree(asked, whole) or not distinct_differ(asked, found):
        return False
    if not pairs_hold(asked.pairs, found):
        return False
    if any(violated(one, whole, lambda _: True, asked.functions) for one in asked.absent):
        return False
    return not any(
        _occurs(asked, inner, [e for e in events if _between(asked, inner, e)], whole)
        for inner in _gaps(gap.absent, list(found), gap.iterations, None, None)
    )


def _between(asked: Question, gap: Gap, event: Event) -> bool:
    before = gap.before is None or adjacent(asked, gap.before, event)
    return before and (gap.after is None or adjacent(asked, event, gap.after))
