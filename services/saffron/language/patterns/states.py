"""The number of positions that a run can reach (see `positions`), computed from the pattern's shape alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from saffron.language.plan.limits import MAX_TABLE_STATES
from saffron.language.plan.pattern import Absent, Choice, InOrder, Loop, Shape, Take
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


class Counted(NamedTuple):
    """Numbers of positions: all, and those without an edge (`last`)."""

    all: int
    last: int


def check_states(query: tree.Query, shape: Shape, scope: Scope) -> None:
    """Raise QueryError if the automaton of a pattern has more than MAX_TABLE_STATES states.

    It has an initial state and one for each position with an edge. Differing strategies can add states, which the
    builder of the automaton counts.
    """
    counted = count(shape)
    states = counted.all - counted.last + 1
    if states > MAX_TABLE_STATES:
        raise scope.plan_error(
            f"the pattern has {states:,} states; at most {MAX_TABLE_STATES:,} are kept",
            query.pattern.span,
            "Repeat with + instead of {n,m}, or list fewer parts in ANY and AND.",
        )


def count(shape: Shape) -> Counted:
    """The numbers of positions of a shape behind its first event."""
    match shape:
        case Take():
            return Counted(1, 1)
        case Absent():
            return Counted(0, 0)
        case InOrder(parts=parts):
            found = [count(part) for part in parts if not isinstance(part, Absent)]
            return Counted(sum(one.all for one in found), found[-1].last if found else 0)
        case Choice(parts=parts):
            found = [count(part) for part in parts]
            return Counted(sum(one.all for one in found), sum(one.last for one in found))
        case Loop(body=body, low=low, high=high):
            inner = count(body)
            return Counted(inner.all * (low if high is None else high), 0 if high is None else inner.last)
    found = [count(part) for part in shape.parts]
    begun, over = _ways((one.all for one in found), shape.count), _ways((one.last for one in found), shape.count)
    return Counted(sum(begun[1:]), over[shape.count])


def _ways(numbers: Iterable[int], most: int) -> list[int]:
    """`[k]`: the ways to choose k of the parts and a position in each, k up to `most`. `numbers`: positions by part."""
    ways = [1] + [0] * most
    for number in numbers:
        for chosen in range(most, 0, -1):
            ways[chosen] += ways[chosen - 1] * number
    return ways
