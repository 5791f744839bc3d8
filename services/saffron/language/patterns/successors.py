"""The graph of a pattern's places, from which templates and edge predicates are made.

A place is (component, position): the state of a trend behind an event. Steps lead from place to place. The steps of one
stance (see `positions`) wait together: under skip-till-next-match, an `exclusive` step ends the wait of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from saffron.errors import QueryError
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.stances import Edge, Gap, Position
from saffron.language.plan.pattern import Shape, Strategy

MOST_PLACES = 500
"""Most places of a pattern; a template has far fewer states."""
TOO_MANY = "Repeat with + instead of {n,m}, or list fewer parts in ANY."

Place = tuple[int, Position]
Refuse = Callable[[str, str], QueryError]
"""A maker of errors that point at the pattern, from a message and a hint."""


@dataclass(frozen=True)
class Successor:
    """A step to place `target`, with the NOTs (numbers) in between. `exclusive`, `begins`: see `stances.Edge`."""

    target: Place
    absences: tuple[int, ...]
    strategy: Strategy
    exclusive: bool
    begins: frozenset[int]


Stances = tuple[tuple[Successor, ...], ...]


@dataclass(frozen=True)
class PlaceGraph:
    """The places of a pattern. `first`: steps to a first event. `stances[p]`: the steps from place p, by stance.

    `ends[p]`: a tuple of trailing NOTs for each way to end at p; () if a trend cannot end there.
    """

    first: Stances
    stances: dict[Place, Stances]
    ends: dict[Place, tuple[tuple[int, ...], ...]]

    def steps(self, place: Place) -> Iterator[Successor]:
        """All steps from a place."""
        return (step for stance in self.stances[place] for step in stance)


def place_graph(shape: Shape, begins: Sequence[Strategy], continues: Sequence[Strategy], refuse: Refuse) -> PlaceGraph:
    """The graph of a shape. `begins`, `continues`: strategies by component; skip-till-any-match where there is none.

    Raises the error of `refuse` if a NOT is not between adjacent events.
    """
    positions = Positions(shape)

    def step(edge: Edge, source: int | None) -> Successor:
        chosen = continues if edge.again else begins
        strategy = chosen[edge.component] if edge.component < len(chosen) else Strategy.ANY
        target = edge.component, edge.position
        return Successor(target, _between(edge.gaps, source, refuse), strategy, edge.exclusive, edge.begins)

    def steps(stances: Sequence[tuple[Edge, ...]], source: int | None) -> Stances:
        return tuple(dict.fromkeys(tuple(step(edge, source) for edge in edges) for edges in stances if edges))

    first = steps([stance.edges for stance in positions.first()], None)
    graph = PlaceGraph(first, {}, {})
    queue = [one.target for stance in first for one in stance]
    while queue:
        place = queue.pop()
        if place in graph.stances:
            continue
        component, position = place
        found = positions.after(position)
        graph.stances[place] = steps([stance.edges for stance in found], component)
        trailing = [_between(stance.trailing, component, refuse) for stance in found if stance.over]
        graph.ends[place] = tuple(dict.fromkeys(trailing))
        queue.extend(one.target for one in graph.steps(place))
    return graph


def _between(gaps: tuple[Gap, ...], source: int | None, refuse: Refuse) -> tuple[int, ...]:
    """The NOTs of `gaps`, which must be right behind an event of component `source`, or leading (None)."""
    for gap in gaps:
        if bool(gap.left) is (source is None) or (source is not None and source not in gap.left):
            hint = "Put the NOT between components that follow each other, outside of ANY."
            raise refuse("a NOT looks back over other events of the trend, which are not adjacent", hint)
    return tuple(sorted({number for gap in gaps for number in gap.absences}))


@dataclass(frozen=True)
class Adjacency:
    """The relation of two components' events in one match, or one iteration: which of the cases can occur.

    `direct`: right after each other. `separated`: with others in between. `across`: right after an event of another
    iteration.
    """

    direct: bool
    separated: bool
    across: bool


def adjacency(graph: PlaceGraph, earlier: int, later: int, loops: frozenset[int] = frozenset()) -> Adjacency:
    """The cases in which an event of `earlier` can come before one of `later`, within one iteration of `loops`."""
    none, next_to, before = 0, 1, 2
    direct = separated = across = False
    queue = [(step.target, int(step.target[0] == earlier)) for stance in graph.first for step in stance]
    seen = set(queue)
    while queue:
        place, flag = queue.pop()
        for step in graph.steps(place):
            fresh = bool(step.begins & loops)
            now = none if fresh else flag
            if step.target[0] == later:
                direct |= now == next_to
                separated |= now == before
                across |= fresh and flag == next_to
            is_later = step.target[0] == later  # only b[1] counts, once in an iteration
            after = next_to if step.target[0] == earlier else before if now and not is_later else none
            if (step.target, after) not in seen:
                seen.add((step.target, after))
                queue.append((step.target, after))
    return Adjacency(direct, separated, across)
