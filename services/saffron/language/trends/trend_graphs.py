"""How the graphs of an aggregate query find predecessors (T2, T4, T6): the one place where that is decided.

The states and transitions of all graphs of a plan are numbered through, graph by graph: the template, the sides of
AND, the negatives. What may come right before an event is kept, for each transition, in one of three ways: as a *total*
where nothing chooses among the vertices but time, and what is cut off is cut off whole; in an ordered *tree* where what
the later event asks for is a range; else as the *list* of its source's vertices. The engine keeps what this says, and
`explain` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from saffron.language.plan.plan import Expr, Strategy, Template, Transition, TrendPlan, TrendState
from saffron.language.trends.edge_index import EdgeIndex, Search, edge_index
from saffron.language.trends.ranges import Range, range_of

MOST_TOTALS = 62
"""Most totals that the engine keeps together: a bit of an int64 for each."""


@dataclass(frozen=True)
class Place:
    """A state. `negative`: the NOT it belongs to, else None; `side`: 0, or of AND 1 (right), 2 (what both match)."""

    state: TrendState
    local: tuple[Expr, ...]
    negative: int | None
    side: int


@dataclass(frozen=True)
class Step:
    """A transition; `source`, `target` and `ends` number states and steps of all graphs."""

    transition: Transition
    source: int
    target: int
    ends: tuple[int, ...]
    negative: int | None


@dataclass(frozen=True)
class Total:
    """The sum over a state's vertices, for transitions with these absences (`step` None), or for one transition."""

    source: int
    absences: tuple[int, ...]
    step: int | None


@dataclass(frozen=True)
class TrendGraphs:
    """All graphs of a plan. `late`: its results are known when a window closes, and for each key by itself."""

    plan: TrendPlan
    places: tuple[Place, ...]
    steps: tuple[Step, ...]

    @property
    def late(self) -> bool:
        return bool(self.plan.sides) or any(place.state.trailing for place in self.places)

    @cached_property
    def searches(self) -> tuple[Search, ...]:
        """By step: where the predecessors along it are looked for."""
        return tuple(map(self._search, range(len(self.steps))))

    @cached_property
    def trees(self) -> dict[int, Range]:
        """The transitions that ordered trees serve, in the order of their trees."""
        found = {}
        for number, step in enumerate(self.steps):
            answer = range_of(step.transition)
            instant = all(map(self.is_instant, step.transition.absences))
            if answer is not None and instant and step.negative is None and not self.waits(number):
                found[number] = answer
        if self.plan.strict:  # a list that holds the vertices of the present ts for trees serves nothing else
            listed = {s.source for n, s in enumerate(self.steps) if n not in found and self.total_of(n) is None}
            listed |= {s for s in range(len(self.places)) if self.is_listed_at_last(s)}
            found = {number: answer for number, answer in found.items() if self.steps[number].source not in listed}
        return found

    def total_of(self, number: int) -> Total | None:
        """The total that a transition reads; None where it needs the list, or a tree."""
        step = self.steps[number]
        together = self.together(number)
        contiguous = {Strategy.STRICT, Strategy.PARTITION}
        alike = {self.steps[other].transition.absences for other in together}
        if len(alike) > 1 or not all(map(self._is_free, together)):
            return None
        if any(self.steps[other].transition.strategy in contiguous for other in together):
            return None
        ends = {frozenset(self.steps[other].ends) for other in together} - {frozenset()}
        if len(ends) > 1 or (ends and len(self.steps) > MOST_TOTALS):
            return None
        return Total(step.source, step.transition.absences, number if ends else None)

    def together(self, number: int) -> frozenset[int]:
        """The transition, and those that it shares with what ends whose waiting (skip-till-next-match)."""
        if not self._related[number]:
            return frozenset((number,))
        found, newest = {number}, {number}
        while newest:
            newest = set().union(*(self._related[one] for one in newest)) - found
            found |= newest
        return frozenset(found)

    @cached_property
    def _related(self) -> tuple[frozenset[int], ...]:
        """By step: those whose waiting it ends, and those that end its own."""
        found: list[set[int]] = [set() for _ in self.steps]
        for number, step in enumerate(self.steps):
            for end in step.ends:
                found[number].add(end)
                found[end].add(number)
        return tuple(map(frozenset, found))

    def waits(self, number: int) -> bool:
        """Whether the transition ends the waiting of some, or is ended."""
        return bool(self._related[number])

    def is_listed_at_last(self, s: int) -> bool:
        """Whether the vertices of an end state are chosen among when the window closes: behind them stands a NOT."""
        place = self.places[s]
        trailing = place.state.trailing
        return place.negative is None and place.state.end and not all(map(self.is_instant, trailing))

    def is_instant(self, negative: int) -> bool:
        """Whether each event that ends a trend of the negative is one by itself: then it cuts off all before it."""
        return all(state.start or not state.end for state in self.plan.negatives[negative].states)

    def _search(self, number: int) -> Search:
        if self.steps[number].transition.strategy in (Strategy.STRICT, Strategy.PARTITION):
            return Search.LAST
        if self.total_of(number) is not None:
            return Search.TOTAL
        return Search.TREE if number in self.trees else Search.SCAN

    def _is_free(self, number: int) -> bool:
        transition = self.steps[number].transition
        return not transition.conditions and all(map(self.is_instant, transition.absences))


def trend_graphs(plan: TrendPlan) -> TrendGraphs:
    """All graphs of a plan."""
    return TrendGraphs(plan, *numbered(plan))


def numbered(plan: TrendPlan) -> tuple[tuple[Place, ...], tuple[Step, ...]]:
    """The states and the transitions of all graphs."""
    places: list[Place] = []
    steps: list[Step] = []
    for template, negative, side in _templates(plan):
        states, transitions = len(places), len(steps)
        for state, local in zip(template.states, template.local, strict=True):
            places.append(Place(state, local, negative, side))
        for transition in template.transitions:
            ends = tuple(transitions + end for end in transition.ends)
            steps.append(Step(transition, states + transition.source, states + transition.target, ends, negative))
    return tuple(places), tuple(steps)


def predecessors(plan: TrendPlan) -> Iterator[tuple[EdgeIndex, ...]]:
    """For each graph (the template, the sides of AND, the negatives), how each transition finds predecessors."""
    searches = iter(trend_graphs(plan).searches)
    for template, _, _ in _templates(plan):
        yield tuple(replace(edge_index(one), search=next(searches)) for one in template.transitions)


def _templates(plan: TrendPlan) -> Iterator[tuple[Template, int | None, int]]:
    """Template, its negative, its side."""
    yield plan.template, None, 0
    for side, template in enumerate(plan.sides, 1):
        yield template, None, side
    for negative, template in enumerate(plan.negatives):
        yield template, negative, 0
