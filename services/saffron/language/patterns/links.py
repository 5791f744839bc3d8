"""Glushkov's automaton of a pattern, for explanations and drawings: which component may follow which in a match.

It is not executed. Parts of an AND may follow each other in any order, so their links allow more than a run does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language.plan.pattern import Absent, Choice, InOrder, Interleaved, Loop, Shape, Take

Numbers = frozenset[int]
Ends = dict[int, Numbers]
"""Component -> the NOTs between it and the end of the shape on that side."""


@dataclass(frozen=True)
class Link:
    """An event of component `target` may follow one of `source`. `absent`: the NOTs in between.

    `again`: only in a further iteration of a repetition, where the strategy for x[i] applies.
    """

    source: int
    target: int
    absent: Numbers
    again: bool


@dataclass(frozen=True)
class Positions:
    """The links of a shape, and its ends. `first`, `last`: components that it may begin and end with.

    `empty`: the NOTs in the shape if it takes no event; None if it must take one.
    """

    first: Ends
    last: Ends
    links: tuple[Link, ...]
    empty: Numbers | None


def positions(shape: Shape) -> Positions:
    """The links and ends of a shape, in pattern order."""
    match shape:
        case Take(component=component):
            return Positions({component: frozenset()}, {component: frozenset()}, (), None)
        case Absent(number=number):
            return Positions({}, {}, (), frozenset([number]))
        case Choice(parts=parts):
            return _side_by_side([positions(part) for part in parts], ())
        case Interleaved(parts=parts, count=count):
            return _interleaved([positions(part) for part in parts], count)
        case Loop(body=body, high=high, until=until):
            inner = positions(body)
            again = _joined(inner.last, inner.first, again=True) if high != 1 else ()
            links = _merged((*inner.links, *again))
            ended = frozenset[int]() if until is None else frozenset([until])
            links = tuple(replace(link, absent=link.absent | ended) for link in links)
            return Positions(inner.first, inner.last, links, inner.empty)
        case InOrder(parts=parts):
            found = Positions({}, {}, (), frozenset())
            for part in parts:
                found = _then(found, positions(part))
            return found


def _joined(sources: Ends, targets: Ends, *, again: bool = False) -> tuple[Link, ...]:
    """A link from each source to each target, with the NOTs on both sides."""
    return tuple(
        Link(source, target, after | before, again)
        for source, after in sources.items()
        for target, before in targets.items()
    )


def _then(one: Positions, other: Positions) -> Positions:
    """The links and ends of two shapes one after the other."""
    first, last = dict(one.first), dict(other.last)
    if one.empty is not None:
        first |= {component: one.empty | absent for component, absent in other.first.items()}
    if other.empty is not None:
        last |= {component: absent | other.empty for component, absent in one.last.items()}
    empty = None if one.empty is None or other.empty is None else one.empty | other.empty
    return Positions(first, last, (*one.links, *other.links, *_joined(one.last, other.first)), empty)


def _side_by_side(parts: list[Positions], between: tuple[Link, ...]) -> Positions:
    """The links and ends of alternatives, with the links `between` them."""
    first: Ends = {}
    last: Ends = {}
    for part in parts:
        first |= part.first
        last |= part.last
    links = tuple(link for part in parts for link in part.links)
    empty = next((part.empty for part in parts if part.empty is not None), None)
    return Positions(first, last, _merged((*links, *between)), empty)


def _interleaved(parts: list[Positions], count: int) -> Positions:
    """`count` of the parts, where an event of one part may follow any event of another."""
    members = [sorted({*part.first, *part.last, *(end for link in part.links for end in (link.source, link.target))})
               for part in parts]  # fmt: skip
    between = [
        Link(source, target, frozenset(), again=False)
        for at, sources in enumerate(members)
        for other, targets in enumerate(members)
        if at != other
        for source in sources
        for target in targets
    ]
    found = _side_by_side(parts, tuple(between) if count > 1 else ())
    empty = found.empty if sum(part.empty is not None for part in parts) >= count else None
    return Positions(found.first, found.last, found.links, empty)


def _merged(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """One link for each pair. It is `again` only if all are; it keeps only the NOTs that all have."""
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        pair = link.source, link.target
        known = found.get(pair)
        if known is not None:
            link = Link(*pair, known.absent & link.absent, known.again and link.again)
        found[pair] = link
    return tuple(found.values())
