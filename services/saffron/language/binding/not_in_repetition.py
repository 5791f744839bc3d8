"""The checks that the events that a NOT in a repetition reads of the match are known when its gap ends.

The next iteration has a gap of its own, so nothing is evaluated later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from saffron.language.binding.conditions import FINISHED, Use
from saffron.language.binding.keys import PartialKey
from saffron.language.patterns.layout import Branch, Layout, NotLayout, PathStep, surely_in
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.stances import Edge
from saffron.language.scope.scope import Scope

_MOST_EDGES = 50_000
"""Most edges that are checked; the engine refuses patterns with more."""


def check_not_in_repetition(uses: Mapping[int, Sequence[Use]], layout: Layout, scope: Scope) -> None:
    """Raise QueryError if a condition reads an event behind the gap. `uses`: by NOT, its references to the match."""
    wanted = {number: own for number, own in uses.items() if own and layout.absences[number].loops}
    positions = Positions(layout.shape)
    for number, edge in _gaps(positions, wanted):
        ahead = positions.ahead(edge.position, frozenset(layout.absences[number].loops))
        _check(edge, ahead, wanted[number], layout.absences[number], scope)


def known_in_repetition(key: PartialKey, number: int, outside: list[int], layout: Layout, scope: Scope) -> list[int]:
    """The components among `outside`, those of a partial key in the match, that NOT `number` compares its events with.

    One is enough that every match has taken by then. QueryError if there is none, and another one may come later.
    """
    loops = frozenset(layout.absences[number].loops)
    positions = Positions(layout.shape)
    edges = [edge for _, edge in _gaps(positions, {number})]
    here = next(leaf.path for leaf in layout.leaves if leaf.absence is None and loops <= set(leaf.loops))
    path = here[: 1 + max(here.index(PathStep(Branch.LOOP, loop)) for loop in loops)]

    def is_taken(component: int) -> bool:
        return surely_in(layout.leaves[component].path, path) and all(
            component == edge.component or component not in positions.ahead(edge.position, loops) for edge in edges
        )

    if taken := [component for component in outside if is_taken(component)]:
        return taken[:1]
    for edge in edges:
        for component in set(outside) & positions.ahead(edge.position, frozenset()):
            name = scope.places[component].variable
            hint = "Write the key of all events, or conditions that compare it with events before it."
            message = f"{_named(layout.absences[number])} cannot know the key of {name}, which comes later"
            raise scope.plan_error(message, key.written.span, hint)
    return outside


def _gaps(positions: Positions, numbers: Collection[int]) -> Iterator[tuple[int, Edge]]:
    """The edges that end the gaps of some NOTs, each with the number of the NOT."""
    if not numbers:
        return
    for edge in islice(positions.edges(positions.first()), _MOST_EDGES):
        yield from ((number, edge) for gap in edge.gaps if gap.left for number in gap.absences if number in numbers)


def _named(ruled: NotLayout) -> str:
    return "UNTIL" if ruled.until else "a NOT in a repetition"


def _check(edge: Edge, ahead: frozenset[int], uses: Sequence[Use], ruled: NotLayout, scope: Scope) -> None:
    """Raise QueryError for a reference to a component `ahead`.

    The event of `edge`, which ends the gap, may be read by itself, but not as a finished list.
    """
    for use in uses:
        finished = use.aggregate or use.index in FINISHED
        if use.component in ahead and (finished or use.component != edge.component):
            hint = "Compare it with events before it, or with the one directly behind it."
            if ruled.until:
                hint = "Compare it with events before the repetition, or with its first one."
            raise scope.plan_error(f"{_named(ruled)} cannot know what comes later", use.span, hint)
