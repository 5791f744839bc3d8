"""The search of a query as Python text: the loop, with the conditions that are asked of the path (see `search`).

Conditions read the single events that are bound, and closures' events on the path by level: `top` is the level of the
event being taken or, when a closure is left, of its last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.kernels.kernel_source import constants_text
from saffron.engine.match.core.automaton import Automaton, leaves
from saffron.engine.match.core.kernel_layout import Names, null_text
from saffron.engine.match.core.source.expressions import Term, Writer
from saffron.engine.match.core.source.lines import Lines
from saffron.engine.match.uncertain import search_state
from saffron.engine.match.uncertain.search_state import (
    BEGINS,
    BINDS,
    LEAVES_IT,
    TAKES,
)
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.language.plan.pairs import OF_EXTREME, rest_name
from saffron.language.plan.pattern import Condition, Edge
from saffron.schema.schema import Kind


def search_source(automaton: Automaton, names: Names) -> str:
    """The module of `search`; `names` collects the columns and strings that it reads."""
    asked = [_of_singles(automaton, names)]
    asked += [_of_closures(automaton, names, edge) for edge in (Edge.BEGIN, Edge.TAKE, Edge.PROCEED)]
    columns = [f"c{number}" for number in range(len(names.attributes))]
    read = ["constants", "ranks", *columns]
    arguments = ", ".join(["work", *read])
    loop = f"""
@kernel(_nrt=False)
def search(shape_table, rows, work_table, {", ".join(read)}):
    shape, work = shape_in(shape_table), work_in(work_table)
    counters, levels = work.counters, work.levels
    while True:
        status = go_on(shape_table, work_table, rows)
        if status != ASK:
            return status
        depth = counters[DEPTH]
        if counters[PHASE] == TRY_BIND:
            holds = binds(shape.order[counters[START], counters[STEP]], 0, {arguments})
            counters[PHASE] = BOUND_ONE if holds else BIND
        elif counters[PHASE] == TRY:
            part = levels[TARGET, depth]
            if part == levels[PART, depth]:
                holds = takes(part, depth + 1, {arguments})
            else:
                holds = begins(part, levels[END, depth] + 1, {arguments})
            counters[PHASE] = PUT if holds else SEARCH
        else:
            counters[LEAVES] = 1 if leaves(levels[PART, depth], depth, {arguments}) else 0
            counters[PHASE] = SETTLE
