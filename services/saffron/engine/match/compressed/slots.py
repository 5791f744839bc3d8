"""The slots of a graph's nodes: values that distinguish nodes of the same component and event."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from saffron.engine.match.compressed.asked import BuildStep, Held, Question, Slot, question, read
from saffron.engine.match.compressed.extremes import Extreme, extreme
from saffron.engine.match.core.automaton import Automaton
from saffron.language.plan.expressions import Aggregate, Binary, Const, Expr, Length
from saffron.language.plan.match_plan import MatchPlan

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_LARGE = 2**31


@dataclass(frozen=True)
class Slots:
    """The conditions of a flat plan that read more than one event, and the slots that nodes need for them."""

    plan: MatchPlan

    @cached_property
    def extremes(self) -> dict[Slot, Extreme]:
        """The condition of each slot SOME."""
        found = ((number, extreme(one, self.plan)) for number, one in enumerate(self.plan.conditions))
        return {one.slot(number): one for number, one in found if one is not None}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All conditions on a path."""
        automaton = Automaton(self.plan, ())
        found: list[Question] = []
        for number, condition in enumerate(self.plan.conditions):
            one = extreme(condition, self.plan)
            if one is not None:
                found += [one.final(number, self.plan), *(one.asked(one.kept) if one.kept is not None else ())]
            elif not automaton.is_local(condition):
                found.append(question(condition, self.plan))
        return tuple(found)

    def met(self, slot: Slot, step: BuildStep) -> Question:
        """The condition on an event bound at a step that sets its slot SOME."""
        one = self.extremes[slot]
        return next(asked for asked in one.asked(one.met) if asked.step is step)

    def asked(self, step: BuildStep, component: int) -> list[Question]:
        """The conditions to evaluate at a step, in the order of the plan."""
        return [one for one in self.questions if one.step is step and one.component == component]

    @property
    def possible(self) -> bool:
        """True if every condition can be evaluated on a path."""
        setting = [asked for one in self.extremes.values() for asked in one.asked(one.met)]
        return all(None not in read(one, self.plan) for one in (*self.questions, *setting))

    @cached_property
    def of(self) -> tuple[tuple[Slot, ...], ...]:
        """The slots of nodes, by component. Only where `possible`."""
        last = len(self.plan.components) - 1
        found: list[tuple[Slot, ...]] = [()]
        for component in range(last, -1, -1):
            needed = self._read(component) | {one for one in found[0] if self._carried(one, component)}
            needed |= self._read_of(BuildStep.TAKE, component, needed)
            if component < last:
                needed |= self._read_of(BuildStep.BEGIN, component + 1, found[0])
            backs = [one.back for one in needed if one.held is Held.BACK]
            needed |= {Slot(component, Held.BACK, back=back) for back in range(1, max(backs, default=0))}
            found.insert(0, tuple(sorted(needed, key=lambda one: one.order)))
        return tuple(found[:-1])

    @property
    def most(self) -> int:
        """Slots of the node with the most."""
        return max(map(len, self.of))

    def cap(self, slot: Slot) -> int | None:
        """The least count in a slot LENGTH or NUMBER from which on all conditions on it agree; None: none."""
        exprs = [one.condition.expr for one in self.questions if slot in read(one, self.plan)]
        exprs += [one.met for one in self.extremes.values() if slot in read(one.asked(one.met)[0], self.plan)]
        limits = [_limit(expr) for expr in exprs]
        return None if None in limits else max((one for one in limits if one is not None), default=None)

    def _carried(self, slot: Slot, component: int) -> bool:
        """True if nodes of the next component take the slot from this one's; nodes have their own event anyway."""
        own = slot.component == component and slot.held is Held.LAST
        return slot.component <= component and not own

    def _read(self, component: int) -> set[Slot]:
        """The slots that are read of nodes of a component while they are extended or finished."""
        last = len(self.plan.components) - 1
        found = self.asked(BuildStep.TAKE, component)
        found += self.asked(BuildStep.BEGIN, component + 1) if component < last else self.asked(BuildStep.FINISH, last)
        return self._slots(found)

    def _read_of(self, step: BuildStep, component: int, held: Collection[Slot]) -> set[Slot]:
        """The slots that are read to set slots SOME of nodes of a component."""
        return self._slots(
            [self.met(one, step) for one in held if one.held is Held.SOME and one.component == component]
        )

    def _slots(self, questions: Collection[Question]) -> set[Slot]:
        places = (place for one in questions for place in read(one, self.plan))
        return {place for place in places if isinstance(place, Slot)}


def _limit(expr: Expr) -> int | None:
    """The least count (at least 1) above the constant in a comparison of a count with a constant.

    None if the expression is no such comparison. All counts from this one on answer the comparison alike.
    """
    if not isinstance(expr, Binary) or expr.operator not in _COMPARISONS:
        return None
    number, other = (expr.left, expr.right) if isinstance(expr.left, Const) else (expr.right, expr.left)
    if not isinstance(number, Const) or not isinstance(other, Length | Aggregate):
        return None
    if isinstance(number.value, str | bool | None) or not abs(number.value) < _LARGE:
        return None
    return max(math.floor(number.value) + 1, 1)
