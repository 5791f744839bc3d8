"""The events that a run has taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Choice, InOrder, Interleaved, Loop, Shape, Take
from saffron.schema.schema import Distribution

Event = Mapping[str, Any]
"""An event: `seq`, `ts`, `type`, attributes; null is None or absent. SPAN: its `Span`; MADE: its `Origin`."""

SPAN, MADE = "#span", "#made"
OWN = ("seq", "ts", "type", SPAN, MADE)
"""Fields of an event that are no attributes."""


class Span(NamedTuple):
    """The imprecise time of an event: an instant of lo..hi (ms), distributed as `law` says."""

    lo: int
    hi: int
    law: Distribution


class Origin(NamedTuple):
    """The origin of an event that a query has made (INTO): its query, and the result as the log has it.

    `order`: from 1 on, among those that stand behind the same event of the stream, whose position they have.
    """

    order: int
    query: str
    result: bytes


def place(event: Event) -> tuple[int, int]:
    """The event's place in the stream; no two events have the same."""
    return int(event["seq"]), event[MADE].order if MADE in event else 0


def identity(event: Event) -> int | tuple[int, int]:
    """The identity of an event: its seq, or, for a result of another query, its place."""
    return place(event) if MADE in event else int(event["seq"])


class Bound(NamedTuple):
    """An event taken by a component; `turns`: per repetition of the pattern, how many iterations have begun by then."""

    event: Event
    component: int
    turns: tuple[int, ...]


Bindings = tuple[Bound, ...]


def of(bindings: Bindings, component: int) -> list[Bound]:
    """The events that a component has bound, in order."""
    return [bound for bound in bindings if bound.component == component]


def parts(bindings: Bindings, components: int) -> tuple[tuple[int | tuple[int, int], ...], ...]:
    """The events by component, as their identities."""
    return tuple(tuple(identity(bound.event) for bound in of(bindings, c)) for c in range(components))


def loops_around(plan: MatchPlan) -> Sequence[frozenset[int]]:
    """[component] the numbers of the repetitions around it (none for negated ones)."""
    found = [frozenset[int]()] * len(plan.components)

    def walk(shape: Shape, around: frozenset[int]) -> None:
        match shape:
            case Take(component=component):
                found[component] = around
            case Loop(body=body, number=number):
                walk(body, around | {number})
            case InOrder() | Choice() | Interleaved():
                for part in shape.parts:
                    walk(part, around)

    walk(plan.pattern, frozenset())
    return found
