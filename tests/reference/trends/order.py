"""Which component may directly follow which (algorithm 1 of GRETA, for every operator)."""

from __future__ import annotations

from itertools import permutations, product
from typing import NamedTuple

from tests.reference.match.shape import Both, Either, Loop, Seq, Shape, Take, nullable


class Ends(NamedTuple):
    """Components that may come first and last, and the pairs of which the second may directly follow the first."""

    first: frozenset[int]
    last: frozenset[int]
    pairs: frozenset[tuple[int, int]]


_NONE = Ends(frozenset(), frozenset(), frozenset())


def follows(shape: Shape) -> frozenset[tuple[int, int]]:
    return ends(shape).pairs


def ends(shape: Shape) -> Ends:
    match shape:
        case Take(leaf=leaf):
            own = frozenset([leaf.number])
            return Ends(own, own, frozenset())
        case Loop(body=body):
            inner = ends(body)
            again = product(inner.last, inner.first) if shape.high != 1 else ()
            return inner._replace(pairs=inner.pairs | frozenset(again))
        case Either(parts=parts):
            return _united([ends(part) for part in parts])
        case Both(parts=parts):
            united = _united([ends(part) for part in parts])
            members = [frozenset(leaf for pair in end.pairs for leaf in pair) | end.first for end in map(ends, parts)]
            mixed = (pair for one, other in permutations(members, 2) for pair in product(one, other))
            return united._replace(pairs=united.pairs | frozenset(mixed))
        case Seq(parts=parts):
            found, empty = _NONE, True
            for part in parts:
                found = _followed(found, empty, ends(part), nullable(part))
                empty = empty and nullable(part)
            return found


def _united(parts: list[Ends]) -> Ends:
    return Ends(*(frozenset().union(*sets) for sets in zip(*parts, strict=True)))


def _followed(one: Ends, empty: bool, other: Ends, may_be_absent: bool) -> Ends:
    first = one.first | other.first if empty else one.first
    last = one.last | other.last if may_be_absent else other.last
    return Ends(first, last, one.pairs | other.pairs | frozenset(product(one.last, other.first)))
