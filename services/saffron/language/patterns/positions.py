"""Where a run stands in its pattern, and what it may take next (the compilation of N3, for patterns of any shape).

A position says what has been taken: () of a component; (part, its position) of a SEQ or OR; for AND and ANY a position
or None of each part; (iteration, position in the body) of a repetition, iterations counted no further than they matter.

A stance is one way to go on from a position. Choices (OR, options, the orders of AND and ANY) are made where they are
reached, a run for each; in a repetition that has ended an iteration a run sits: it may go on or leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

from saffron.language.plan.plan import Absent, Choice, InOrder, Loop, Shape, Take, Together

Position = tuple[Any, ...]
Components = frozenset[int]


@dataclass(frozen=True)
class Gap:
    """What must be absent between the last event of the components `left` (none: leading) and what follows."""

    absences: tuple[int, ...]
    left: Components


class Edge(NamedTuple):
    """A component that may take the next event, and the position afterwards.

    `again`: it begins a further iteration of a repetition (the strategy for x[i] governs it, not the one for x).
    `holds`: under skip-till-next-match the run does not also stay when this edge takes the event.
    `begins`: the repetitions of which the event begins an iteration.
    """

    component: int
    position: Position
    again: bool = False
    holds: bool = True
    begins: frozenset[int] = frozenset()
    gaps: tuple[Gap, ...] = ()


class Stance(NamedTuple):
    """`over`: the pattern may be over here; `trailing`: what must be absent from its last events on."""

    edges: tuple[Edge, ...]
    over: bool
    sits: bool
    trailing: tuple[Gap, ...] = ()


_OVER = Stance((), over=True, sits=False)
_NOTHING: Components = frozenset()


def components_of(shape: Shape) -> Components:
    """The components of a shape, but for those inside its NOTs."""
    match shape:
        case Take(component=component):
            return frozenset([component])
        case Loop(body=body):
            return components_of(body)
        case Absent():
            return _NOTHING
    return frozenset().union(*map(components_of, shape.parts))


@dataclass
class Positions:
    """The stances of one pattern, remembered by the identity of its shapes (to hash a shape is to walk all of it)."""

    root: Shape
    _begun: dict[int, tuple[Stance, ...]] = field(default_factory=dict)
    _gone: dict[tuple[int, Position], tuple[Stance, ...]] = field(default_factory=dict)
    _inside: dict[int, Components] = field(default_factory=dict)
    _ahead: dict[tuple[Position, Components], Components] = field(default_factory=dict)

    def first(self) -> tuple[Stance, ...]:
        """Before anything is taken."""
        return self.begin(self.root)

    def after(self, position: Position) -> tuple[Stance, ...]:
        """Where a run stands that has come to a position."""
        return self.onward(self.root, position)

    def ahead(self, position: Position, loops: frozenset[int]) -> Components:
        """What may still be taken behind a position, before another iteration of any of these repetitions begins."""
        if (position, loops) not in self._ahead:
            edges = self.edges(self.after(position), loops)
            self._ahead[position, loops] = frozenset(edge.component for edge in edges)
        return self._ahead[position, loops]

    def edges(self, stances: tuple[Stance, ...], loops: frozenset[int] = frozenset()) -> Iterator[Edge]:
        """All edges that a run can come to from there, but for those that begin an iteration of these repetitions."""
        seen: set[Position] = set()
        queue = [stances]
        while queue:
            for edge in (edge for stance in queue.pop() for edge in stance.edges if not edge.begins & loops):
                yield edge
                if edge.position not in seen:
                    seen.add(edge.position)
                    queue.append(self.after(edge.position))

    def begin(self, shape: Shape) -> tuple[Stance, ...]:
        """Where the shape is reached: a stance for each choice, none of which sits."""
        found = self._begun.get(id(shape))
        if found is None:
            found = self._begun[id(shape)] = tuple(dict.fromkeys(self._begin(shape)))
        return found

    def onward(self, shape: Shape, position: Position) -> tuple[Stance, ...]:
        """Where something of the shape has been taken."""
        place = id(shape), position
        found = self._gone.get(place)
        if found is None:
            found = self._gone[place] = tuple(dict.fromkeys(self._onward(shape, position)))
        return found

    def _components(self, shape: Shape) -> Components:
        found = self._inside.get(id(shape))
        if found is None:
            found = self._inside[id(shape)] = components_of(shape)
        return found

    def _begin(self, shape: Shape) -> Iterator[Stance]:
        match shape:
            case Take(component=component):
                yield Stance((Edge(component, ()),), over=False, sits=False)
            case InOrder():
                yield from self._part(shape, 0, _NOTHING, ())
            case Choice(parts=parts):
                for index, part in enumerate(parts):
                    yield from (_within(stance, _at(index)) for stance in self.begin(part))
            case Together(parts=parts):
                yield from self._together(shape, (None,) * len(parts))
            case Loop(body=body):
                yield from (_iteration(shape, stance, 1, fresh=True) for stance in self.begin(body) if stance.edges)

    def _onward(self, shape: Shape, position: Position) -> Iterator[Stance]:
        match shape:
            case Take():
                yield _OVER
            case InOrder(parts=parts):
                index, inner = position
                yield from self._then(shape, index, self.onward(parts[index], inner))
            case Choice(parts=parts):
                index, inner = position
                yield from (_within(stance, _at(index)) for stance in self.onward(parts[index], inner))
            case Together():
                yield from self._together(shape, position)
            case Loop():
                yield from self._repeated(shape, position)

    def _part(self, seq: InOrder, index: int, left: Components, absent: tuple[int, ...]) -> Iterator[Stance]:
        """A SEQ whose parts before `index` are over; `absent`: NOTs met since the event before."""
        if index == len(seq.parts):
            yield _OVER._replace(trailing=(Gap(absent, left),)) if absent else _OVER
            return
        part = seq.parts[index]
        if isinstance(part, Absent):
            yield from self._part(seq, index + 1, left, (*absent, part.number))
        else:
            yield from self._reached(seq, index, self.begin(part), left, absent)

    def _reached(
        self, seq: InOrder, index: int, stances: Iterable[Stance], left: Components, absent: tuple[int, ...]
    ) -> Iterator[Stance]:
        """Stances of a part of a SEQ that has just been reached; what follows where it takes nothing."""
        for stance in stances:
            if stance.over:
                yield from self._part(seq, index + 1, left, absent)
            else:
                yield _behind(_within(stance, _at(index)), left, absent)

    def _then(self, seq: InOrder, index: int, stances: Iterable[Stance]) -> Iterator[Stance]:
        """Stances of a part of a SEQ that has taken something, with what follows where the part may be over."""
        left = self._components(seq.parts[index])
        for stance in stances:
            inside = _within(stance, _at(index))
            if not stance.over:
                yield inside
                continue
            following = [_added(after, stance.trailing) for after in self._part(seq, index + 1, left, ())]
            if not stance.sits:
                yield from following
                continue
            leaving = tuple(edge._replace(holds=False) for after in following for edge in after.edges)
            over = [after for after in following if after.over]
            yield Stance(inside.edges + leaving, bool(over), sits=True, trailing=over[0].trailing if over else ())

    def _repeated(self, loop: Loop, position: Position) -> Iterator[Stance]:
        number, inner = position
        for stance in self.onward(loop.body, inner):
            inside = _iteration(loop, stance, number, fresh=False)
            if not stance.over:
                yield inside
                continue
            further: tuple[Edge, ...] = ()
            if loop.high is None or number < loop.high:
                # The run sits in the innermost repetition: only of that one is an event that continues it never
                # ignored.
                left = self._components(loop.body)
                again = (
                    _added(
                        _behind(_iteration(loop, one, _counted(loop, number + 1), fresh=True), left, ()),
                        stance.trailing,
                    )
                    for one in self.begin(loop.body)
                )
                further = tuple(edge._replace(again=True, holds=not stance.sits) for one in again for edge in one.edges)
            yield Stance(inside.edges + further, number >= loop.low, stance.sits or bool(further), stance.trailing)

    def _together(self, both: Together, position: Position) -> Iterator[Stance]:
        """AND and ANY: the parts taken part in so far, and as many others as are needed."""
        begun = {index for index, inner in enumerate(position) if inner is not None}
        for chosen in combinations(range(len(both.parts)), both.count):
            if not begun <= set(chosen):
                continue
            ways = [
                self.begin(both.parts[i]) if position[i] is None else self.onward(both.parts[i], position[i])
                for i in chosen
            ]
            for stances in product(*ways):
                edges = tuple(
                    edge._replace(
                        position=(*position[:i], edge.position, *position[i + 1 :]),
                        holds=edge.holds and stance.sits,
                    )
                    for i, stance in zip(chosen, stances, strict=True)
                    for edge in stance.edges
                )
                # A NOT in a SEQ that has bound nothing is not asked.
                own = (one.trailing for i, one in zip(chosen, stances, strict=True) if position[i] is not None)
                trailing = tuple(gap for gaps in own for gap in gaps)
                if any(stance.sits for stance in stances):
                    yield Stance(edges, all(stance.over for stance in stances), True, trailing)
                elif edges:
                    yield from (Stance((edge._replace(holds=True),), over=False, sits=False) for edge in edges)
                else:
                    yield _OVER._replace(trailing=trailing)


def is_past(shape: Shape, position: Position | None, component: int) -> bool:
    """Whether a run has taken an event that comes after the outermost repetition around a component."""
    if position is None or isinstance(shape, Take | Loop | Absent):
        return False
    holding = next(index for index, part in enumerate(shape.parts) if component in components_of(part))
    if isinstance(shape, Together):
        return is_past(shape.parts[holding], position[holding], component)
    index, inner = position
    if isinstance(shape, InOrder) and holding < index:
        return True
    return holding == index and is_past(shape.parts[holding], inner, component)


def _within(stance: Stance, wrap: Callable[[Position], Position]) -> Stance:
    return stance._replace(edges=tuple(edge._replace(position=wrap(edge.position)) for edge in stance.edges))


def _at(index: int) -> Callable[[Position], Position]:
    return lambda position: (index, position)


def _behind(stance: Stance, left: Components, absent: tuple[int, ...]) -> Stance:
    """A part that has just been reached behind the components `left`, with the NOTs `absent` between.

    Where a NOT at its own beginning has nothing before it inside the part, what is around the part comes before it.
    """

    def gaps(edge: Edge) -> tuple[Gap, ...]:
        outer = (Gap(absent, left),) if absent else ()
        return outer + tuple(gap if gap.left else Gap(gap.absences, left) for gap in edge.gaps)

    return stance._replace(edges=tuple(edge._replace(gaps=gaps(edge)) for edge in stance.edges))


def _added(stance: Stance, gaps: tuple[Gap, ...]) -> Stance:
    """A stance before which gaps are still open."""
    edges = tuple(edge._replace(gaps=gaps + edge.gaps) for edge in stance.edges)
    return stance._replace(edges=edges, trailing=gaps + stance.trailing)


def _counted(loop: Loop, number: int) -> int:
    """Iterations are told apart as far as a bound depends on them."""
    return number if loop.high is not None else min(number, loop.low)


def _iteration(loop: Loop, stance: Stance, number: int, *, fresh: bool) -> Stance:
    edges = tuple(
        edge._replace(
            position=(number, edge.position),
            begins=edge.begins | {loop.number} if fresh else edge.begins,
        )
        for edge in stance.edges
    )
    return stance._replace(edges=edges)
