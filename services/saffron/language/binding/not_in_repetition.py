"""The check that conditions of a NOT in a repetition read only what is known when its gap ends.

The next iteration has a gap of its own, so nothing is evaluated later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from saffron.language.binding.conditions import FINISHED, Use
from saffron.language.patterns.layout import Layout
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.stances import Edge
from saffron.language.scope.scope import Scope

_MOST_EDGES = 50_000
"""Most edges that are checked; the engine refuses patterns with more."""


def check_not_in_repetition(uses: Mapping[int, Sequence[Use]], layout: Layout, scope: Scope) -> None:
    """Raise QueryError if a condition reads an event behind the gap. `uses`: by NOT, its references to the match."""
    wanted = {number: own for number, own in uses.items() if own and layout.absences[number].loops}
    if not wanted:
        return
    positions = Positions(layout.shape)
    for edge in islice(positions.edges(positions.first()), _MOST_EDGES):
        for number in (number for gap in edge.gaps if gap.left for number in gap.absences if number in wanted):
            ahead = positions.ahead(edge.position, frozenset(layout.absences[number].loops))
            _check(edge, ahead, wanted[number], scope)


def _check(edge: Edge, ahead: frozenset[int], uses: Sequence[Use], scope: Scope) -> None:
    """Raise QueryError for a reference to a component `ahead`.

    The event of `edge`, which ends the gap, may be read by itself, but not as a finished list.
    """
    for use in uses:
        finished = use.aggregate or use.index in FINISHED
        if use.component in ahead and (finished or use.component != edge.component):
            hint = "Compare it with events before it, or with the one directly behind it."
            raise scope.plan_error("a NOT in a repetition cannot know what comes later", use.span, hint)
