"""What the nodes of a graph are told apart by, besides their component and event: the slots of each component."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from saffron.engine.match.automaton import Automaton
from saffron.engine.match.compressed.asked import Held, Question, Slot, Step, question, read
from saffron.language.plan import MatchPlan


@dataclass(frozen=True)
class Slots:
    """All conditions of a flat plan that more than one event decides, and what they make nodes hold."""

    plan: MatchPlan

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        automaton = Automaton(self.plan, ())
        return tuple(question(one, self.plan) for one in self.plan.conditions if not automaton.is_local(one))

    def asked(self, step: Step, component: int) -> list[Question]:
        """What is asked at a step, in the order of the plan."""
        return [one for one in self.questions if one.step is step and one.component == component]

    @property
    def possible(self) -> bool:
        """Whether every condition can be asked of a path."""
        return all(None not in read(one.condition.expr, one, self.plan) for one in self.questions)

    @cached_property
    def of(self) -> tuple[tuple[Slot, ...], ...]:
        """By component the slots of its nodes. Only where `possible`."""
        last = len(self.plan.components) - 1
        found: list[tuple[Slot, ...]] = [()]
        for component in range(last, -1, -1):
            needed = {one for one in self._read(component) if one.component <= component}
            needed |= {one for one in found[0] if self._carried(one, component)}
            backs = [one.back for one in needed if one.held is Held.BACK]
            needed |= {Slot(component, Held.BACK, back=back) for back in range(1, max(backs, default=0))}
            found.insert(0, tuple(sorted(needed, key=lambda one: one.order)))
        return tuple(found[:-1])

    @property
    def most(self) -> int:
        """Slots of the node with the most."""
        return max(map(len, self.of))

    def _carried(self, slot: Slot, component: int) -> bool:
        """Whether the component after this one has it from this one's nodes; their own event they have anyway."""
        own = slot.component == component and slot.held is Held.LAST
        return slot.component <= component and not own

    def _read(self, component: int) -> list[Slot]:
        """What is read of nodes of a component while they are extended, or finished."""
        last = len(self.plan.components) - 1
        found = self.asked(Step.TAKE, component)
        found += self.asked(Step.BEGIN, component + 1) if component < last else self.asked(Step.FINISH, last)
        places = [place for one in found for place in read(one.condition.expr, one, self.plan)]
        return [place for place in places if isinstance(place, Slot)]
