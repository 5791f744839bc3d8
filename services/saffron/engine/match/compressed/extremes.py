"""Comparisons with the greatest or least value of a closure, evaluated on each of its events as it is bound (X4).

x < max(b[].v) says that some event has x < v, which one bit tells; x > max(b[].v) that none has x <= v, and that some
has a value at all. So no node needs to hold the greatest value, where x is known before the closure's events are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.engine.match.compressed.asked import BuildStep, Held, Question, Slot, is_end, question
from saffron.engine.match.core.automaton import leaves
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Expr, Scope, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Condition

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Extreme:
    """A condition that holds if `met` does of some event of closure `component`, and `kept` (None: any) of all."""

    condition: Condition
    component: int
    met: Expr
    kept: Expr | None

    def slot(self, number: int) -> Slot:
        """The slot that holds whether `met` was true of an event; `number`: of the condition in its plan."""
        return Slot(self.component, Held.SOME, back=number)

    def final(self, number: int, plan: MatchPlan) -> Question:
        """The question whether some event has met the condition, asked at the condition's place."""
        return replace(question(self.condition, plan), slot=self.slot(number))

    def asked(self, expr: Expr) -> list[Question]:
        """An expression asked of each event that the closure binds."""
        condition = replace(self.condition, expr=expr)
        return [Question(condition, step, self.component) for step in (BuildStep.BEGIN, BuildStep.TAKE)]


def extreme(condition: Condition, plan: MatchPlan) -> Extreme | None:
    """The condition as an `Extreme`, if it is one."""
    expr = condition.expr
    if not isinstance(expr, Binary) or expr.operator not in _TURNED:
        return None
    operator, known, list_of = expr.operator, expr.left, expr.right
    if isinstance(known, Aggregate):
        operator, known, list_of = _TURNED[operator], list_of, known
    if not isinstance(list_of, Aggregate) or list_of.function not in ("min", "max") or list_of.scope is Scope.BEFORE:
        return None
    component = list_of.component
    if not all(leaf.component < component or is_end(leaf, condition, plan) for leaf in leaves(known)):
        return None
    assert list_of.name is not None
    assert list_of.kind is not None
    here = Attribute(component, Which.CURRENT, list_of.name, list_of.kind)
    some = (operator in ("<", "<=")) is (list_of.function == "max")
    kept = None if some else Unary("not", Binary(_OPPOSITE[operator], known, here))
    return Extreme(condition, component, Binary(operator, known, here), kept)
