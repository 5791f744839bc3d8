"""Where a run stands in its pattern, and what it may take next.

A state says what has been taken: () of a component; (part, its state) of a SEQ or OR; a state or None for each part of
an AND; (iteration, state of the body) of a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from tests.reference.match.shape import Both, Either, Leaf, Loop, Seq, Shape, Take, leaves_of

State = tuple[Any, ...]


@dataclass(frozen=True)
class Edge:
    """A component that may take the next event, and the state afterwards.

    `iterations`: the iteration of each repetition around the component that the event belongs to.
    `loops`: it begins a further iteration of a repetition (a strategy for x[i] governs it, not the one for x).
    `holds`: under skip-till-next-match the run does not also stay when this edge takes the event.
    """

    leaf: Leaf
    iterations: tuple[int, ...]
    state: State
    loops: bool = False
    holds: bool = True


@dataclass(frozen=True)
class Stance:
    """One way to go on from a state: a run for each.

    `sits`: in a repetition that has ended an iteration; it has edges of all kinds. Otherwise one edge (what the run
    waits for), or none and `over`.
    `over`: the pattern may be over here.
    """

    edges: tuple[Edge, ...]
    over: bool
    sits: bool


OVER = Stance((), over=True, sits=False)


@lru_cache(maxsize=100_000)
def begin(shape: Shape) -> tuple[Stance, ...]:
    """Where the shape is reached: a stance for each choice, none of which sits."""
    return _distinct(_begin(shape))


@lru_cache(maxsize=100_000)
def onward(shape: Shape, state: State) -> tuple[Stance, ...]:
    """Where something of the shape has been taken."""
    return _distinct(_onward(shape, state))


def _distinct(stances: Iterable[Stance]) -> tuple[Stance, ...]:
    return tuple(dict.fromkeys(stances))


def _begin(shape: Shape) -> Iterator[Stance]:
    match shape:
        case Take(leaf=leaf):
            yield Stance((Edge(leaf, (), ()),), over=False, sits=False)
        case Seq():
            yield from _part(shape, 0)
        case Either(parts=parts):
            for index, part in enumerate(parts):
                yield from (_within(stance, _at(index)) for stance in begin(part))
        case Both(parts=parts):
            yield from _together(shape, (None,) * len(parts))
        case Loop(body=body):
            yield from (_iteration(stance, 1) for stance in begin(body) if stance.edges)


def _onward(shape: Shape, state: State) -> Iterator[Stance]:
    match shape:
        case Take():
            yield OVER
        case Seq(parts=parts):
            index, inner = state
            yield from _then(shape, index, onward(parts[index], inner))
        case Either(parts=parts):
            index, inner = state
            yield from (_within(stance, _at(index)) for stance in onward(parts[index], inner))
        case Both():
            yield from _together(shape, state)
        case Loop():
            yield from _repeated(shape, state)


def _within(stance: Stance, wrap: Callable[[State], State]) -> Stance:
    return replace(stance, edges=tuple(replace(edge, state=wrap(edge.state)) for edge in stance.edges))


def _at(index: int) -> Callable[[State], State]:
    return lambda state: (index, state)


def _iteration(stance: Stance, number: int) -> Stance:
    edges = tuple(
        replace(edge, state=(number, edge.state), iterations=(number, *edge.iterations)) for edge in stance.edges
    )
    return replace(stance, edges=edges)


def _part(seq: Seq, index: int) -> Iterator[Stance]:
    """A SEQ whose parts before `index` are over."""
    if index == len(seq.parts):
        yield OVER
    else:
        yield from _then(seq, index, begin(seq.parts[index]))


def _then(seq: Seq, index: int, stances: Iterable[Stance]) -> Iterator[Stance]:
    """Stances of a part of a SEQ, with what follows where the part may be over."""
    for stance in stances:
        inside = _within(stance, _at(index))
        if not stance.over:
            yield inside
        elif not stance.sits:
            yield from _part(seq, index + 1)
        else:
            following = list(_part(seq, index + 1))
            leaving = tuple(replace(edge, holds=False) for after in following for edge in after.edges)
            yield Stance(inside.edges + leaving, any(after.over for after in following), sits=True)


def _repeated(loop: Loop, state: State) -> Iterator[Stance]:
    number, inner = state
    for stance in onward(loop.body, inner):
        inside = _iteration(stance, number)
        if not stance.over:
            yield inside
            continue
        further: tuple[Edge, ...] = ()
        if loop.high is None or number < loop.high:
            # The run sits in the innermost repetition: only of that one an event that continues it is never ignored.
            further = tuple(
                replace(edge, loops=True, holds=not stance.sits)
                for again in begin(loop.body)
                for edge in _iteration(again, number + 1).edges
            )
        yield Stance(inside.edges + further, number >= loop.low, sits=stance.sits or bool(further))


def _together(both: Both, state: State) -> Iterator[Stance]:
    """AND and ANY: the parts taken part in so far, and as many others as are needed."""
    begun = {index for index, inner in enumerate(state) if inner is not None}
    for chosen in combinations(range(len(both.parts)), both.count):
        if not begun <= set(chosen):
            continue
        ways = [begin(both.parts[i]) if state[i] is None else onward(both.parts[i], state[i]) for i in chosen]
        for stances in product(*ways):
            edges = tuple(
                replace(edge, state=(*state[:i], edge.state, *state[i + 1 :]), holds=edge.holds and stance.sits)
                for i, stance in zip(chosen, stances, strict=True)
                for edge in stance.edges
            )
            if any(stance.sits for stance in stances):
                yield Stance(edges, all(stance.over for stance in stances), sits=True)
            elif edges:
                yield from (Stance((replace(edge, holds=True),), over=False, sits=False) for edge in edges)
            else:
                yield OVER


def left(shape: Shape, state: State | None, leaf: Leaf) -> bool:
    """Whether a component takes no more events: the run has taken one that comes after the outermost repetition around
    it, or of another side of an OR, or of as many other parts as ANY asks for."""
    if state is None or isinstance(shape, Take | Loop):
        return False
    holding = next(index for index, part in enumerate(shape.parts) if leaf in leaves_of(part))
    if isinstance(shape, Both):
        if state[holding] is None:
            return len(state) - state.count(None) == shape.count
        return left(shape.parts[holding], state[holding], leaf)
    index, inner = state
    if holding != index:
        return isinstance(shape, Either) or holding < index
    return left(shape.parts[holding], inner, leaf)
