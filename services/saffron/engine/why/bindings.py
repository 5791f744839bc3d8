"""What a run has taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from saffron.language.plan import Choice, InOrder, Loop, MatchPlan, Shape, Take, Together

Event = Mapping[str, Any]
"""`seq`, `ts`, `type` and attributes; null is None or absent."""


class Bound(NamedTuple):
    """An event taken by a component; `turns`: per repetition of the pattern, how many iterations have begun by then."""

    event: Event
    component: int
    turns: tuple[int, ...]


Bindings = tuple[Bound, ...]


def of(bindings: Bindings, component: int) -> list[Bound]:
    """What a component has bound, in order."""
    return [bound for bound in bindings if bound.component == component]


def parts(bindings: Bindings, components: int) -> tuple[tuple[int, ...], ...]:
    """The seqs by component."""
    return tuple(tuple(bound.event["seq"] for bound in of(bindings, c)) for c in range(components))


def loops_around(plan: MatchPlan) -> Sequence[frozenset[int]]:
    """[component] the numbers of the repetitions around it (none for negated ones)."""
    found = [frozenset[int]()] * len(plan.components)

    def walk(shape: Shape, around: frozenset[int]) -> None:
        match shape:
            case Take(component=component):
                found[component] = around
            case Loop(body=body, number=number):
                walk(body, around | {number})
            case InOrder() | Choice() | Together():
                for part in shape.parts:
                    walk(part, around)

    walk(plan.pattern, frozenset())
    return found
