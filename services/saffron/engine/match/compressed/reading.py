"""The kernel text of conditions on a graph while it is built, and of the slots that distinguish nodes of one event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saffron.engine.match.compressed.asked import BuildStep, Event, Held, Leaf, Question, Slot
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.core.automaton import Automaton, leaves
from saffron.engine.match.core.kernel_layout import Names, null_text
from saffron.engine.match.core.source.expressions import Term, Writer
from saffron.language.plan.expressions import Aggregate, Attribute, Length
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import OF_EXTREME, rest_name
from saffron.schema.schema import Kind


@dataclass(frozen=True)
class _PathReader:
    """Events at places of the ring of rows: j at hand, i bound before it, e the last; `values`: the texts of slots."""

    plan: MatchPlan
    names: Names
    question: Question
    values: Sequence[tuple[Slot, str]]

    def attribute(self, leaf: Attribute) -> Term:
        text = value_at(self.names, leaf.name, leaf.kind, self._place(leaf))
        return Term(text, leaf.kind, leaf.name not in ("ts", "type"))

    def aggregate(self, leaf: Aggregate) -> Term:
        """The term of an aggregate: a count that a slot holds, or an attribute of the event at the aggregate's place.

        A least or greatest value, and its rest, is null where the slot holds -1: no event has a value.
        """
        if leaf.name is None or leaf.kind is None:
            return Term(self._place(leaf), Kind.INT, False)
        place = self._place(leaf)
        if leaf.function == "count":
            return Term(f"float({place})", Kind.FLOAT, False)
        of_rest = leaf.function in OF_EXTREME.values()
        value = value_at(self.names, rest_name(leaf.name) if of_rest else leaf.name, leaf.kind, place)
        if leaf.function in ("min", "max") or of_rest:
            null = null_text(leaf.kind)
            value = f"({value} if {place} >= 0 else {null if leaf.kind is Kind.FLOAT else f'np.int64({null})'})"
        return Term(value, leaf.kind)

    def length(self, leaf: Length) -> Term:
        return Term(self._place(leaf), Kind.INT, False)

    def _place(self, leaf: Leaf) -> str:
        place = self.question.place(leaf, self.plan)
        if isinstance(place, Event):
            return place.value
        return next(text for slot, text in self.values if slot == place)


def value_at(names: Names, name: str, kind: Kind, place: str) -> str:
    """An attribute of the event at a place."""
    text = f"c{names.attribute(name, kind)}[{place}]"
    return text if kind is Kind.FLOAT else f"np.int64({text})"


class Tests:
    """Texts of the conditions of a plan, and of the slots of new nodes; `names` collects the columns that they read."""

    def __init__(self, slots: Slots, names: Names) -> None:
        self.slots = slots
        self.plan = slots.plan
        self.names = names
        self._automaton = Automaton(slots.plan, ())
        read = (leaf for condition in slots.plan.conditions for leaf in leaves(condition.expr))
        self._paired = {  # lists with extremes that float64 does not hold
            (leaf.component, leaf.name)
            for leaf in read
            if isinstance(leaf, Aggregate) and leaf.function in OF_EXTREME.values()
        }

    def at(self, step: BuildStep, component: int) -> list[str]:
        """The conditions at a step, as text. Node x is extended; at the end, `key` has the slots."""
        if step is BuildStep.FINISH:
            values = [(slot, f"key[{k}]") for k, slot in enumerate(self.slots.of[component])]
        else:
            values = self._values(component - (step is BuildStep.BEGIN))
        return [self._test(one, values) for one in self.slots.asked(step, component)]

    def _values(self, component: int) -> list[tuple[Slot, str]]:
        """The slots of the node that is extended."""
        return [(slot, f"held[x, {k}]") for k, slot in enumerate(self.slots.of[component])] if component >= 0 else []

    def _test(self, question: Question, values: Sequence[tuple[Slot, str]]) -> str:
        """The text of the test that a question's condition holds. `values`: slots that it may read, with their texts.

        A question with a slot reads that slot alone. A condition that looks back holds where the list is too short.
        """
        if question.slot is not None:
            return f"({dict(values)[question.slot]} != 0)"
        reader = _PathReader(self.plan, self.names, question, values)
        text = Writer(reader, self.names.constant).condition(question.condition.expr)
        back = self._automaton.look_back(question.condition)
        if back < 2:
            return f"({text})"
        held = next(text for slot, text in values if slot.held is Held.BACK and slot.back == back - 1)
        return f"(({held} < 0) | ({text}))"  # where there is nothing to look back at, it holds

    def opened(self, component: int) -> Iterator[str]:
        """The slots of a node whose component begins with event j, event i before it."""
        values = dict(self._values(component - 1))
        for slot in self.slots.of[component]:
            if slot.component == component:
                yield self._initial(slot, self._values(component - 1))
            elif slot.component == component - 1 and slot.held is Held.LAST:
                yield "i"
            else:
                yield values[slot]

    def taken(self, component: int) -> Iterator[str]:
        """The slots of a node whose closure has taken event j, event i before it."""
        values = dict(self._values(component))
        for slot, old in values.items():
            yield old if slot.component != component else self._moved(slot, old, values)

    def kept(self, step: BuildStep, component: int) -> bool:
        """True if all slots of the new node are those of the one that it extends."""
        source = component - (step is BuildStep.BEGIN)
        new = self.opened(component) if step is BuildStep.BEGIN else self.taken(component)
        return source >= 0 and list(new) == [text for _, text in self._values(source)]

    def _met(self, slot: Slot, step: BuildStep, values: Sequence[tuple[Slot, str]]) -> str:
        """1 where the event at hand meets the condition of a slot SOME."""
        return f"(1 if {self._test(self.slots.met(slot, step), values)} else 0)"

    def _initial(self, slot: Slot, values: Sequence[tuple[Slot, str]]) -> str:
        """The code of a slot's value in a node that begins the slot's component with event j; -1 stands for no event.

        `values`: the slots of the node before, which the condition of a slot SOME may read.
        """
        match slot.held:
            case Held.SOME:
                return self._met(slot, BuildStep.BEGIN, values)
            case Held.FIRST:
                return "j"
            case Held.LENGTH:
                return "1"
            case Held.NUMBER:
                return f"(1 if {self._present(slot)} else 0)"
            case Held.MIN | Held.MAX:
                return f"(j if {self._present(slot)} else -1)"
            case _:
                return "-1"

    def _moved(self, slot: Slot, old: str, values: dict[Slot, str]) -> str:
        """The text of a slot's value in a node whose closure has taken event j. `old`: the text of the value before.

        A count stops at `Slots.cap`: conditions do not tell greater counts apart.
        """
        match slot.held:
            case Held.SOME:
                return f"{old} | {self._met(slot, BuildStep.TAKE, list(values.items()))}"
            case Held.LENGTH | Held.NUMBER:
                tests = [self._present(slot)] if slot.held is Held.NUMBER else []
                if (cap := self.slots.cap(slot)) is not None:
                    tests.append(f"{old} < {cap}")
                return f"{old} + (1 if {' and '.join(tests) or 'True'} else 0)"
            case Held.BACK if slot.back == 1:
                return "i"
            case Held.BACK:
                return values[Slot(slot.component, Held.BACK, back=slot.back - 1)]
            case Held.MIN | Held.MAX:
                sign = "<" if slot.held is Held.MIN else ">"
                new, best = (value_at(self.names, slot.name, slot.kind, place) for place in ("j", old))
                beyond = f"{new} {sign} {best}"
                if (slot.component, slot.name) in self._paired:
                    of = rest_name(slot.name)
                    rests = [value_at(self.names, of, slot.kind, place) for place in ("j", old)]
                    beyond = f"{beyond} or ({new} == {best} and {rests[0]} {sign} {rests[1]})"
                return f"(j if {self._present(slot)} and ({old} < 0 or {beyond}) else {old})"
            case _:
                return old

    def _present(self, slot: Slot) -> str:
        value = value_at(self.names, slot.name, slot.kind, "j")
        return f"{value} == {value}" if slot.kind is Kind.FLOAT else f"{value} != {null_text(slot.kind)}"
