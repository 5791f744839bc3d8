"""NOT: whether what must be absent is, once a match is complete (N10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from saffron.language.syntax import tree
from tests.reference.match.conditions import pairs_hold, violated
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.question import Question, adjacent, distinct_differ, in_order, keys_agree
from tests.reference.match.shape import NOTHING, Both, Either, Leaf, Loop, Seq, Shape, Take, leaves_of
from tests.reference.match.subsets import derived
from tests.reference.match.windows import Window, clock, reach


class Gap(NamedTuple):
    """A NOT and its neighbours: the nearest events bound before and after it; None: there is none.

    `iterations`: of the repetitions around it. `due`: its FOR or EVERY. `rivals`: the events of the other sides of its
    OR. `other`: a match took the other side of its OR, with `after`.
    """

    absent: Shape
    iterations: tuple[int, ...]
    before: Event | None
    after: Event | None
    due: tree.Due | None = None
    rivals: tuple[Leaf, ...] = ()
    other: bool = False


def times(asked: Question, bindings: Bindings, window: Window, events: Sequence[Event]) -> list[int | None]:
    """When a match is due (None: no NOT that lasts for a time ends it): several times under EVERY; [] where a NOT
    forbids it. `events`: the whole stream."""
    if not in_time(asked, bindings, events):
        return []
    own = [gap for gap in gaps(asked.pattern.root, bindings) if not gap.other]
    last = [gap for gap in own if gap.due is not None and gap.after is None]
    if not last:
        return [None] if stands(asked, own, bindings, window, events) else []
    found: list[int | None] = []
    for number in range(1, 1 + max(reach(asked) // gap.due.amount for gap in last if gap.due)):
        now = max(_end(gap, number) for gap in last)
        waited = [gap._replace(due=_times(gap.due, number)) if gap in last else gap for gap in own]
        if _is_over(asked, now, bindings, window) or not stands(asked, waited, bindings, window, events):
            break
        found.append(now if now >= bindings[-1].event.ts else None)
        if not any(gap.due and gap.due.every for gap in last):
            break
    return found


def stands(asked: Question, own: Sequence[Gap], bindings: Bindings, window: Window, events: Sequence[Event]) -> bool:
    """Whether none of a match's NOTs forbids it."""
    for gap in own:
        candidates = [event for event in events if _inside(asked, event, gap, bindings, window)]
        if _occurs(asked, gap, candidates, bindings) or _rivalled(asked, gap, candidates, bindings):
            return False
    return True


def in_time(asked: Question, bindings: Bindings, events: Sequence[Event]) -> bool:
    """Whether each event behind a NOT that lasts for a time comes after that time, and beside one in an OR up to it,
    unless the NOT was violated by then."""
    for gap in gaps(asked.pattern.root, bindings):
        if gap.due is None or gap.before is None or gap.after is None:
            continue
        over = gap.after.ts > _end(gap, 1)
        if gap.other and over:
            known = tuple(one for one in bindings if one.event.order() <= gap.after.order())
            between = [event for event in events if adjacent(asked, gap.before, event) and event.ts <= _end(gap, 1)]
            over = not _occurs(asked, gap, between, known)
        if over is gap.other:
            return False
    return True


def _times(due: tree.Due | None, number: int) -> tree.Due | None:
    """The time of a NOT ... EVERY up to its `number`-th end."""
    return tree.Due(due.amount * number, due.every) if due is not None and due.every else due


def _end(gap: Gap, number: int) -> int:
    """When the time of a NOT that an event comes before is over, for the `number`-th time."""
    assert gap.before is not None
    assert gap.due is not None
    return gap.before.ts + gap.due.amount * (number if gap.due.every else 1)


def _is_over(asked: Question, now: int, bindings: Bindings, window: Window) -> bool:
    """Whether the window of a match is over at an instant."""
    if window.bounds is not None:
        return now >= window.bounds[1]
    return now - bindings[0].event.ts > reach(asked)


def is_trailing(asked: Question, bindings: Bindings) -> bool:
    """Whether the match is known only when its window closes."""
    return any(gap.after is None and gap.due is None for gap in gaps(asked.pattern.root, bindings))


def gaps(shape: Shape, bindings: Bindings) -> Iterator[Gap]:
    yield from _gaps(shape, list(bindings), (), None, None)


def _gaps(
    shape: Shape, mine: list[Bound], iterations: tuple[int, ...], before: Event | None, after: Event | None
) -> Iterator[Gap]:
    """The NOTs of a shape that bound `mine` and stands between two events."""
    if isinstance(shape, Either) and shape.absent is not None:
        absent, due = shape.absent
        leaves = tuple(leaf for part in shape.parts if part is not NOTHING for leaf in leaves_of(part))
        if mine:
            yield Gap(absent, iterations, before, mine[0].event, due, other=True)
        else:
            yield Gap(absent, iterations, before, after, due, leaves)
        return
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
    if isinstance(shape, Both) and shape.absent is not None:
        yield Gap(shape.absent[0], iterations, before, after, shape.absent[1])
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
            lasts = dict(shape.due).get(place)
            yield Gap(absent, iterations, _last(earlier) or before, _first(later) or after, lasts)


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
    if gap.due is not None and gap.before is not None:
        return event.ts <= _end(gap._replace(due=tree.Due(gap.due.amount, every=False)), 1)
    if gap.due is not None and gap.after is not None and gap.after.ts - event.ts > gap.due.amount:
        return False
    if gap.due is not None and window.bounds is None:
        return True
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


def _rivalled(asked: Question, gap: Gap, candidates: list[Event], bindings: Bindings) -> bool:
    """Whether the other side of a NOT's OR takes one of the candidates."""
    assert gap.before is not None or not gap.rivals
    known = tuple(one for one in bindings if gap.before is not None and one.event.order() <= gap.before.order())
    return any(_takes(asked, (*known, Bound(one, leaf.number, ()))) for one in candidates for leaf in gap.rivals)


def _takes(asked: Question, taken: Bindings) -> bool:
    """Whether a run takes its last event, by all that is known then."""
    number = taken[-1].leaf
    if not asked.pattern.leaves[number].takes(taken[-1].event) or not keys_agree(asked, taken):
        return False
    return not any(violated(one, taken, lambda leaf: leaf.number < number, asked.functions) for one in asked.conditions)


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
