"""The graphs of an aggregate query, and the decision how each transition finds predecessors (T2, T4, T6).

States and transitions of all graphs are numbered through: the template, the sides of AND, the negatives. For each
transition the engine keeps the possible predecessors in one of three ways:

- as a *total*, if only time chooses among the vertices, and a NOT cuts off all of them at once;
- in an ordered *tree*, if the later event selects a range of them;
- else as the *list* of the source's vertices.

The engine follows this decision, and `explain` prints it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from saffron.language.plan.expressions import Expr
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import Template, Transition, TrendPlan, TrendState
from saffron.language.trends.edge_index import EdgeIndex, Search, edge_index
from saffron.language.trends.ranges import Range, range_of

MOST_TOTALS = 62
"""Most totals of a plan, as the engine has a bit of an int64 for each."""


@dataclass(frozen=True)
class GraphState:
    """A state of one of the graphs. `negative`: its NOT, else None. `side`: 0; with AND 1 (right), 2 (both match)."""

    state: TrendState
    local: tuple[Expr, ...]
    negative: int | None
    side: int


@dataclass(frozen=True)
class GraphTransition:
    """A transition of one of the graphs. `source`, `target`, `ends`: indices over the states and steps of all."""

    transition: Transition
    source: int
    target: int
    ends: tuple[int, ...]
    negative: int | None


@dataclass(frozen=True)
class Total:
    """The sum over a state's vertices. `step`: the only transition that reads it; None: all with these absences."""

    source: int
    absences: tuple[int, ...]
    step: int | None


@dataclass(frozen=True)
class TrendGraphs:
    """All graphs of a plan. `places`: their states; `steps`: their transitions."""

    plan: TrendPlan
    places: tuple[GraphState, ...]
    steps: tuple[GraphTransition, ...]

    @property
    def late(self) -> bool:
        """True if results are known only when a window closes, and for each key by itself."""
        return bool(self.plan.sides) or any(place.state.trailing for place in self.places)

    @cached_property
    def searches(self) -> tuple[Search, ...]:
        """The way to find predecessors, by step."""
        return tuple(map(self._search, range(len(self.steps))))

    @cached_property
    def trees(self) -> dict[int, Range]:
        """Step -> range, for the transitions with an ordered tree, in the order of their trees."""
        found = {}
        for number, step in enumerate(self.steps):
            answer = range_of(step.transition)
            instant = all(map(self.is_instant, step.transition.absences))
            tree = answer is not None and not step.transition.scanned and not self.waits(number)
            if answer is not None and tree and instant and step.negative is None:
                found[number] = answer
        return found

    def total_of(self, number: int) -> Total | None:
        """The total that a transition reads; None if it needs the list, or a tree."""
        step = self.steps[number]
        group = self.waiting_group(number)
        contiguous = {Strategy.STRICT, Strategy.PARTITION}
        absences = {self.steps[other].transition.absences for other in group}
        if len(absences) > 1 or not all(map(self._is_free, group)):
            return None
        if any(self.steps[other].transition.strategy in contiguous for other in group):
            return None
        ends = {frozenset(self.steps[other].ends) for other in group} - {frozenset()}
        if len(ends) > 1 or (ends and len(self.steps) > MOST_TOTALS):
            return None
        return Total(step.source, step.transition.absences, number if ends else None)

    def waiting_group(self, number: int) -> frozenset[int]:
        """The transition, and all that end each other's waiting with it (skip-till-next-match)."""
        if not self._related[number]:
            return frozenset((number,))
        found, newest = {number}, {number}
        while newest:
            newest = set().union(*(self._related[one] for one in newest)) - found
            found |= newest
        return frozenset(found)

    @cached_property
    def _related(self) -> tuple[frozenset[int], ...]:
        """The transitions whose waiting a step ends, and those that end its own, by step."""
        found: list[set[int]] = [set() for _ in self.steps]
        for number, step in enumerate(self.steps):
            for end in step.ends:
                found[number].add(end)
                found[end].add(number)
        return tuple(map(frozenset, found))

    def waits(self, number: int) -> bool:
        """True if the transition ends the waiting of others, or others end its own."""
        return bool(self._related[number])

    def is_listed_at_last(self, s: int) -> bool:
        """True if the close of a window needs the list of an end state's vertices, as a NOT behind it selects some."""
        place = self.places[s]
        trailing = place.state.trailing
        return place.negative is None and place.state.end and not all(map(self.is_instant, trailing))

    def is_instant(self, negative: int) -> bool:
        """True if each event that ends a trend of the negative is a whole trend: then it cuts off all events before."""
        return all(state.start or not state.end for state in self.plan.negatives[negative].states)

    def _search(self, number: int) -> Search:
        if self.steps[number].transition.strategy in (Strategy.STRICT, Strategy.PARTITION):
            return Search.LAST
        if self.total_of(number) is not None:
            return Search.TOTAL
        return Search.TREE if number in self.trees else Search.SCAN

    def _is_free(self, number: int) -> bool:
        """True if a transition has no conditions, and only NOTs that are instant."""
        transition = self.steps[number].transition
        return not transition.conditions and all(map(self.is_instant, transition.absences))


