"""What the plan of an aggregate query means, without an engine: the graph of its template over the events of a window.

`paths` walks the graph: each path is a trend, and says whether the plan says what its query says (a template in which
two paths spell one trend would count it twice). `answers` adds up along the edges, as GRETA does (theorem 9.1), with
integers and fractions: cost is quadratic, so streams may be of some hundred events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

from saffron.engine.why.values import value
from saffron.language.plan.expressions import Attribute, Const, Expr, Which
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.rewrite import mapped
from saffron.language.plan.trend_plan import Template, Transition, TrendPlan
from saffron.language.syntax import tree
from saffron.schema.computed import Computed
from tests.reference.match.events import Event, events_of
from tests.reference.trends.asked import Asked
from tests.reference.trends.results import Answer, key_value, pairs
from tests.reference.trends.sums import computed
from tests.reference.trends.windows import Trend, Window, windows

Vertex = tuple[int, Event]
"""A state and an event in it."""


def paths(plan: TrendPlan, template: Template, window: Window) -> list[Trend]:
    """The trends that a template of a plan has in a window: one for each path."""
    return [trend for graph in _graphs(plan, template, window).values() for trend in graph.paths()]


def answers(plan: TrendPlan, asked: Asked, events: Sequence[Any], *, absolute: bool = False) -> list[Answer]:
    """The results of a plan; `asked`: the query that it was made from, for RETURN and HAVING.

    The groups of a window come in the order of their first vertices: the first event of each with which a trend may
    begin, whatever follows. `absolute`: aggregates are over absolute values.
    """
    found: list[Answer] = []
    for window in windows(asked.query.within, events_of(events)):
        graphs = [_graphs(plan, template, window) for template in (plan.template, *plan.sides)]
        first = {key: min(side[key].first for side in graphs) for key in graphs[0]}
        groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for key in sorted(first, key=first.__getitem__):
            groups.setdefault(tuple(key[plan.key.index(name)] for name in plan.group), []).append(key)
        for values, keys in groups.items():
            group = dict(zip(plan.group, values, strict=True))
            sums = _Sums(asked, [[side[key] for side in graphs] for key in keys], group, absolute)
            if sums.count and (asked.query.having is None or computed(asked.query.having, sums) is True):
                returned = {name: computed(expression, sums) for name, expression in asked.items}
                opener = -1 if window.opener is None else window.opener.seq
                found.append(Answer(window.low, window.high, opener, group, returned))
    return sorted(found, key=lambda answer: (answer.high, answer.opener))


def _graphs(plan: TrendPlan, template: Template, window: Window) -> dict[tuple[Any, ...], Graph]:
    """By key."""
    found: dict[tuple[Any, ...], list[Event]] = {}
    for event in window.events:
        found.setdefault(tuple(key_value(event, name) for name in plan.key), []).append(event)
    return {key: Graph(plan, template, window.events, own) for key, own in found.items() if None not in key}


@dataclass
class _Sums:
    """The aggregates of a group, from the graphs of its keys (of AND: left, right, common)."""

    asked: Asked
    keys: list[list[Graph]]
    group: dict[str, Any]
    absolute: bool

    @cached_property
    def count(self) -> int:
        counts = [[graph.total().count for graph in key] for key in self.keys]
        return sum(one[0] if len(one) == 1 else pairs(*one) for one in counts)

    def __call__(self, expression: tree.Expression) -> Any:
        if not isinstance(expression, tree.Call):
            name = expression.name if isinstance(expression, tree.Name) else getattr(expression, "attribute", None)
            return self.group[str(name)]
        (argument,) = expression.arguments
        if isinstance(argument, tree.Star):
            return self.count
        attribute = argument.attribute if isinstance(argument, tree.Reference) else None
        name = argument.variable if isinstance(argument, tree.Reference) else getattr(argument, "name", "")
        number = self.asked.sides[0].pattern.leaf(name).number
        total = _added([key[0].total(number, attribute, absolute=self.absolute) for key in self.keys])
        found = {"count": total.number, "sum": total.sum, "min": total.low, "max": total.high}
        return _quotient(total) if expression.function == "avg" else found[expression.function]


@dataclass(frozen=True)
class Total:
    """Over some trends: how many they are; of the values of one component how many, their sum, the least, the most."""

    count: int = 0
    number: int = 0
    sum: Fraction = Fraction(0)
    low: Fraction | None = None
    high: Fraction | None = None


def _quotient(total: Total) -> Fraction | None:
    return total.sum / total.number if total.number else None


def _added(totals: Sequence[Total]) -> Total:
    lows = [total.low for total in totals if total.low is not None]
    highs = [total.high for total in totals if total.high is not None]
    return Total(
        sum(total.count for total in totals),
        sum(total.number for total in totals),
        sum((total.sum for total in totals), Fraction(0)),
        min(lows, default=None),
        max(highs, default=None),
    )


@dataclass
class Graph:
    """A template over the events of one key, of `stream`, all those of a window."""

    plan: TrendPlan
    template: Template
    stream: Sequence[Event]
    events: Sequence[Event]
    absent: dict[int, list[tuple[Event, Event]]] = field(default_factory=dict)

    @property
    def first(self) -> float:
        """The seq of the first event with which a trend may begin."""
        return min((event.seq for s, event in self.vertices if self.template.states[s].start), default=inf)

    def paths(self) -> list[Trend]:
        """Every way from a start to an end."""
        found: list[tuple[Vertex, ...]] = []
        newest: list[tuple[Vertex, ...]] = [(vertex,) for vertex in self.vertices if self._starts(vertex)]
        while newest:
            found += [path for path in newest if self._ends(path[-1])]
            newest = [(*path, after) for path in newest for after in self.edges[path[-1]]]
        return [tuple((self.template.states[s].component, event) for s, event in path) for path in found]

    def total(self, component: int = -1, attribute: str | None = None, *, absolute: bool = False) -> Total:
        """Over all trends: the values of an attribute of a component (None: its events, each worth 0)."""
        before: dict[Vertex, list[Total]] = {vertex: [] for vertex in self.vertices}
        found = []
        for vertex in self.vertices:
            mine = _added([*before[vertex], Total(count=int(self._starts(vertex)))])
            if not mine.count:
                continue
            x = 0 if attribute is None else vertex[1].get(attribute)
            if self.template.states[vertex[0]].component == component and x is not None:
                given = abs(Fraction(x)) if absolute else Fraction(x)
                low, high = (
                    [y for y in (mine.low, given) if y is not None],
                    [y for y in (mine.high, given) if y is not None],
                )
                number, sum_ = mine.number + mine.count, mine.sum + mine.count * given
                mine = Total(mine.count, number, sum_, min(low), max(high))
            for after in self.edges[vertex]:
                before[after].append(mine)
            if self._ends(vertex):
                found.append(mine)
        return _added(found)

    @cached_property
    def vertices(self) -> list[Vertex]:
        """In order of time."""
        states = range(len(self.template.states))
        return [(state, event) for event in self.events for state in states if self._fits(state, event)]

    @cached_property
    def edges(self) -> dict[Vertex, list[Vertex]]:
        return {vertex: list(self._after(vertex)) for vertex in self.vertices}

    def _starts(self, vertex: Vertex) -> bool:
        state = self.template.states[vertex[0]]
        return state.start and not self._occurs(state.leading, None, vertex[1])

    def _ends(self, vertex: Vertex) -> bool:
        state = self.template.states[vertex[0]]
        return state.end and not self._occurs(state.trailing, vertex[1], None)

    def _after(self, vertex: Vertex) -> Iterator[Vertex]:
        """Where a trend may go on from its last vertex; what it waits for shrinks as events pass."""
        state, last = vertex
        waiting = [n for n, transition in enumerate(self.template.transitions) if transition.source == state]
        own = {event.seq for event in self.events}
        for event in self.stream[self.stream.index(last) + 1 :]:
            ours = event.seq in own
            taking = [n for n in waiting if ours and self._takes(self.template.transitions[n], last, event)]
            for number in taking:
                transition = self.template.transitions[number]
                if not self._occurs(transition.absences, last, event):
                    yield transition.target, event
            ended = {other for number in taking for other in self.template.transitions[number].ends}
            waiting = [n for n in waiting if n not in ended and self._may_skip(self.template.transitions[n], ours)]
            if not waiting:
                return

    def _takes(self, transition: Transition, last: Event, event: Event) -> bool:
        if self.plan.strict and last.ts == event.ts:
            return False
        if not self._fits(transition.target, event):
            return False
        return all(_holds(condition, last, event) for condition in transition.conditions)

    def _may_skip(self, transition: Transition, ours: bool) -> bool:
        if transition.strategy is Strategy.STRICT:
            return False
        return transition.strategy is not Strategy.PARTITION or not ours

    def _fits(self, state: int, event: Event) -> bool:
        component = self.plan.components[self.template.states[state].component]
        return event.type in component.types and all(
            _holds(condition, event, event) for condition in self.template.local[state]
        )

    def _occurs(self, negatives: Sequence[int], before: Event | None, after: Event | None) -> bool:
        return any(
            (before is None or self._earlier(before, first)) and (after is None or self._earlier(last, after))
            for number in negatives
            for first, last in self._absent(number)
        )

    def _absent(self, number: int) -> list[tuple[Event, Event]]:
        """First and last event of every trend of a negative."""
        if number not in self.absent:
            graph = Graph(self.plan, self.plan.negatives[number], self.stream, self.events)
            self.absent[number] = graph.spans()
        return self.absent[number]

    def spans(self) -> list[tuple[Event, Event]]:
        """First and last event of every trend."""
        firsts: dict[Vertex, dict[int, Event]] = {vertex: {} for vertex in self.vertices}
        found = []
        for vertex in self.vertices:
            if self._starts(vertex):
                firsts[vertex][vertex[1].seq] = vertex[1]
            for after in self.edges[vertex] if firsts[vertex] else ():
                firsts[after].update(firsts[vertex])
            if self._ends(vertex):
                found += [(first, vertex[1]) for first in firsts[vertex].values()]
        return found

    def _earlier(self, one: Event, other: Event) -> bool:
        return one.ts < other.ts if self.plan.strict else one.order() < other.order()


def _holds(condition: Expr, before: Event, after: Event) -> bool:
    def leaf(node: Expr) -> Expr:
        if isinstance(node, Attribute):
            event = after if node.which is Which.ADJACENT else before
            one = Computed.of_name(node.name)
            return Const(event.get(node.name) if one is None else one.of(event.get))
        return node

    return value(mapped(condition, leaf)) is True
