"""Deterministic automata over components: the subset construction of a pattern's places, and minimisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from saffron.errors import QueryError
from saffron.language.patterns.successors import TOO_MANY, Place, PlaceGraph, Refuse
from saffron.language.plan.limits import MAX_STATES
from saffron.language.plan.pattern import Strategy
from saffron.language.trends.refinement import refined, representatives

MOST_SUBSETS = 4 * MAX_STATES
"""Most sets of places in the subset construction."""
SEPARATE = "Write the ways as patterns of different event types, or add a query for each."
"""The hint of an error about two ways that conflict."""

Absences = tuple[int, ...]
Subset = frozenset[Place]


@dataclass(frozen=True)
class Way:
    """A transition of a deterministic automaton: to state `target`."""

    target: int
    absences: Absences
    strategy: Strategy


@dataclass(frozen=True)
class Automaton:
    """A deterministic automaton over components. `components[s]`: that of state s; `first`: ways to a first event.

    `ways[s]`: by component, from state s. `ends[s]`: the NOTs behind an end there, None where no trend ends.
    """

    components: tuple[int, ...]
    first: dict[int, Way]
    ways: tuple[dict[int, Way], ...]
    ends: tuple[Absences | None, ...]


def too_many(refuse: Refuse) -> QueryError:
    return refuse(f"the pattern needs more than {MAX_STATES} states", TOO_MANY)


# ---------------------------------------------------------------- subset construction


def deterministic(graph: PlaceGraph, refuse: Refuse) -> Automaton:
    """The automaton of the subset construction; QueryError beyond MOST_SUBSETS, or if ways conflict."""
    subsets: dict[Subset, int] = {}

    def numbered(subset: Subset) -> int:
        if subset not in subsets and len(subsets) == MOST_SUBSETS:
            raise too_many(refuse)
        return subsets.setdefault(subset, len(subsets))

    def ways(steps: Iterable[tuple[Place, Absences, Strategy]]) -> dict[int, Way]:
        """The ways by component: to the set of all places of the component that the steps lead to, which is numbered.

        QueryError: steps to one component differ in their NOTs or strategy, so that no one way stands for them.
        """
        by_place: dict[Place, set[tuple[Absences, Strategy]]] = {}
        for place, absences, strategy in steps:
            by_place.setdefault(place, set()).add((absences, strategy))
        found: dict[int, Way] = {}
        for component in sorted({place[0] for place in by_place}):
            inside = {place: _weakest(own) for place, own in by_place.items() if place[0] == component}
            found_ways = set(inside.values())
            if len(found_ways) > 1 or None in found_ways:
                raise refuse("an event continues a trend in two ways that ask for different things between", SEPARATE)
            absences, strategy = next(one for one in found_ways if one is not None)
            found[component] = Way(numbered(frozenset(inside)), absences, strategy)
        return found

    first = ways((one.target, one.absences, Strategy.ANY) for stance in graph.first for one in stance)
    rows: list[dict[int, Way]] = []
    ends: list[Absences | None] = []
    while len(rows) < len(subsets):
        subset = list(subsets)[len(rows)]
        steps = (one for place in subset for one in graph.steps(place))
        rows.append(ways((one.target, one.absences, one.strategy) for one in steps))
        ends.append(end_of({one for place in subset for one in graph.ends[place]}, refuse))
    components = tuple(next(iter(subset))[0] for subset in subsets)
    return Automaton(components, first, tuple(rows), tuple(ends))


def _weakest(ways: set[tuple[Absences, Strategy]]) -> tuple[Absences, Strategy] | None:
    """The way to a place that holds wherever any of the other ways does; None if there is none."""
    ranks = {Strategy.ANY: 0, Strategy.PARTITION: 1, Strategy.STRICT: 2}
    for absences, strategy in ways:
        if all(set(absences) <= set(one) and ranks[strategy] <= ranks[other] for one, other in ways):
            return absences, strategy
    return None


def end_of(ways: set[Absences], refuse: Refuse) -> Absences | None:
    """The NOTs behind an end that are part of those of every way to end there; None where no trend ends."""
    for way in ways:
        if all(set(way) <= set(other) for other in ways):
            return way
    if ways:
        raise refuse("a trend ends in two ways that ask for different things behind it", SEPARATE)
    return None


# ---------------------------------------------------------------- fewer states


def minimal(automaton: Automaton) -> Automaton:
    """The automaton with equivalent states merged."""
    classes = refined(range(len(automaton.components)), partial(_signature, automaton))
    return _renumbered(automaton, representatives(classes), list(classes.values()))


def _signature(automaton: Automaton, state: int, classes: dict[int, int]) -> object:
    """The value by which one round of refinement distinguishes states: component, NOTs behind an end, and ways."""
    ways = tuple(
        (component, classes[way.target], way.absences, way.strategy)
        for component, way in sorted(automaton.ways[state].items())
    )
    return automaton.components[state], automaton.ends[state], ways


def _renumbered(automaton: Automaton, kept: list[int], numbers: list[int]) -> Automaton:
    """The automaton with only the states `kept`, ordered by component. `numbers[s]`: index in `kept` of state s."""
    order = sorted(range(len(kept)), key=lambda number: (automaton.components[kept[number]], number))
    place = {number: at for at, number in enumerate(order)}

    def moved(ways: dict[int, Way]) -> dict[int, Way]:
        return {component: replace(way, target=place[numbers[way.target]]) for component, way in ways.items()}

    return Automaton(
        tuple(automaton.components[kept[number]] for number in order),
        moved(automaton.first),
        tuple(moved(automaton.ways[kept[number]]) for number in order),
        tuple(automaton.ends[kept[number]] for number in order),
    )


def shortest(automaton: Automaton) -> Automaton:
    """The automaton without ways out of ends and into starts, as trends that take one contain a shorter trend."""
    starts = {way.target for way in automaton.first.values()}
    ways = tuple(
        {c: way for c, way in row.items() if automaton.ends[state] is None and way.target not in starts}
        for state, row in enumerate(automaton.ways)
    )
    shorter = replace(automaton, ways=ways)
    kept = sorted(_useful(shorter, starts))
    numbers = [kept.index(state) if state in kept else -1 for state in range(len(ways))]
    first = {c: way for c, way in automaton.first.items() if way.target in kept}
    ways = tuple({c: way for c, way in row.items() if way.target in kept} for row in ways)
    return _renumbered(replace(shorter, first=first, ways=ways), kept, numbers)


def _useful(automaton: Automaton, starts: set[int]) -> set[int]:
    """The states on a path from a start to an end."""
    reached, queue = set(starts), list(starts)
    while queue:
        for way in automaton.ways[queue.pop()].values():
            if way.target not in reached:
                reached.add(way.target)
                queue.append(way.target)
    useful = {state for state in reached if automaton.ends[state] is not None}
    grown = True
    while grown:
        more = {state for state in reached if any(way.target in useful for way in automaton.ways[state].values())}
        grown = not more <= useful
        useful |= more
    return useful