"""
    functions = [
        f"@inlined\ndef {name}(part, top, {arguments}):\n{body}"
        for name, body in zip(("binds", "begins", "takes", "leaves"), asked, strict=True)
    ]
    text = "\n\n".join([*functions, loop])
    return f"import math\n\nimport numpy as np\n\n\n{constants_text(text, vars(search_state))}\n\n{text}"


def asks(automaton: Automaton) -> list[int]:
    """The kinds of conditions of each component, as bits of `Shape.asks`."""
    bits = [0] * len(automaton.plan.components)
    edges = {Edge.BEGIN: BEGINS, Edge.TAKE: TAKES, Edge.PROCEED: LEAVES_IT}
    for condition in automaton.plan.conditions:
        if automaton.is_local(condition):
            continue
        asked = _asked_by(automaton, condition)
        if asked is not None:
            bits[asked[0]] |= edges[asked[1]]
            continue
        for component in _read(condition):
            bits[component] |= BINDS
    return bits


def _of_singles(automaton: Automaton, names: Names) -> Lines:
    """Conditions on single events alone, each evaluated when the last of them is bound."""
    out = _opening()
    out("bound = work.counters[BOUND] | (1 << part)")
    for condition in automaton.plan.conditions:
        if not automaton.is_local(condition) and _asked_by(automaton, condition) is None:
            needed = sum(1 << component for component in _read(condition))
            out(f"if ({needed} >> part) & 1 and bound & {needed} == {needed} and not ({_text(names, condition)}):")
            out("    return False")
    out("return True")
    return out


def _of_closures(automaton: Automaton, names: Names, edge: Edge) -> Lines:
    """Conditions that read closures; those on a later single event are evaluated when the last of these is left."""
    out = _opening()
    for component in range(len(automaton.plan.components)):
        texts = []
        for condition in automaton.plan.conditions:
            if not automaton.is_local(condition) and _asked_by(automaton, condition) == (component, edge):
                text, back = _text(names, condition), automaton.look_back(condition)
                texts.append(f"(top - first[{component}] < {back}) or ({text})" if back > 1 else text)
        if texts:
            out(f"if part == {component}:")
            out(f"    return {' and '.join(f'({text})' for text in texts)}")
    out("return True")
    return out


def _opening() -> Lines:
    out = Lines(depth=1)
    out("path, first, last, mask = work.levels[PATH], work.first, work.last, work.counters[MASK]")
    out("chosen = work.chosen")
    return out


def _read(condition: Condition) -> set[int]:
    return {condition.component, *(leaf.component for leaf in leaves(condition.expr))}


def _asked_by(automaton: Automaton, condition: Condition) -> tuple[int, Edge] | None:
    """The closure and its edge at which a condition is evaluated; None: when single events are bound."""
    closures = [k for k in _read(condition) if automaton.plan.components[k].closure]
    if not closures:
        return None
    if automaton.plan.components[condition.component].closure:
        return condition.component, condition.edge
    return max(closures), Edge.PROCEED


def _text(names: Names, condition: Condition) -> str:
    return Writer(_PathReader(names, condition), names.constant).condition(condition.expr)


@dataclass(frozen=True)
class _PathReader:
    """The path's events as a condition reads them."""

    names: Names
    condition: Condition

    def attribute(self, leaf: Attribute) -> Term:
        column = self._column(leaf.name, leaf.kind)
        row = f"chosen[{leaf.component}]" if leaf.which is Which.SINGLE else f"path[{self._level(leaf)}]"
        text = f"{column}[{row} & mask]"
        nullable = leaf.name not in ("ts", "type")
        return Term(text if leaf.kind is Kind.FLOAT else f"np.int64({text})", leaf.kind, nullable)

    def aggregate(self, leaf: Aggregate) -> Term:
        """The term of an aggregate: a length for count(b[]), a value of one event for first and last, or a fold."""
        if leaf.name is None or leaf.kind is None:
            return Term(f"({self._end(leaf)} - first[{leaf.component}])", Kind.INT, False)
        if leaf.function in ("first", "last"):
            level = f"first[{leaf.component}]" if leaf.function == "first" else f"{self._end(leaf)} - 1"
            text = f"{self._column(leaf.name, leaf.kind)}[path[{level}] & mask]"
            return Term(text if leaf.kind is Kind.FLOAT else f"np.int64({text})", leaf.kind)
        column, path = self._column(leaf.name, leaf.kind), f"path, first[{leaf.component}], {self._end(leaf)}, mask"
        if leaf.function in OF_EXTREME.values():
            rests = self._column(rest_name(leaf.name), leaf.kind)
            function = "least_rest" if leaf.function == OF_EXTREME["min"] else "greatest_rest"
            return Term(f"{function}({column}, {rests}, {path})", leaf.kind)
        if leaf.function in ("min", "max"):
            kind = "whole" if leaf.kind.is_whole else "real"
            return Term(f"{leaf.function}_{kind}({column}, {path})", leaf.kind)
        return Term(f"{leaf.function}_of({column}, {null_text(leaf.kind)}, {path})", Kind.FLOAT)

    def length(self, leaf: Length) -> Term:
        return Term(f"({self._last(leaf.component)} - first[{leaf.component}] + 1)", Kind.INT, False)

    def _column(self, name: str, kind: Kind) -> str:
        return f"c{self.names.attribute(name, kind)}"

    def _level(self, leaf: Attribute) -> str:
        if leaf.which is Which.CURRENT:
            return "top"
        if leaf.which is Which.PREVIOUS:
            return f"top - {leaf.back}"
        return self._last(leaf.component) if leaf.which is Which.LAST else f"first[{leaf.component}]"

    def _last(self, component: int) -> str:
        """The level of the last event of a component."""
        return "top" if component == self.condition.component else f"last[{component}]"

    def _end(self, leaf: Aggregate) -> str:
        """The level behind the events that an aggregate runs over."""
        return "top" if leaf.scope is Scope.BEFORE else f"({self._last(leaf.component)} + 1)"
