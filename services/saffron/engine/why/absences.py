"""NOT: whether what must be absent lies in a gap of a match (N10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from saffron.engine.match.general.checks import Asked
from saffron.engine.why import bindings as taken
from saffron.engine.why.bindings import Bindings, Bound, Event
from saffron.engine.why.values import settled, value
from saffron.language.patterns.positions import components_of
from saffron.language.plan.plan import Absent, Choice, InOrder, Interleaved, Loop, MatchPlan, Shape


@dataclass(frozen=True)
class Opening:
    """A NOT of a match, and the events beside it; None: there is none, so that the window's end stands there."""

    absence: int
    before: Event | None
    after: Event | None


def openings(
    shape: Shape, mine: Bindings, before: Event | None = None, after: Event | None = None
) -> Iterator[Opening]:
    """The NOTs of a shape that bound `mine` and stands between two events."""
    if not mine:
        return
    match shape:
        case Loop(body=body, number=number):
            for turn in sorted({bound.turns[number] for bound in mine}):
                own = tuple(bound for bound in mine if bound.turns[number] == turn)
                earlier = [bound for bound in mine if bound.turns[number] < turn]
                later = [bound for bound in mine if bound.turns[number] > turn]
                yield from openings(body, own, _last(earlier) or before, _first(later) or after)
        case Choice(parts=parts) | Interleaved(parts=parts):
            for part in parts:
                yield from openings(part, _of(part, mine), before, after)
        case InOrder(parts=parts):
            for place, part in enumerate(parts):
                left = _last([bound for other in parts[:place] for bound in _of(other, mine)]) or before
                right = _first([bound for other in parts[place + 1 :] for bound in _of(other, mine)]) or after
                if isinstance(part, Absent):
                    yield Opening(part.number, left, right)
                else:
                    yield from openings(part, _of(part, mine), left, right)


def _of(shape: Shape, mine: Bindings) -> Bindings:
    inside = components_of(shape)
    return tuple(bound for bound in mine if bound.component in inside)


def _first(some: Sequence[Bound]) -> Event | None:
    return min((bound.event for bound in some), key=taken.place, default=None)


def _last(some: Sequence[Bound]) -> Event | None:
    return max((bound.event for bound in some), key=taken.place, default=None)


def offenders(plan: MatchPlan, opening: Opening, between: Sequence[Event], match: Bindings) -> tuple[Event, ...]:
    """The first events among `between`, in order, that the NOT forbids; none: the match stands."""
    absence = plan.absences[opening.absence]
    checks = [Asked(check) for check in absence.checks]
    ways = (_ways(plan, checks, sequence, between, match, ()) for sequence in absence.sequences)
    return next(chain.from_iterable(ways), ())


def _ways(
    plan: MatchPlan,
    checks: Sequence[Asked],
    sequence: Sequence[int],
    events: Sequence[Event],
    match: Bindings,
    found: Bindings,
) -> Iterator[tuple[Event, ...]]:
    """Every choice of events that is the sequence; `found`: of its first components."""
    if len(found) == len(sequence):
        if all(_holds(asked, (*match, *found)) for asked in checks):
            yield tuple(bound.event for bound in found)
        return
    component = sequence[len(found)]
    for place, event in enumerate(events):
        if event["type"] not in plan.components[component].types:
            continue
        if plan.strict and found and event["ts"] <= found[-1].event["ts"]:
            continue
        longer = (*found, Bound(event, component, ()))
        yield from _ways(plan, checks, sequence, events[place + 1 :], match, longer)


def _holds(asked: Asked, bound: Bindings) -> bool:
    """Whether a condition on a forbidden event holds; it does where it names something that is not bound."""
    lists = {component: taken.of(bound, component) for component in asked.reads}
    if not all(lists[component] for component in asked.events):
        return True
    if any(len(lists[component]) < number for component, number in asked.numbered.items()):
        return True
    at = {component: len(lists[component]) - 1 for component in asked.taking}
    return value(settled(asked.expr, lists, at)) is True
