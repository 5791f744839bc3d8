"""NFA^b from a plan (N3): which values a run in each state must carry so that later edges can be decided (N6).

A run's state is the component that it bound last. In state c a closure may take one more event or leave to c + 1; a
single event waits for the begin of c + 1. A match that ends with a single event needs no state of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from saffron.engine.operators.aggregates import BUILT_IN
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Call, Expr, In, Length, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import OF_EXTREME
from saffron.language.plan.pattern import Condition, Edge
from saffron.schema.schema import Kind


class What(Enum):
    """The kind of a value that a run carries of a component's binding. A taken event updates values in this order."""

    PREVIOUS = 0  # the k-th event before the last one
    FIRST = 1
    LAST = 2
    SPREAD = 3  # Welford's sum of squared distances from the mean
    MEAN = 4
    NUMBER = 5  # how many were not null
    SUM = 6
    MIN_REST = 7  # the least value less its nearest float64 (`language.plan.pairs`)
    MAX_REST = 8
    MIN = 9
    MAX = 10
    NTH = 11  # the n-th event (n in `back`); the length before says whether it is this one
    LENGTH = 12
    FOLD = 13  # a user-defined aggregate so far


ONE_VALUE = (What.FIRST, What.LAST, What.PREVIOUS, What.NTH, What.MIN, What.MAX)
"""Features that are the value of one event, of the attribute's kind."""
RESTS = {What.MIN_REST: What.MIN, What.MAX_REST: What.MAX}
"""The feature of an extreme's rest -> that of the extreme."""


@dataclass(frozen=True)
class Feature:
    """One value of vector V.

    `back`: k of PREVIOUS, n of NTH; of all others 1 for the value before the last event was taken. `name`: "" for
    LENGTH.
    `function`: the aggregate of FOLD.
    """

    component: int
    what: What
    name: str = ""
    kind: Kind = Kind.INT
    back: int = 0
    function: str = ""

    @property
    def floating(self) -> bool:
        """Held as float64; else as int64 (integers, booleans, string codes)."""
        if self.what in ONE_VALUE:
            return self.kind is Kind.FLOAT
        return self.what is not What.LENGTH


@dataclass(frozen=True)
class State:
    """The layout of a run after it has bound component `index`: rows of its float64 and of its int64 array."""

    index: int
    closure: bool
    floats: tuple[Feature, ...]
    ints: tuple[Feature, ...]

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.floats + self.ints


@dataclass(frozen=True)
class Automaton:
    """A plan with the states of its runs; `states` is shorter by one than the components if the last is no closure."""

    plan: MatchPlan
    states: tuple[State, ...]

    def conditions(self, component: int, edge: Edge) -> list[Condition]:
        return [c for c in self.plan.conditions if c.component == component and c.edge is edge]

    def is_local(self, condition: Condition) -> bool:
        """True if only the event at hand decides: all that is read is its own component's first event, or b[i]."""
        if condition.edge is Edge.PROCEED:
            return False
        own = all(leaf.component == condition.component for leaf in leaves(condition.expr))
        if condition.edge is Edge.BEGIN:
            return own
        current = (isinstance(leaf, Attribute) and leaf.which is Which.CURRENT for leaf in leaves(condition.expr))
        return own and all(current)

    def look_back(self, condition: Condition) -> int:
        """The number of events that a closure must hold before the condition can fail: it looks back so far."""
        own = (leaf for leaf in leaves(condition.expr) if isinstance(leaf, Attribute))
        return max((leaf.back for leaf in own if leaf.which is Which.PREVIOUS), default=0)

    def length(self, component: int) -> Feature:
        return Feature(component, What.LENGTH)


def build(plan: MatchPlan) -> Automaton:
    """The automaton of a plan."""
    last = len(plan.components) - 1
    states: list[State] = []
    needed: set[Feature] = set()
    for index in range(last, -1, -1):
        closure = plan.components[index].closure
        if index == last and not closure:
            continue
        needed = {feature for feature in needed if feature.component <= index}
        needed |= set(_read_on_edges(plan, index))
        for feature in tuple(needed):
            if feature.component == index and closure:
                needed |= set(support(feature))
        ordered = sorted(needed, key=lambda f: (f.component, f.what.value, f.name, -f.back))
        states.append(
            State(
                index,
                closure,
                tuple(f for f in ordered if f.floating),
                tuple(f for f in ordered if not f.floating),
            )
        )
    return Automaton(plan, tuple(reversed(states)))


