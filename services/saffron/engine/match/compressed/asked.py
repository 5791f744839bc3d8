"""Places in a graph where a plan's conditions are evaluated: each reads a node's path, with the end known (X3, X4).

A graph is built towards a fixed end, so a condition is evaluated as soon as all else that it reads is bound. Some
conditions read events that are not neighbours. Nodes that differ in those values are kept apart: the values are slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.engine.match.core.automaton import leaves
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import OF_EXTREME
from saffron.language.plan.pattern import Condition, Edge
from saffron.schema.schema import Kind

Leaf = Attribute | Aggregate | Length


class Held(Enum):
    """The kind of a slot's value for a component: an event, or a number."""

    FIRST = 0
    LAST = 1  # of a component that is no closure: its one event
    BACK = 2  # the k-th event before the last one
    MIN = 3  # the first event with the least value
    MAX = 4
    LENGTH = 5
    NUMBER = 6  # how many were not null
    SOME = 7  # 1 if one of its events has met a condition (`extremes`)


@dataclass(frozen=True)
class Slot:
    """A value that distinguishes nodes of equal events.

    `name`: of MIN, MAX and NUMBER; `back`: k of BACK, and the number of the condition of SOME.
    """

    component: int
    held: Held
    name: str = ""
    kind: Kind = Kind.INT
    back: int = 0

    @property
    def order(self) -> tuple[int, int, str, int]:
        return self.component, self.held.value, self.name, self.back


class Event(Enum):
    """An event that is at hand wherever it is read."""

    HERE = "j"  # being bound
    BEFORE = "i"  # bound just before
    END = "e"  # the last one of all matches of the graph


class BuildStep(Enum):
    """The step of building a graph at which a condition is evaluated."""

    START = 0  # the graph's end is known
    BEGIN = 1  # the first event of the component is bound after one of the component before
    TAKE = 2
    FINISH = 3  # the end has been bound


@dataclass(frozen=True)
class Question:
    """A condition, and the step and component at which it is evaluated. `slot`: the one that tells whether it holds."""

    condition: Condition
    step: BuildStep
    component: int
    slot: Slot | None = None

    def place(self, leaf: Leaf, plan: MatchPlan) -> Event | Slot | None:
        """The event or slot in which the condition finds a value; None: there is none."""
        if is_end(leaf, self.condition, plan):
            return Event.END
        own = leaf.component == self.component
        if own and self.step is BuildStep.BEGIN:
            return Event.HERE if isinstance(leaf, Attribute) or _which(leaf) is Which.FIRST else None
        if own and self.step is BuildStep.TAKE:
            return _while_taking(leaf)
        neighbour = self.step is BuildStep.BEGIN and leaf.component == self.component - 1
        return _bound(leaf, plan, neighbour=neighbour)


def _while_taking(leaf: Leaf) -> Event | Slot | None:
    """The event or slot that a leaf reads of the closure that takes one more event; None where there is none."""
    which = _which(leaf)
    if which is Which.CURRENT:
        return Event.HERE
    if which is Which.FIRST:
        return Slot(leaf.component, Held.FIRST)
    if which is Which.PREVIOUS:
        back = leaf.back if isinstance(leaf, Attribute) else 1
        return Event.BEFORE if back == 1 else Slot(leaf.component, Held.BACK, back=back - 1)
    return _folded(leaf) if isinstance(leaf, Aggregate) and leaf.scope is Scope.BEFORE else None


def _bound(leaf: Leaf, plan: MatchPlan, *, neighbour: bool) -> Event | Slot | None:
    """The event or slot that a leaf reads of a complete component; None where there is none.

    `neighbour`: the component's last event is the one bound just before.
    """
    which = _which(leaf)
    if which is None:
        closed = isinstance(leaf, Length) or (isinstance(leaf, Aggregate) and leaf.scope is Scope.CLOSED)
        return _folded(leaf) if closed else None
    if which is Which.FIRST and plan.components[leaf.component].closure:
        return Slot(leaf.component, Held.FIRST)
    if which not in (Which.FIRST, Which.LAST, Which.SINGLE):
        return None
    return Event.BEFORE if neighbour else Slot(leaf.component, Held.LAST)


def _which(leaf: Leaf) -> Which | None:
    """The one event that is read; None if all are."""
    if isinstance(leaf, Attribute):
        return leaf.which
    if isinstance(leaf, Aggregate) and leaf.name is not None:
        if leaf.function == "first":
            return Which.FIRST
        if leaf.function == "last":
            return Which.LAST if leaf.scope is Scope.CLOSED else Which.PREVIOUS
    return None


_HELD = {
    "min": Held.MIN,
    "max": Held.MAX,
    OF_EXTREME["min"]: Held.MIN,
    OF_EXTREME["max"]: Held.MAX,
    "count": Held.NUMBER,
}


def _folded(leaf: Leaf) -> Slot | None:
    """The slot that holds a list's aggregate, if it is a count or one event's value. Sums have too many values."""
    if isinstance(leaf, Length) or (isinstance(leaf, Aggregate) and leaf.name is None):
        return Slot(leaf.component, Held.LENGTH)
    if not isinstance(leaf, Aggregate) or leaf.name is None or leaf.kind is None:
        return None
    held = _HELD.get(leaf.function)
    return None if held is None else Slot(leaf.component, held, leaf.name, leaf.kind)


def is_end(leaf: Leaf, condition: Condition, plan: MatchPlan) -> bool:
    """True if the leaf reads the event that ends the match."""
    last = len(plan.components) - 1
    if leaf.component != last or condition.component != last or isinstance(leaf, Length):
        return False
    if plan.components[last].closure:
        return condition.edge is Edge.PROCEED and _which(leaf) is Which.LAST
    return True


def question(condition: Condition, plan: MatchPlan) -> Question:
    """A condition at the first place where it can be evaluated."""
    others = [leaf for leaf in leaves(condition.expr) if not is_end(leaf, condition, plan)]
    last = len(plan.components) - 1
    if not others:
        return Question(condition, BuildStep.START, last)
    if len(others) == sum(1 for _ in leaves(condition.expr)):
        if condition.edge is Edge.TAKE:
            return Question(condition, BuildStep.TAKE, condition.component)
        return _behind(condition, condition.component - (condition.edge is Edge.BEGIN), last)
    latest = max(leaf.component for leaf in others)
    known = (_which(leaf) in (Which.FIRST, Which.SINGLE) for leaf in others if leaf.component == latest)
    return Question(condition, BuildStep.BEGIN, latest) if all(known) else _behind(condition, latest, last)


def _behind(condition: Condition, component: int, last: int) -> Question:
    """Asked when a component is complete."""
    if component == last:
        return Question(condition, BuildStep.FINISH, last)
    return Question(condition, BuildStep.BEGIN, component + 1)


def read(asked: Question, plan: MatchPlan) -> list[Event | Slot | None]:
    """The places of all that is read for a condition."""
    return [asked.slot] if asked.slot else [asked.place(leaf, plan) for leaf in leaves(asked.condition.expr)]
