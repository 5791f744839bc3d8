"""What may follow what in a pattern, place by place: the graph that templates and edge predicates are read off.

A place is where a trend stands after an event: (component, position). Steps lead from place to place; steps of one
stance wait together (see `positions`): under skip-till-next-match, one that `holds` ends the waiting of them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from saffron.errors import QueryError
from saffron.language.patterns.positions import Edge, Gap, Position, Positions
from saffron.language.plan.plan import Shape, Strategy

MOST_PLACES = 500
"""Most places of a pattern; a template has far fewer states."""
TOO_MANY = "Repeat with + instead of {n,m}, or list fewer parts in ANY."

Place = tuple[int, Position]
Refuse = Callable[[str, str], QueryError]
"""(message, hint) -> an error that points at the pattern."""


@dataclass(frozen=True)
class Step:
    """`absences`: NOTs (numbers) of which nothing may lie between. `begins`: see `positions.Edge`."""

    target: Place
    absences: tuple[int, ...]
    strategy: Strategy
    holds: bool
    begins: frozenset[int]


Stances = tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class Walk:
    """`first`: steps to a first event. `stances[p]`: those from place p. `ends[p]`: the NOTs that must not follow an
    end there (several ways to end, several tuples), none where a trend cannot end.
    """

    first: Stances
    stances: dict[Place, Stances]
    ends: dict[Place, tuple[tuple[int, ...], ...]]

    def steps(self, place: Place) -> Iterator[Step]:
        """All steps from a place."""
        return (step for stance in self.stances[place] for step in stance)


def walk_of(shape: Shape, begins: Sequence[Strategy], continues: Sequence[Strategy], refuse: Refuse) -> Walk:
    """The places of a shape. `begins`, `continues`: strategies by component; without them all may be skipped."""
    positions = Positions(shape)

    def step(edge: Edge, source: int | None) -> Step:
        chosen = continues if edge.again else begins
        strategy = chosen[edge.component] if edge.component < len(chosen) else Strategy.ANY
        target = edge.component, edge.position
        return Step(target, _between(edge.gaps, source, refuse), strategy, edge.holds, edge.begins)

    def steps(stances: Sequence[tuple[Edge, ...]], source: int | None) -> Stances:
        return tuple(dict.fromkeys(tuple(step(edge, source) for edge in edges) for edges in stances if edges))

    first = steps([stance.edges for stance in positions.first()], None)
    walk = Walk(first, {}, {})
    queue = [one.target for stance in first for one in stance]
    while queue:
        place = queue.pop()
        if place in walk.stances:
            continue
        component, position = place
        found = positions.after(position)
        walk.stances[place] = steps([stance.edges for stance in found], component)
        trailing = [_between(stance.trailing, component, refuse) for stance in found if stance.over]
        walk.ends[place] = tuple(dict.fromkeys(trailing))
        queue.extend(one.target for one in walk.steps(place))
    return walk


def _between(gaps: tuple[Gap, ...], source: int | None, refuse: Refuse) -> tuple[int, ...]:
    """The NOTs right behind the last event (of component `source`), or before the first (None)."""
    for gap in gaps:
        if bool(gap.left) is (source is None) or (source is not None and source not in gap.left):
            hint = "Put the NOT between components that follow each other, outside of ANY."
            raise refuse("a NOT looks back over other events of the trend, which are not adjacent", hint)
    return tuple(sorted({number for gap in gaps for number in gap.absences}))


@dataclass(frozen=True)
class Pairs:
    """How events of two components stand in one match, or one iteration: right after each other, or apart.

    `foreign`: an earlier one of another iteration may also come right before.
    """

    direct: bool
    apart: bool
    foreign: bool


def pairs(walk: Walk, earlier: int, later: int, loops: frozenset[int] = frozenset()) -> Pairs:
    """Of each event of `later`, where the last one of `earlier` stood, within one iteration of `loops`."""
    none, next_to, before = 0, 1, 2
    direct = apart = foreign = False
    queue = [(step.target, int(step.target[0] == earlier)) for stance in walk.first for step in stance]
    seen = set(queue)
    while queue:
        place, flag = queue.pop()
        for step in walk.steps(place):
            fresh = bool(step.begins & loops)
            now = none if fresh else flag
            if step.target[0] == later:
                direct |= now == next_to
                apart |= now == before
                foreign |= fresh and flag == next_to
            asked = step.target[0] == later  # of b[1], and once in an iteration
            after = next_to if step.target[0] == earlier else before if now and not asked else none
            if (step.target, after) not in seen:
                seen.add((step.target, after))
                queue.append((step.target, after))
    return Pairs(direct, apart, foreign)
