"""Positions of a run in its pattern, and the events that it may take next (N3, for patterns of any shape).

A position is the part of the pattern taken so far. It is

- () for a component,
- (part, its position) for a SEQ or OR,
- a position or None by part for AND and ANY,
- (iteration, position in the body) for a repetition; iterations are counted only as far as bounds need.

A stance is one way to go on from a position. A run makes its choices (OR, options, the order of AND and ANY) where it
reaches them, and splits into a run for each. A run that has ended an iteration of a repetition may stay: its stance
has edges for a further iteration and edges that leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

from saffron.language.patterns.stances import (
    OVER,
    Components,
    Edge,
    Gap,
    Position,
    Stance,
    behind,
    in_iteration,
    iteration_number,
    part_position,
    with_gaps,
    within_part,
)
from saffron.language.plan.pattern import Absent, Choice, InOrder, Interleaved, Loop, Shape, Take

_NOTHING: Components = frozenset()


def components_of(shape: Shape) -> Components:
    """The components of a shape, without those inside its NOTs."""
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
    """The stances of one pattern, cached by the identity of its shapes, as hashing a shape visits all of it."""

    root: Shape
    _begun: dict[int, tuple[Stance, ...]] = field(default_factory=dict)
    _gone: dict[tuple[int, Position], tuple[Stance, ...]] = field(default_factory=dict)
    _inside: dict[int, Components] = field(default_factory=dict)
    _ahead: dict[tuple[Position, Components], Components] = field(default_factory=dict)

    def first(self) -> tuple[Stance, ...]:
        """The stances of a run that has taken nothing."""
        return self.begin(self.root)

    def after(self, position: Position) -> tuple[Stance, ...]:
        """The stances of a run at a position."""
        return self.onward(self.root, position)

    def ahead(self, position: Position, loops: frozenset[int]) -> Components:
        """The components that may still take events behind a position, before the next iteration of any of `loops`."""
        if (position, loops) not in self._ahead:
            edges = self.edges(self.after(position), loops)
            self._ahead[position, loops] = frozenset(edge.component for edge in edges)
        return self._ahead[position, loops]

    def edges(self, stances: tuple[Stance, ...], loops: frozenset[int] = frozenset()) -> Iterator[Edge]:
        """All edges that a run can reach from `stances`, without those that begin an iteration of any of `loops`."""
        seen: set[Position] = set()
        queue = [stances]
        while queue:
            for edge in (edge for stance in queue.pop() for edge in stance.edges if not edge.begins & loops):
                yield edge
                if edge.position not in seen:
                    seen.add(edge.position)
                    queue.append(self.after(edge.position))

    def begin(self, shape: Shape) -> tuple[Stance, ...]:
        """The stances at the beginning of a shape, one for each choice; none of them may stay."""
        found = self._begun.get(id(shape))
        if found is None:
            found = self._begun[id(shape)] = tuple(dict.fromkeys(self._begin(shape)))
        return found

    def onward(self, shape: Shape, position: Position) -> tuple[Stance, ...]:
        """The stances at a position inside a shape, of which something has been taken."""
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
        """The stances at the beginning of a shape, not cached."""
        match shape:
            case Take(component=component):
                yield Stance((Edge(component, ()),), over=False, may_stay=False)
            case InOrder():
                yield from self._part(shape, 0, _NOTHING, ())
            case Choice(parts=parts):
                for index, part in enumerate(parts):
                    yield from (within_part(stance, part_position(index)) for stance in self.begin(part))
            case Interleaved(parts=parts):
                yield from self._interleaved(shape, (None,) * len(parts))
            case Absent(number=number):
                yield OVER._replace(trailing=(Gap((number,), _NOTHING),))
            case Loop(body=body):
                yield from (in_iteration(shape, stance, 1, fresh=True) for stance in self.begin(body) if stance.edges)

    def _onward(self, shape: Shape, position: Position) -> Iterator[Stance]:
        """The stances at a position inside a shape, not cached."""
        match shape:
            case Take():
                yield OVER
            case InOrder(parts=parts):
                index, inner = position
                yield from self._then(shape, index, self.onward(parts[index], inner))
            case Choice(parts=parts):
                index, inner = position
                yield from (within_part(stance, part_position(index)) for stance in self.onward(parts[index], inner))
            case Interleaved():
                yield from self._interleaved(shape, position)
            case Loop():
                yield from self._repeated(shape, position)

    def _part(self, seq: InOrder, index: int, left: Components, absent: tuple[int, ...]) -> Iterator[Stance]:
        """The stances of a SEQ whose parts before `index` are over. `absent`: the NOTs since the last event."""
        if index == len(seq.parts):
            yield OVER._replace(trailing=_gaps(seq, left, absent)) if absent else OVER
            return
        part = seq.parts[index]
        if isinstance(part, Absent):
            yield from self._part(seq, index + 1, left, (*absent, part.number))
        else:
            yield from self._reached(seq, index, self.begin(part), left, absent)

    def _reached(
        self, seq: InOrder, index: int, stances: Iterable[Stance], left: Components, absent: tuple[int, ...]
    ) -> Iterator[Stance]:
        """The stances at the beginning of part `index` of a SEQ, and of the next part where this one takes nothing."""
        sides = _absent_sides(seq.parts[index])
        for stance in stances:
            if stance.over:
                # A NOT in a SEQ that has bound nothing is not evaluated; one that is a side of an OR is.
                own = tuple(number for gap in stance.trailing for number in gap.absences if number in sides)
                yield from self._part(seq, index + 1, left, (*absent, *own))
            else:
                yield behind(within_part(stance, part_position(index)), left, _gaps(seq, left, absent))

    def _then(self, seq: InOrder, index: int, stances: Iterable[Stance]) -> Iterator[Stance]:
        """The stances inside part `index` of a SEQ, and of the next part where this one may be over."""
        left = self._components(seq.parts[index])
        for stance in stances:
            inside = within_part(stance, part_position(index))
            if not stance.over:
                yield inside
                continue
            following = [with_gaps(after, stance.trailing) for after in self._part(seq, index + 1, left, ())]
            if not stance.may_stay:
                yield from following
                continue
            leaving = tuple(edge._replace(exclusive=False) for after in following for edge in after.edges)
            over = [after for after in following if after.over]
            yield Stance(inside.edges + leaving, bool(over), may_stay=True, trailing=over[0].trailing if over else ())

    def _repeated(self, loop: Loop, position: Position) -> Iterator[Stance]:
        """The stances inside a repetition, with edges for a further iteration where one may end."""
        number, inner = position
        left = self._components(loop.body)
        ended = () if loop.until is None else (Gap((loop.until,), left),)
        for stance in self.onward(loop.body, inner):
            inside = in_iteration(loop, stance, number, fresh=False)
            inside = behind(inside, left, ended) if ended else inside
            if not stance.over:
                yield inside
                continue
            further: tuple[Edge, ...] = ()
            if loop.high is None or number < loop.high:
                # The run stays in the innermost repetition: only of that one is an event that continues it never
                # ignored.
                again = (
                    with_gaps(
                        behind(in_iteration(loop, one, iteration_number(loop, number + 1), fresh=True), left, ended),
                        stance.trailing,
                    )
                    for one in self.begin(loop.body)
                )
                further = tuple(
                    edge._replace(again=True, exclusive=not stance.may_stay) for one in again for edge in one.edges
                )
            yield Stance(inside.edges + further, number >= loop.low, stance.may_stay or bool(further), stance.trailing)

    def _interleaved(self, both: Interleaved, position: Position) -> Iterator[Stance]:
        """The stances of AND and ANY, for each choice of parts that includes those begun."""
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
                        exclusive=edge.exclusive and stance.may_stay,
                    )
                    for i, stance in zip(chosen, stances, strict=True)
                    for edge in stance.edges
                )
                # A NOT in a SEQ that has bound nothing is not evaluated.
                own = (one.trailing for i, one in zip(chosen, stances, strict=True) if position[i] is not None)
                trailing = tuple(gap for gaps in own for gap in gaps)
                if any(stance.may_stay for stance in stances):
                    yield Stance(edges, all(stance.over for stance in stances), True, trailing)
                elif edges:
                    yield from (Stance((edge._replace(exclusive=True),), over=False, may_stay=False) for edge in edges)
                else:
                    yield OVER._replace(trailing=trailing)


def _gaps(seq: InOrder, left: Components, absent: tuple[int, ...]) -> tuple[Gap, ...]:
    """The gaps of the NOTs `absent` of a SEQ, behind the components `left` or behind those since which they count."""
    since = {part.number: part.since for part in seq.parts if isinstance(part, Absent) and part.since}
    plain = tuple(number for number in absent if number not in since)
    own = tuple(Gap((number,), since[number]) for number in absent if number in since)
    return ((Gap(plain, left),) if plain else ()) + own


def _absent_sides(shape: Shape) -> frozenset[int]:
    """The NOTs (numbers) that are sides of an OR."""
    if not isinstance(shape, Choice):
        return frozenset()
    return frozenset(part.number for part in shape.parts if isinstance(part, Absent))


def is_past(shape: Shape, position: Position | None, component: int) -> bool:
    """True if no event of a component can follow a run at a position.

    The run is behind the outermost repetition around the component, or has chosen another side of an OR, or other parts
    of an ANY.
    """
    if position is None or isinstance(shape, Take | Loop | Absent):
        return False
    holding = next(index for index, part in enumerate(shape.parts) if component in components_of(part))
    if isinstance(shape, Interleaved):
        if position[holding] is None:
            return sum(inner is not None for inner in position) == shape.count
        return is_past(shape.parts[holding], position[holding], component)
    index, inner = position
    if holding == index:
        return is_past(shape.parts[holding], inner, component)
    return isinstance(shape, Choice) or holding < index
