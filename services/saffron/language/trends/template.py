"""The construction of GRETA templates (T2, T4) from the places of a pattern.

A trend is a sequence of (component, event), and counts once even if the pattern matches it in several ways. So the
subset construction over components makes the places deterministic, and equivalent states are merged. Under
skip-till-next-match each stance selects events by itself, so its steps stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from saffron.language.patterns.successors import Place, PlaceGraph, Refuse, Successor
from saffron.language.plan.limits import MAX_STATES
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import Template, Transition, TrendState
from saffron.language.trends.refinement import refined, representatives
from saffron.language.trends.subset_automaton import (
    MOST_SUBSETS,
    SEPARATE,
    Absences,
    Automaton,
    deterministic,
    end_of,
    minimal,
    shortest,
    too_many,
)


def template_of(graph: PlaceGraph, refuse: Refuse, *, negative: bool = False) -> Template:
    """The template of a pattern, without conditions. QueryError: too many states, or an ambiguous NOT or strategy.

    `negative`: only the existence of a trend matters, so longer trends may be left out.
    """
    if any(step.strategy is Strategy.NEXT for place in graph.stances for step in graph.steps(place)):
        found = _selecting(graph, refuse)
    else:
        automaton = minimal(deterministic(graph, refuse))
        found = _template(shortest(automaton) if negative else automaton)
    if len(found.states) > MAX_STATES:
        raise too_many(refuse)
    return found


def _template(automaton: Automaton) -> Template:
    """The template of a deterministic automaton."""
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
    classes = refined(places, partial(_place_signature, graph))
    kept = representatives(classes)
    _check_one_way(graph, classes, refuse)
    starts: dict[int, Absences] = {}
    for stance in graph.first:
        for step in stance:
            if starts.setdefault(classes[step.target], step.absences) != step.absences:
                raise refuse("a trend begins in two ways that ask for different things before it", SEPARATE)
    states = []
    for number, place in enumerate(kept):
        end = end_of(set(graph.ends[place]), refuse)
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


def _stance(steps: Iterable[Successor], classes: dict[Place, int]) -> _Stance:
    """A stance's steps by class of their targets, as a value that can be compared."""
    found = {(classes[step.target], step.absences, step.strategy, step.exclusive) for step in steps}
    return tuple(sorted(found, key=repr))


def _place_signature(graph: PlaceGraph, place: Place, classes: dict[Place, int]) -> object:
    """The value by which one round of refinement distinguishes places: component, ends and stances."""
    stances = frozenset(_stance(stance, classes) for stance in graph.stances[place])
    return place[0], frozenset(graph.ends[place]), stances


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


def _by_component(steps: Iterable[Successor], classes: dict[Place, int]) -> list[set[int]]:
    """The classes that steps lead to, as a set for each component."""
    found: dict[int, set[int]] = {}
    for step in steps:
        found.setdefault(step.target[0], set()).add(classes[step.target])
    return list(found.values())
