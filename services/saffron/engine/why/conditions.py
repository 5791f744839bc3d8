"""The conditions that an event can break, and its refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from saffron.engine.match.general.checks import Asked
from saffron.engine.why import bindings as taken
from saffron.engine.why.bindings import Bindings, Bound, loops_around
from saffron.engine.why.values import Lists, settled, shown, value
from saffron.language.patterns.positions import is_past
from saffron.language.patterns.stances import Position
from saffron.language.plan.expressions import Binary, Const
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.syntax.paths import attribute_text


@dataclass(frozen=True)
class Refusal:
    """A condition (`text`, as written) that an event broke; `values`: it with the values that decided.

    `component`: that could not take the event; of a whole match, the one bound last.
    """

    component: int
    text: str
    values: str


class Conditions:
    """The conditions of a plan."""

    def __init__(self, plan: MatchPlan) -> None:
        self._plan = plan
        self._asked = [Asked(check) for check in plan.checks]
        self._loops = loops_around(plan)

    def refusals(self, bindings: Bindings, position: Position) -> list[Refusal]:
        """The conditions that the last event taken breaks, of those to evaluate at the position it leads to."""
        component = bindings[-1].component
        found = [*self._order(bindings), *self._distinct(bindings)]
        for asked in self._asked:
            over = frozenset(c for c in asked.finished if is_past(self._plan.pattern, position, c))
            if asked.finished <= over and (component in asked.reads or asked.finished):
                found += self._broken(asked, bindings, newest=component)
        return found

    def refusals_at_end(self, bindings: Bindings) -> list[Refusal]:
        """The conditions that a whole match breaks, now that every list is complete."""
        return [refusal for asked in self._asked if asked.finished for refusal in self._broken(asked, bindings)]

    def _order(self, bindings: Bindings) -> Iterator[Refusal]:
        for before, after in pairwise(bindings[-2:]):
            if self._plan.strict and after.event["ts"] <= before.event["ts"]:
                yield Refusal(after.component, "TIME STRICT", f"{after.event['ts']} > {before.event['ts']}")

    def _distinct(self, bindings: Bindings) -> Iterator[Refusal]:
        """A refusal for each DISTINCT that the last event breaks.

        The value of the event is null, or an earlier event of the same iteration has it too.
        """
        *earlier, last = bindings
        for rule in self._plan.distinct:
            if last.component not in rule.components:
                continue
            mine = last.event.get(rule.attribute)
            others = [
                bound.event.get(rule.attribute)
                for bound in earlier
                if bound.component in rule.components and all(bound.turns[n] == last.turns[n] for n in rule.loops)
            ]
            if mine is None or any(value(Binary("!=", Const(mine), Const(other))) is not True for other in others):
                yield Refusal(
                    last.component,
                    f"DISTINCT {attribute_text(rule.attribute)}",
                    "null" if mine is None else f"{mine!r} is there already",
                )

    def _broken(self, asked: Asked, bindings: Bindings, newest: int | None = None) -> Iterator[Refusal]:
        """The first instance of a condition that does not hold. `newest`: the component just taken."""
        lists = {component: taken.of(bindings, component) for component in asked.reads}
        if not all(lists[component] for component in asked.events):
            return
        if any(len(lists[component]) < number for component, number in asked.numbered.items()):
            return
        for focus in self._instances(asked, lists, newest):
            at = self._current(asked, lists, focus)
            if at is None or any(at[c] < asked.back(c) for c in asked.taking):
                continue
            expr = settled(asked.expr, lists, at)
            if value(expr) is not True:
                yield Refusal(bindings[-1].component, asked.check.text, shown(expr))
                return

    def _instances(self, asked: Asked, lists: Lists, newest: int | None) -> Sequence[Bound | None]:
        """Each event for which the condition is asked: those of the component in the most repetitions."""
        if not asked.taking:
            return [None]
        deepest = max(sorted(asked.taking), key=lambda component: len(self._loops[component]))
        return lists[deepest][-1:] if deepest == newest and not asked.finished else lists[deepest]

    def _current(self, asked: Asked, lists: Lists, focus: Bound | None) -> dict[int, int] | None:
        """component -> the event of it in the iteration of the focus; None: a component has none."""
        at = {}
        for component in asked.taking:
            assert focus is not None
            loops = self._loops[component]
            same = (
                place
                for place, bound in enumerate(lists[component])
                if all(bound.turns[loop] == focus.turns[loop] for loop in loops)
            )
            place = next(same, None)
            if place is None:
                return None
            at[component] = place
        return at
