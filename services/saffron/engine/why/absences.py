"""NOT: the test whether a forbidden event lies in a gap of a match (N10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from saffron.engine.match.general.checks import Asked
from saffron.engine.why import bindings as taken
from saffron.engine.why.bindings import Bindings, Bound, Event
from saffron.engine.why.conditions import Refusal
from saffron.engine.why.values import settled, value
from saffron.language.explain.outline import not_text
from saffron.language.patterns.positions import components_of
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absent, Choice, InOrder, Interleaved, Loop, Shape


@dataclass(frozen=True)
class Opening:
    """A NOT of a match, and the events beside it; None: there is none, so that the window's end stands there."""

    absence: int
    before: Event | None
    after: Event | None


@dataclass(frozen=True)
class Complete:
    """A match but for its NOTs, in one window; `deadline`: when a trailing one is known.

    `ends`: the last instant in the window. `due`: when the times of the NOTs that end the match are over (None: none
    has one). `rounds`: how often NOT ... EVERY has lasted by then.
    """

    bindings: Bindings
    window: tuple[int, int] | None
    opener: int | None
    gaps: tuple[Opening, ...]
    deadline: int
    run: int
    ends: int
    due: int | None = None
    rounds: int = 1


def openings(
    shape: Shape, mine: Bindings, before: Event | None = None, after: Event | None = None
) -> Iterator[Opening]:
    """The NOTs of a shape that bound `mine` and stands between two events."""
    if not mine:
        if isinstance(shape, Choice):  # an OR without an event is at the side that is a NOT
            yield from (Opening(part.number, before, after) for part in shape.parts if isinstance(part, Absent))
        return
    match shape:
        case Loop(body=body, number=number, until=until):
            if until is not None:
                ordered = sorted(mine, key=lambda bound: taken.place(bound.event))
                yield from (Opening(until, one.event, other.event) for one, other in pairwise(ordered))
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
                    since = [bound for bound in mine if bound.component in part.since]
                    yield Opening(part.number, _last(since) or left, right)
                else:
                    yield from openings(part, _of(part, mine), left, right)


def _of(shape: Shape, mine: Bindings) -> Bindings:
    inside = components_of(shape)
    return tuple(bound for bound in mine if bound.component in inside)


def _first(some: Sequence[Bound]) -> Event | None:
    return min((bound.event for bound in some), key=taken.place, default=None)


def _last(some: Sequence[Bound]) -> Event | None:
    return max((bound.event for bound in some), key=taken.place, default=None)


def due_at(plan: MatchPlan, opening: Opening, rounds: int = 1) -> int | None:
    """The end of the time of a NOT behind an event, under EVERY for the `rounds`-th time; None: it has no time."""
    absence = plan.absences[opening.absence]
    if absence.duration is None or opening.before is None:
        return None
    return int(opening.before["ts"]) + absence.duration * (rounds if absence.every else 1)


def lead(plan: MatchPlan) -> int:
    """The time (ms) that a NOT with a time looks back from the event behind it."""
    return max((absence.duration or 0 for absence in plan.absences), default=0)


def decided_at_once(plan: MatchPlan, number: int) -> bool:
    """True if a NOT decides only whether an event may be taken, not the match: beside an OR, or as UNTIL."""
    return plan.absences[number].or_else or plan.absences[number].until


def untimely(plan: MatchPlan, bindings: Bindings, history: Iterable[Event]) -> Iterator[Refusal]:
    """The NOTs with a time, and the UNTILs, that refuse the last event taken. `history`: the key's events before it."""
    component, event = bindings[-1].component, bindings[-1].event
    for opening in openings(plan.pattern, bindings):
        if plan.absences[opening.absence].until and opening.after is event:
            within = [one for one in history if follows(plan, opening.before, one) and follows(plan, one, event)]
            if ended := offenders(plan, opening, [*within, event], bindings):
                yield Refusal(component, not_text(plan, opening.absence), f"ended at {ended[0]['seq']}")
        due = due_at(plan, opening)
        if due is None or opening.after is not event:
            continue
        text = not_text(plan, opening.absence)
        if not plan.absences[opening.absence].or_else:
            if event["ts"] <= due:
                yield Refusal(component, text, f"{event['ts']} > {due}")
            continue
        within = [one for one in history if follows(plan, opening.before, one) and one["ts"] <= due]
        if event["ts"] > due and not offenders(plan, opening, within, bindings):
            yield Refusal(component, f"{text} came first", f"{event['ts']} <= {due}")


def follows(plan: MatchPlan, before: Event | None, after: Event) -> bool:
    """True if one event may follow the other (None: nothing) in a match."""
    if before is None:
        return True
    return bool(before["ts"] < after["ts"]) if plan.strict else taken.place(before) < taken.place(after)


def between(plan: MatchPlan, opening: Opening, whole: Complete, history: Iterable[Event]) -> list[Event]:
    """The events strictly inside an opening, and inside the window where it has no other end."""
    first, last = clock(plan, whole.bindings[0].event), clock(plan, whole.bindings[-1].event)
    reach = plan.window.size - (1 if plan.window.events else 0)
    low, high = (last - reach, first + reach) if whole.window is None else (whole.window[0], whole.window[1] - 1)
    due, duration = due_at(plan, opening, whole.rounds), plan.absences[opening.absence].duration
    if due is not None:
        high = due
    elif duration is not None:
        low = max(first - duration, low if whole.window is not None else first - duration)
    found = []
    for event in history:
        now = clock(plan, event)
        if opening.before is None and (now < low or (whole.opener or -1) > event["seq"]):
            continue
        if (opening.after is None or due is not None) and now > high:
            continue
        if not follows(plan, opening.before, event):
            continue
        if opening.after is None or follows(plan, event, opening.after):
            found.append(event)
    return found


def clock(plan: MatchPlan, event: Event) -> int:
    """The instant of an event, as windows count."""
    return int(event["seq" if plan.window.events else "ts"])


def offenders(plan: MatchPlan, opening: Opening, between: Sequence[Event], match: Bindings) -> tuple[Event, ...]:
    """The first events among `between`, in order, that match a whole sequence of the NOT; () if the match stands."""
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
    """True if a condition on a forbidden event holds; it does where it names something that is not bound."""
    lists = {component: taken.of(bound, component) for component in asked.reads}
    if not all(lists[component] for component in asked.events):
        return True
    if any(len(lists[component]) < number for component, number in asked.numbered.items()):
        return True
    at = {component: len(lists[component]) - 1 for component in asked.taking}
    if any(at[component] < asked.back(component) for component in asked.taking):
        return True
    return value(settled(asked.expr, lists, at)) is True