def trend_graphs(plan: TrendPlan) -> TrendGraphs:
    """All graphs of a plan."""
    return TrendGraphs(plan, *numbered(plan))


def numbered(plan: TrendPlan) -> tuple[tuple[GraphState, ...], tuple[GraphTransition, ...]]:
    """The states and the transitions of all graphs."""
    places: list[GraphState] = []
    steps: list[GraphTransition] = []
    for template, negative, side in _templates(plan):
        states, transitions = len(places), len(steps)
        for state, local in zip(template.states, template.local, strict=True):
            places.append(GraphState(state, local, negative, side))
        for transition in template.transitions:
            ends = tuple(transitions + end for end in transition.ends)
            steps.append(
                GraphTransition(transition, states + transition.source, states + transition.target, ends, negative)
            )
    return tuple(places), tuple(steps)


def scanning(plan: TrendPlan, numbers: Collection[int]) -> TrendPlan:
    """The plan whose steps with these numbers find predecessors in lists, whatever their conditions allow."""
    number = count()

    def template(one: Template) -> Template:
        steps = (replace(step, scanned=next(number) in numbers) for step in one.transitions)
        return replace(one, transitions=tuple(steps))

    first, *others = [template(one) for one, _, _ in _templates(plan)]
    sides = len(plan.sides)
    return replace(plan, template=first, sides=tuple(others[:sides]), negatives=tuple(others[sides:]))


def scanned(plan: TrendPlan) -> list[int]:
    """The numbers of the steps that `scanning` marked."""
    steps = (step for template, _, _ in _templates(plan) for step in template.transitions)
    return [number for number, step in enumerate(steps) if step.scanned]


def scanned_at_first(plan: TrendPlan) -> list[int]:
    """The numbers of the steps that version 0.1.0 scanned, though a tree answers them.

    Under TIME STRICT a state had trees, or a list for more than what waits for them, but not both.
    """
    graphs = trend_graphs(plan)
    listed = {s for s in range(len(graphs.places)) if graphs.is_listed_at_last(s)}
    alone = (n for n in range(len(graphs.steps)) if n not in graphs.trees and graphs.total_of(n) is None)
    listed |= {graphs.steps[n].source for n in alone}
    return [n for n in graphs.trees if plan.strict and graphs.steps[n].source in listed]


def predecessors(plan: TrendPlan) -> Iterator[tuple[EdgeIndex, ...]]:
    """The indexes of each graph's transitions, graph by graph: the template, the sides of AND, the negatives."""
    searches = iter(trend_graphs(plan).searches)
    for template, _, _ in _templates(plan):
        yield tuple(replace(edge_index(one), search=next(searches)) for one in template.transitions)


def _templates(plan: TrendPlan) -> Iterator[tuple[Template, int | None, int]]:
    """(template, negative, side) of each graph, see `GraphState`."""
    yield plan.template, None, 0
    for side, template in enumerate(plan.sides, 1):
        yield template, None, side
    for negative, template in enumerate(plan.negatives):
        yield template, negative, 0
