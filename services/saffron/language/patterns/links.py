"""Which component's event may come after which in a match: the positions of the pattern and their successors.

Glushkov's automaton of the pattern: for explanations and drawings, not for running. Parts of an AND may follow each
other in any order, so their links say more than a run allows.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan import plan
from saffron.language.plan.plan import Shape

Numbers = frozenset[int]
Ends = dict[int, Numbers]
"""Component -> the NOTs between it and the end of the shape on that side."""


@dataclass(frozen=True)
class Link:
    """An event of `target` may follow one of `source`. `absent`: NOTs in between.

    `again`: in a further iteration of a repetition. `strategy`s for x[i] govern what may be skipped then.
    """

    source: int
    target: int
    absent: Numbers
    again: bool


@dataclass(frozen=True)
class Positions:
    """`first`, `last`: components with which the shape may begin and end. `empty`: what it is when nothing is taken,
    the NOTs that stand there, None where it must take something.
    """

    first: Ends
    last: Ends
    links: tuple[Link, ...]
    empty: Numbers | None


def positions(shape: Shape) -> Positions:
    """All links of a shape, in pattern order."""
    match shape:
        case plan.Take(component=component):
            return Positions({component: frozenset()}, {component: frozenset()}, (), None)
        case plan.Absent(number=number):
            return Positions({}, {}, (), frozenset([number]))
        case plan.Choice(parts=parts):
            return _side_by_side([positions(part) for part in parts], ())
        case plan.Together(parts=parts, count=count):
            return _together([positions(part) for part in parts], count)
        case plan.Loop(body=body, high=high):
            inner = positions(body)
            again = _joined(inner.last, inner.first, again=True) if high != 1 else ()
            return Positions(inner.first, inner.last, _merged((*inner.links, *again)), inner.empty)
        case plan.InOrder(parts=parts):
            found = Positions({}, {}, (), frozenset())
            for part in parts:
                found = _then(found, positions(part))
            return found


def _joined(sources: Ends, targets: Ends, *, again: bool = False) -> tuple[Link, ...]:
    return tuple(
        Link(source, target, after | before, again)
        for source, after in sources.items()
        for target, before in targets.items()
    )


def _then(one: Positions, other: Positions) -> Positions:
    first, last = dict(one.first), dict(other.last)
    if one.empty is not None:
        first |= {component: one.empty | absent for component, absent in other.first.items()}
    if other.empty is not None:
        last |= {component: absent | other.empty for component, absent in one.last.items()}
    empty = None if one.empty is None or other.empty is None else one.empty | other.empty
    return Positions(first, last, (*one.links, *other.links, *_joined(one.last, other.first)), empty)


def _side_by_side(parts: list[Positions], between: tuple[Link, ...]) -> Positions:
    first: Ends = {}
    last: Ends = {}
    for part in parts:
        first |= part.first
        last |= part.last
    links = tuple(link for part in parts for link in part.links)
    empty = next((part.empty for part in parts if part.empty is not None), None)
    return Positions(first, last, _merged((*links, *between)), empty)


def _together(parts: list[Positions], count: int) -> Positions:
    """Events of one part between any two of another one."""
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
    """One link for each pair; it is `again` only if all are."""
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        pair = link.source, link.target
        known = found.get(pair)
        if known is not None:
            link = Link(*pair, known.absent & link.absent, known.again and link.again)
        found[pair] = link
    return tuple(found.values())