def _read_on_edges(plan: MatchPlan, index: int) -> Iterator[Feature]:
    for condition in plan.conditions:
        if condition.component == index and condition.edge is not Edge.BEGIN:
            yield from features(condition.expr, plan, index if condition.edge is Edge.TAKE else -1)
        elif condition.component == index + 1 and condition.edge is Edge.BEGIN:
            yield from (f for f in features(condition.expr, plan, index + 1) if f.component <= index)


def features(expr: Expr, plan: MatchPlan, current: int) -> Iterator[Feature]:
    """The features of a run that an expression reads. `current`: component that the event is being bound to, or -1."""
    for leaf in leaves(expr):
        if isinstance(leaf, Attribute):
            if not (leaf.component == current and leaf.which in (Which.CURRENT, Which.SINGLE)):
                yield attribute_feature(leaf, plan)
            if leaf.which is Which.PREVIOUS and leaf.back > 1:
                yield Feature(leaf.component, What.LENGTH)
        elif isinstance(leaf, Length):
            yield Feature(leaf.component, What.LENGTH)
        else:
            yield from aggregate_features(leaf)


def leaves(expr: Expr) -> Iterator[Attribute | Aggregate | Length]:
    """The references in an expression."""
    if isinstance(expr, Attribute | Aggregate | Length):
        yield expr
    elif isinstance(expr, Unary):
        yield from leaves(expr.operand)
    elif isinstance(expr, Binary):
        yield from leaves(expr.left)
        yield from leaves(expr.right)
    elif isinstance(expr, Call):
        for argument in expr.arguments:
            yield from leaves(argument)
    elif isinstance(expr, In):
        yield from leaves(expr.operand)


def attribute_feature(leaf: Attribute, plan: MatchPlan) -> Feature:
    """The feature of a run that holds an attribute of a bound event."""
    if leaf.which in (Which.FIRST, Which.SINGLE) or not plan.components[leaf.component].closure:
        return Feature(leaf.component, What.FIRST, leaf.name, leaf.kind)
    if leaf.which is Which.PREVIOUS and leaf.back > 1:
        return Feature(leaf.component, What.PREVIOUS, leaf.name, leaf.kind, leaf.back)
    return Feature(leaf.component, What.LAST, leaf.name, leaf.kind)


_AGGREGATES = {
    "sum": (What.SUM,),
    "avg": (What.SUM, What.NUMBER),
    "min": (What.MIN,),
    "max": (What.MAX,),
    OF_EXTREME["min"]: (What.MIN_REST, What.MIN),
    OF_EXTREME["max"]: (What.MAX_REST, What.MAX),
    "first": (What.FIRST,),
    "last": (What.LAST,),
    "stddev": (What.SPREAD, What.NUMBER),
}


def aggregate_features(leaf: Aggregate) -> tuple[Feature, ...]:
    """The features of a run that hold an aggregate.

    count(b[]) counts events, count(b[].x) those whose x is not null.
    """
    if leaf.name is None or leaf.kind is None:
        return (Feature(leaf.component, What.LENGTH),)
    if leaf.function not in BUILT_IN:
        fold = Feature(leaf.component, What.FOLD, leaf.name, leaf.kind, function=leaf.function)
        return fold, Feature(leaf.component, What.NUMBER, leaf.name, leaf.kind)
    kinds = (What.NUMBER,) if leaf.function == "count" else _AGGREGATES[leaf.function]
    return tuple(Feature(leaf.component, what, leaf.name, leaf.kind) for what in kinds)


def support(feature: Feature) -> Iterator[Feature]:
    """The further features that are needed to update a feature when its closure takes an event."""

    def beside(what: What, back: int = 0) -> Feature:
        return Feature(feature.component, what, feature.name, feature.kind, back)

    if feature.what is What.NTH:
        yield Feature(feature.component, What.LENGTH)
    elif feature.back and feature.what is not What.PREVIOUS:
        yield replace(feature, back=0)
    elif feature.what is What.PREVIOUS:
        yield beside(What.LAST)
        yield from (beside(What.PREVIOUS, k) for k in range(2, feature.back))
    elif feature.what in (What.SPREAD, What.MEAN):
        yield beside(What.MEAN)
        yield beside(What.NUMBER)
