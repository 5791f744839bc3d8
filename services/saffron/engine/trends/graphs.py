"""A plan's templates as one set of graphs: states and transitions numbered through, and where predecessors are kept.

States come graph by graph: the template, the sides of AND, the negatives (T4). What may come right before an event is
kept, for each transition, in one of two ways: as a *total* where nothing chooses among the vertices but time, and what
is cut off is cut off whole; else as the *list* of its source's vertices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from saffron.engine.trends.ranges import Range, range_of
from saffron.language.plan import Expr, Strategy, Template, Transition, TrendPlan, TrendState

MOST_TOTALS = 62


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
class Graphs:
    """All graphs of a plan. `late`: its results are known when a window closes, and for each key by itself."""

    plan: TrendPlan
    places: tuple[Place, ...]
    steps: tuple[Step, ...]

    @property
    def late(self) -> bool:
        return bool(self.plan.sides) or any(place.state.trailing for place in self.places)

    @cached_property
    def totals(self) -> dict[Total, int]:
        """The totals of positive states, numbered."""
        found: dict[Total, int] = {}
        for number, step in enumerate(self.steps):
            total = self.total_of(number)
            if step.negative is None and total is not None:
                found.setdefault(total, len(found))
        for s in range(len(self.places)):
            final = self.final_of(s)
            if final is not None:
                found.setdefault(final, len(found))
        return found

    @cached_property
    def negative_totals(self) -> dict[Total, int]:
        """Those of negative states."""
        found: dict[Total, int] = {}
        for number, step in enumerate(self.steps):
            total = self.total_of(number)
            if step.negative is not None and total is not None:
                found.setdefault(total, len(found))
        return found

    @cached_property
    def trees(self) -> dict[int, Range]:
        """The transitions that ordered trees serve, in the order of their trees."""
        found = {}
        for number, step in enumerate(self.steps):
            instant = all(map(self._is_instant, step.transition.absences))
            answer = range_of(step.transition)
            if step.negative is None and instant and not self.waits(number) and step.transition.conditions and answer:
                found[number] = answer
        if self.plan.strict:  # a list that holds the vertices of the present ts for trees serves nothing else
            listed = {s.source for n, s in enumerate(self.steps) if n not in found and self.total_of(n) is None}
            listed |= {s for s in range(len(self.places)) if self._is_listed_at_last(s)}
            found = {number: answer for number, answer in found.items() if self.steps[number].source not in listed}
        return found

    @cached_property
    def lists(self) -> list[int]:
        """The states whose vertices are kept one by one."""
        by_list = {number for number in range(len(self.steps)) if self.total_of(number) is None} - self.trees.keys()
        leaving = {self.steps[number].source for number in by_list}
        if self.plan.strict:
            leaving |= {self.steps[number].source for number in self.trees}
        return sorted(leaving | {s for s in range(len(self.places)) if self._is_listed_at_last(s)})

    @cached_property
    def single(self) -> frozenset[int]:
        """The listed states of which only the last vertex can ever be asked for."""
        contiguous = (Strategy.STRICT, Strategy.PARTITION)
        return frozenset(
            s
            for s in self.lists
            if not self._is_listed_at_last(s)
            and all(step.transition.strategy in contiguous for step in self.steps if step.source == s)
        )

    @cached_property
    def conditions(self) -> dict[tuple[Expr, ...], int]:
        """The different conditions of steps, numbered as `select` numbers them."""
        found: dict[tuple[Expr, ...], int] = {}
        for number, step in enumerate(self.steps):
            if step.transition.conditions and number not in self.trees:
                found.setdefault(step.transition.conditions, len(found))
        return found

    @property
    def needs_marks(self) -> bool:
        """Whether vertices carry all marks: for contiguity, skip-till-next-match, and negatives in lists."""
        return any(
            step.negative is not None or step.transition.strategy is not Strategy.ANY or self.waits(number)
            for number, step in enumerate(self.steps)
            if self.total_of(number) is None and number not in self.trees
        )

    def total_of(self, number: int) -> Total | None:
        """The total that a transition reads; None where it needs the list."""
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
        found, newest = {number}, {number}
        while newest:
            newest = {
                other
                for other, step in enumerate(self.steps)
                if other not in found
                and (found & set(step.ends) or any(other in self.steps[one].ends for one in found))
            }
            found |= newest
        return frozenset(found)

    def waits(self, number: int) -> bool:
        """Whether the transition ends the waiting of some, or is ended."""
        return bool(self.steps[number].ends) or any(number in step.ends for step in self.steps)

    def final_of(self, s: int) -> Total | None:
        """The total from which results are read when the window closes; None where they are not, or need the list."""
        state = self.places[s].state
        if not self.late or self.places[s].negative is not None or not state.end or self._is_listed_at_last(s):
            return None
        return Total(s, state.trailing, None)

    def _is_listed_at_last(self, s: int) -> bool:
        place = self.places[s]
        trailing = place.state.trailing
        return place.negative is None and place.state.end and not all(map(self._is_instant, trailing))

    def _is_free(self, number: int) -> bool:
        transition = self.steps[number].transition
        return not transition.conditions and all(map(self._is_instant, transition.absences))

    def _is_instant(self, negative: int) -> bool:
        """Whether each event that ends a trend of the negative is one by itself: then it cuts off all before it."""
        return all(state.start or not state.end for state in self.plan.negatives[negative].states)


def graphs_of(plan: TrendPlan) -> Graphs:
    """All graphs of a plan."""
    places: list[Place] = []
    steps: list[Step] = []
    for template, negative, side in _templates(plan):
        states, transitions = len(places), len(steps)
        for state, local in zip(template.states, template.local, strict=True):
            places.append(Place(state, local, negative, side))
        for transition in template.transitions:
            ends = tuple(transitions + end for end in transition.ends)
            steps.append(Step(transition, states + transition.source, states + transition.target, ends, negative))
    return Graphs(plan, tuple(places), tuple(steps))


def _templates(plan: TrendPlan) -> Iterator[tuple[Template, int | None, int]]:
    """Template, its negative, its side."""
    yield plan.template, None, 0
    for side, template in enumerate(plan.sides, 1):
        yield template, None, side
    for negative, template in enumerate(plan.negatives):
        yield template, negative, 0
