"""The construction of GRETA templates (T2, T4) from the places of a pattern.

A trend is a sequence of (component, event), and counts once even if the pattern matches it in several ways. So the
subset construction over components makes the places deterministic, and equivalent states are merged. Under
skip-till-next-match each stance selects events by itself, so its steps stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from saffron.errors import QueryError
from saffron.language.patterns.successors import TOO_MANY, Place, PlaceGraph, Refuse, Step
from saffron.language.plan import plan
from saffron.language.plan.plan import Strategy, Template, Transition, TrendState

MOST_SUBSETS = 4 * plan.MAX_STATES
"""Most sets of places in the subset construction."""

Absences = tuple[int, ...]
Subset = frozenset[Place]

_SEPARATE = "Write the ways as patterns of different event types, or add a query for each."


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


def template_of(graph: PlaceGraph, refuse: Refuse, *, negative: bool = False) -> Template:
    """The template of a pattern, without conditions. QueryError: too many states, or an ambiguous NOT or strategy.

    `negative`: only the existence of a trend matters, so longer trends may be left out.
    """
    if any(step.strategy is Strategy.NEXT for place in graph.stances for step in graph.steps(place)):
        found = _selecting(graph, refuse)
    else:
        automaton = _minimal(_deterministic(graph, refuse))
        found = _template(_shortest(automaton) if negative else automaton)
    if len(found.states) > plan.MAX_STATES:
        raise _too_many(refuse)
    return found


def _too_many(refuse: Refuse) -> QueryError:
    return refuse(f"the pattern needs more than {plan.MAX_STATES} states", TOO_MANY)


# ---------------------------------------------------------------- subset construction


def _deterministic(graph: PlaceGraph, refuse: Refuse) -> Automaton:
    subsets: dict[Subset, int] = {}

    def numbered(subset: Subset) -> int:
        if subset not in subsets and len(subsets) == MOST_SUBSETS:
            raise _too_many(refuse)
        return subsets.setdefault(subset, len(subsets))

    def ways(steps: Iterable[tuple[Place, Absences, Strategy]]) -> dict[int, Way]:
        by_place: dict[Place, set[tuple[Absences, Strategy]]] = {}
        for place, absences, strategy in steps:
            by_place.setdefault(place, set()).add((absences, strategy))
        found: dict[int, Way] = {}
        for component in sorted({place[0] for place in by_place}):
            inside = {place: _weakest(asked) for place, asked in by_place.items() if place[0] == component}
            asked = set(inside.values())
            if len(asked) > 1 or None in asked:
                raise refuse("an event continues a trend in two ways that ask for different things between", _SEPARATE)
            absences, strategy = next(one for one in asked if one is not None)
            found[component] = Way(numbered(frozenset(inside)), absences, strategy)
        return found

    first = ways((one.target, one.absences, Strategy.ANY) for stance in graph.first for one in stance)
    rows: list[dict[int, Way]] = []
    ends: list[Absences | None] = []
    while len(rows) < len(subsets):
        subset = list(subsets)[len(rows)]
        steps = (one for place in subset for one in graph.steps(place))
        rows.append(ways((one.target, one.absences, one.strategy) for one in steps))
        ends.append(_end({one for place in subset for one in graph.ends[place]}, refuse))
    components = tuple(next(iter(subset))[0] for subset in subsets)
    return Automaton(components, first, tuple(rows), tuple(ends))


def _weakest(asked: set[tuple[Absences, Strategy]]) -> tuple[Absences, Strategy] | None:
    """The way to a place that holds wherever any of the other ways does; None if there is none."""
    ranks = {Strategy.ANY: 0, Strategy.PARTITION: 1, Strategy.STRICT: 2}
    for absences, strategy in asked:
        if all(set(absences) <= set(one) and ranks[strategy] <= ranks[other] for one, other in asked):
            return absences, strategy
    return None


def _end(ways: set[Absences], refuse: Refuse) -> Absences | None:
    """The NOTs behind an end that are part of those of every way to end there; None where no trend ends."""
    for way in ways:
        if all(set(way) <= set(other) for other in ways):
            return way
    if ways:
        raise refuse("a trend ends in two ways that ask for different things behind it", _SEPARATE)
    return None


# ---------------------------------------------------------------- fewer states


def _minimal(automaton: Automaton) -> Automaton:
    """The automaton with equivalent states merged, by partition refinement."""
    classes: list[int] = [0] * len(automaton.components)
    count = 0
    while True:
        numbers: dict[object, int] = {}
        refined = [
            numbers.setdefault(_signature(automaton, state, classes), len(numbers)) for state in range(len(classes))
        ]
        classes = refined
        if len(numbers) == count:
            break
        count = len(numbers)
    kept = [classes.index(number) for number in range(count)]
    return _renumbered(automaton, kept, classes)


def _signature(automaton: Automaton, state: int, classes: list[int]) -> object:
    """The value by which one round of refinement tells states apart, given their `classes` so far."""
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


def _shortest(automaton: Automaton) -> Automaton:
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


def _template(automaton: Automaton) -> Template:
    starts = {way.target: way.absences for way in automaton.first.values()}
    states = tuple(
        TrendState(component, state in starts, end is not None, starts.get(state, ()), end or ())
        for state, (component, end) in enumerate(zip(automaton.components, automaton.ends, strict=True))
    )
    transitions = [
        Transition(source, way.target, (), way.absences, way.strategy)
        for source, row in enumerate(automaton.ways)
        for way in row.values()
    ]
    transitions.sort(key=lambda one: (one.source, one.target))
    return Template(states, tuple(transitions), ((),) * len(states))


# ---------------------------------------------------------------- skip-till-next-match


def _selecting(graph: PlaceGraph, refuse: Refuse) -> Template:
    """The template under skip-till-next-match: a state for each place (equivalent ones merged).

    Each stance selects events by itself, so the subset construction would change the result.
    """
    places = sorted(graph.stances, key=lambda place: (place[0], repr(place)))
    classes = _equivalent(graph, places)
    count = max(classes.values()) + 1
    kept = [next(place for place in places if classes[place] == number) for number in range(count)]
    _check_one_way(graph, classes, refuse)
    starts: dict[int, Absences] = {}
    for stance in graph.first:
        for step in stance:
            if starts.setdefault(classes[step.target], step.absences) != step.absences:
                raise refuse("a trend begins in two ways that ask for different things before it", _SEPARATE)
    states = []
    for number, place in enumerate(kept):
        end = _end(set(graph.ends[place]), refuse)
        states.append(TrendState(place[0], number in starts, end is not None, starts.get(number, ()), end or ()))
    transitions: list[Transition] = []
    for number, place in enumerate(kept):
        stances = {_stance(stance, classes) for stance in graph.stances[place]}
        for steps in sorted(stances, key=repr):
            base = len(transitions)
            waiting = tuple(base + at for at, one in enumerate(steps) if one[2] is Strategy.NEXT)
            for target, absences, strategy, exclusive in steps:
                ends = waiting if exclusive else ()
                transitions.append(Transition(number, target, (), absences, strategy, ends))
    used = [(one.source, one.target) for one in transitions]
    if len(set(used)) < len(used):
        raise refuse("skip-till-next-match would select the same event in two ways", _BY_ANY)
    return Template(tuple(states), tuple(transitions), ((),) * len(states))


_BY_ANY = "Write skip-till-any-match, or the pattern so that each event has one place in it."

_Stance = tuple[tuple[int, Absences, Strategy, bool], ...]


def _stance(steps: Iterable[Step], classes: dict[Place, int]) -> _Stance:
    found = {(classes[step.target], step.absences, step.strategy, step.exclusive) for step in steps}
    return tuple(sorted(found, key=repr))


def _equivalent(graph: PlaceGraph, places: list[Place]) -> dict[Place, int]:
    """Place -> class of equivalent places, which have the same stances; classes are numbered in order."""
    classes = dict.fromkeys(places, 0)
    count = 0
    while True:
        numbers: dict[object, int] = {}
        refined = {}
        for place in places:
            stances = frozenset(_stance(stance, classes) for stance in graph.stances[place])
            signature = place[0], frozenset(graph.ends[place]), stances
            refined[place] = numbers.setdefault(signature, len(numbers))
        classes = refined
        if len(numbers) == count:
            return classes
        count = len(numbers)


def _check_one_way(graph: PlaceGraph, classes: dict[Place, int], refuse: Refuse) -> None:
    """Raise the error of `refuse` if one sequence of components leads to two states."""
    first = [step for stance in graph.first for step in stance]
    queue = [frozenset(by) for by in _by_component(first, classes)]
    seen = set(queue)
    of_class = {number: place for place, number in classes.items()}
    while queue:
        subset = queue.pop()
        if len(subset) > 1 or len(seen) > MOST_SUBSETS:
            message = "skip-till-next-match cannot count trends that go through the pattern in two ways"
            raise refuse(message, _BY_ANY)
        steps = [step for number in subset for step in graph.steps(of_class[number])]
        for found in _by_component(steps, classes):
            if frozenset(found) not in seen:
                seen.add(frozenset(found))
                queue.append(frozenset(found))


def _by_component(steps: Iterable[Step], classes: dict[Place, int]) -> list[set[int]]:
    found: dict[int, set[int]] = {}
    for step in steps:
        found.setdefault(step.target[0], set()).add(classes[step.target])
    return list(found.values())
