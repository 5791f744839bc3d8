"""Stances: the ways in which a run can go on from a position in its pattern (see `positions`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from saffron.language.plan.pattern import Loop

Position = tuple[Any, ...]
Components = frozenset[int]


@dataclass(frozen=True)
class Gap:
    """NOTs (numbers) between the last event of the components `left` and the next event; `left` is {} at the start."""

    absences: tuple[int, ...]
    left: Components


class Edge(NamedTuple):
    """A component that may take the next event, and the position afterwards.

    `again`: it begins a further iteration of a repetition, where the strategy for x[i] applies instead of that for x.
    `exclusive`: under skip-till-next-match, the run does not also stay if this edge takes the event.
    `begins`: the repetitions whose next iteration begins with the event. `gaps`: the NOTs before it.
    """

    component: int
    position: Position
    again: bool = False
    exclusive: bool = True
    begins: frozenset[int] = frozenset()
    gaps: tuple[Gap, ...] = ()


class Stance(NamedTuple):
    """A way to go on from a position. `over`: a match may end here; `trailing`: the NOTs behind its last events.

    `may_stay`: an iteration has ended, and the run may leave the repetition or begin another iteration.
    """

    edges: tuple[Edge, ...]
    over: bool
    may_stay: bool
    trailing: tuple[Gap, ...] = ()


OVER = Stance((), over=True, may_stay=False)


def within_part(stance: Stance, wrap: Callable[[Position], Position]) -> Stance:
    """A stance of a part, as a stance of the node around it: `wrap` makes the positions."""
    return stance._replace(edges=tuple(edge._replace(position=wrap(edge.position)) for edge in stance.edges))


def part_position(index: int) -> Callable[[Position], Position]:
    """A function that wraps a position of part `index` of a SEQ or OR."""
    return lambda position: (index, position)


def behind(stance: Stance, left: Components, outer: tuple[Gap, ...]) -> Stance:
    """A stance at the beginning of a part, behind the components `left` and with the gaps `outer` between.

    A NOT at the beginning of the part has no event before it there, so its gap begins behind `left`.
    """

    def gaps(edge: Edge) -> tuple[Gap, ...]:
        return outer + tuple(gap if gap.left else Gap(gap.absences, left) for gap in edge.gaps)

    return stance._replace(edges=tuple(edge._replace(gaps=gaps(edge)) for edge in stance.edges))


def with_gaps(stance: Stance, gaps: tuple[Gap, ...]) -> Stance:
    """A stance with gaps that are still open before it."""
    edges = tuple(edge._replace(gaps=gaps + edge.gaps) for edge in stance.edges)
    return stance._replace(edges=edges, trailing=gaps + stance.trailing)


def iteration_number(loop: Loop, number: int) -> int:
    """The number of an iteration in a position. Without an upper bound it is counted up to the lower one only."""
    return number if loop.high is not None else min(number, loop.low)


def in_iteration(loop: Loop, stance: Stance, number: int, *, fresh: bool) -> Stance:
    """A stance of a loop's body in iteration `number`. `fresh`: its events begin the iteration."""
    edges = tuple(
        edge._replace(
            position=(number, edge.position),
            begins=edge.begins | {loop.number} if fresh else edge.begins,
        )
        for edge in stance.edges
    )
    return stance._replace(edges=edges)
