"""NOT in a repetition: it is compared with what is known when its gap ends: the next iteration has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from saffron.language.binding.conditions import Use
from saffron.language.patterns.layout import Layout
from saffron.language.patterns.positions import Edge, Positions
from saffron.language.scope.scope import Scope
from saffron.language.syntax.tree import Index

_MOST_EDGES = 50_000
"""Patterns with more are refused by whoever runs them."""


def check_crossings(uses: Mapping[int, Sequence[Use]], layout: Layout, scope: Scope) -> None:
    """`uses`: by NOT, what its conditions read of the match. QueryError: something that comes too late."""
    wanted = {number: own for number, own in uses.items() if own and layout.absences[number].loops}
    if not wanted:
        return
    positions = Positions(layout.shape)
    for edge in islice(positions.edges(positions.first()), _MOST_EDGES):
        for number in (number for gap in edge.gaps if gap.left for number in gap.absences if number in wanted):
            ahead = positions.ahead(edge.position, frozenset(layout.absences[number].loops))
            _check(edge, ahead, wanted[number], scope)


def _check(edge: Edge, ahead: frozenset[int], uses: Sequence[Use], scope: Scope) -> None:
    for use in uses:
        finished = use.aggregate or use.index in (Index.LAST, Index.ALL)
        if use.component in ahead and (finished or use.component != edge.component):
            hint = "Compare it with events before it, or with the one directly behind it."
            raise scope.refused("a NOT in a repetition cannot know what comes later", use.span, hint)
