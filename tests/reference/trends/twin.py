"""The match twin of an aggregate query: its matches, found by the reference matcher, are the trends.

NEXT(B).x beside A.x is written as match queries write it wherever B always directly follows A: a[i-1] and a[i] of a
closure, a.x (a[last].x) and b.x (b[1].x) of two components. Elsewhere the reference matcher asks it of adjacent events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from saffron.language.syntax import tree
from saffron.language.syntax.printer import query_text
from saffron.language.syntax.tree import Index
from tests.reference.match.conditions import Pair
from tests.reference.match.events import Event
from tests.reference.match.matches import all_matches
from tests.reference.match.question import Question, question
from tests.reference.match.shape import Both, Leaf, Loop, Seq, Shape, Take
from tests.reference.rewritten import rewritten
from tests.reference.trends.asked import absences
from tests.reference.trends.order import follows
from tests.reference.trends.windows import Trend, Window

Edges = frozenset[tuple[int, int]]


def trends(asked: Question, events: Sequence[Event]) -> Iterator[tuple[Window, set[Trend]]]:
    """The trends of each window that has one."""
    found: dict[tuple[tuple[int, int], Event | None], set[Trend]] = {}
    for match in all_matches(twin(asked), events):
        assert match.window is not None
        trend = tuple((bound.leaf, bound.event) for bound in match.bindings)
        found.setdefault((match.window, match.opener), set()).add(trend)
    for (bounds, opener), inside in found.items():
        yield Window(*bounds, opener, ()), inside


def twin(asked: Question) -> Question:
    """The same question, with as much of NEXT as can be in conditions of match queries."""
    conditions = [(pair, _written(pair, asked)) for pair in asked.pairs]
    known = tuple(written for _, written in conditions if written is not None)
    made = question(replace(asked.query, conditions=(*asked.query.conditions, *known)))
    left = tuple(pair for pair, written in conditions if written is None)
    return replace(made, pairs=left, begins=asked.begins, continues=asked.continues)


def twin_text(asked: Question) -> str | None:
    """The twin as a query; None where NEXT cannot be written in one."""
    made = twin(asked)
    return None if made.pairs else query_text(made.query)


def _written(pair: Pair, asked: Question) -> tree.Expression | None:
    earlier, later = asked.pattern.leaves[pair.earlier], asked.pattern.leaves[pair.later]
    if _has_both(asked.pattern.root):
        return None
    if earlier is later:
        return _put(pair, (Index.PREVIOUS, Index.CURRENT)) if earlier.number in asked.pattern.closures else None
    whole = [asked.pattern.root, *absences(asked.pattern.root)]
    if not any(_directly(earlier, later, follows(shape), asked) for shape in whole):
        return None
    if pair.earlier >= asked.pattern.positive and (earlier.loops or later.loops):
        return None
    last = Index.LAST if earlier.loops else Index.NONE
    return _put(pair, (last, Index.FIRST if later.loops else Index.NONE))


def _directly(earlier: Leaf, later: Leaf, edges: Edges, asked: Question) -> bool:
    """Whether the later one, where both are there, always stands directly behind the earlier one, once."""
    ends = {earlier.number, later.number}
    if (earlier.number, later.number) not in edges:
        return False
    if any(leaf.loops and leaf.number not in asked.pattern.closures for leaf in (earlier, later)):
        return False
    beyond = _reached(earlier.number, edges, ends)
    return not any((one, later.number) in edges for one in beyond)


def _reached(start: int, edges: Edges, without: set[int]) -> set[int]:
    """What can come behind a component, by ways that do not lead through `without`."""
    found: set[int] = set()
    newest = {start}
    while newest:
        newest = {target for source, target in edges if source in newest} - found - without
        found |= newest
    return found


def _put(pair: Pair, forms: tuple[Index, Index]) -> tree.Expression:
    names = {leaf.variable for leaf in _nexts(pair.expression)}

    def leaf(one: tree.Expression) -> tree.Expression:
        if isinstance(one, tree.Next):
            return tree.Reference(one.variable, forms[1], one.attribute)
        if isinstance(one, tree.Reference):
            return replace(one, index=forms[0], back=int(forms[0] is Index.PREVIOUS))
        return one

    assert len(names) == 1
    return rewritten(pair.expression, leaf)


def _nexts(expression: tree.Expression) -> Iterator[tree.Next]:
    if isinstance(expression, tree.Next):
        yield expression
    for operand in tree.operands(expression):
        yield from _nexts(operand)


def _has_both(shape: Shape) -> bool:
    if isinstance(shape, Take):
        return False
    if isinstance(shape, Loop):
        return _has_both(shape.body)
    inner = (*shape.parts, *(absent for _, absent in shape.absent)) if isinstance(shape, Seq) else shape.parts
    return isinstance(shape, Both) or any(map(_has_both, inner))
