"""UNTIL: whether an event has ended a repetition that a run would go on with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.reference.match.conditions import violated
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.question import Question, adjacent, keys_agree
from tests.reference.match.shape import Leaf, Loop, Shape, Take, leaves_of


def ended(asked: Question, taken: Bindings, events: Sequence[Event]) -> bool:
    """Whether the last event taken goes on with a repetition that is over: behind its event before, and not behind this
    one, lies an event that fits its UNTIL."""
    leaf, last = asked.pattern.leaves[taken[-1].leaf], taken[-1]
    for loop in _around(asked.pattern.root, leaf):
        depth = leaf.loops.index(loop.number)
        inside = {one.number for one in leaves_of(loop)}
        own = [one for one in taken[:-1] if one.leaf in inside and one.iterations[:depth] == last.iterations[:depth]]
        for event in events if own else ():
            behind = adjacent(asked, own[-1].event, event)
            if behind and (event is last.event or adjacent(asked, event, last.event)):
                assert loop.until is not None
                if _fits(asked, loop.until, event, taken, depth):
                    return True
    return False


def _around(shape: Shape, leaf: Leaf) -> Iterator[Loop]:
    """The repetitions with an UNTIL around a component."""
    if isinstance(shape, Take) or leaf not in leaves_of(shape):
        return
    if isinstance(shape, Loop):
        if shape.until is not None:
            yield shape
        yield from _around(shape.body, leaf)
        return
    for part in shape.parts:
        yield from _around(part, leaf)


def _fits(asked: Question, until: Leaf, event: Event, taken: Bindings, depth: int) -> bool:
    """Whether an event ends the repetition, of whose events the last one of `taken` would come next."""
    if not until.takes(event):
        return False
    whole = (*taken, Bound(event, until.number, taken[-1].iterations[:depth]))
    return keys_agree(asked, whole) and not any(
        violated(one, whole, lambda _: True, asked.functions, taken[-1])
        for one in asked.absent
        if any(leaf is until for _, leaf in one.references)
    )
