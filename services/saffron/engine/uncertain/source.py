"""The search of a query as Python text: the loop, with the conditions that are asked of the path (see `search`).

Conditions read the events of the path by level: `top` is the level of the event being taken or, when a closure is left,
of its last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.events.schema import Kind
from saffron.engine.match.automaton import Automaton
from saffron.engine.match.expressions import Term, Writer
from saffron.engine.match.layout import Names
from saffron.engine.match.lines import Lines
from saffron.engine.uncertain.table import (
    AT,
    DEPTH,
    DONE,
    EVENT,
    MASK,
    NEXT_WINDOW,
    PART,
    PATH,
    PHASE,
    PUSHED,
    SEARCH,
)
from saffron.language.plan import Aggregate, Attribute, Condition, Edge, Length, Scope, Which


def search_source(automaton: Automaton, names: Names) -> str:
    """The module of `search`; `names` then says which columns and strings it reads."""
    asked = [_branches(automaton, names, edge) for edge in (Edge.BEGIN, Edge.TAKE, Edge.PROCEED)]
    columns = [f"c{number}" for number in range(len(names.attributes))]
    arguments = ", ".join(["work", "constants", "ranks", *columns])
    begins, takes, leaves = asked
    loop = f"""
@kernel(_nrt=False)
def search(shape, rows, {arguments}):
    counters = work.counters
    while True:
        phase = counters[{PHASE}]
        if phase == {EVENT}:
            if counters[{AT}] == len(rows):
                return {DONE}
            arrive(shape, work, rows[counters[{AT}]])
        elif phase == {NEXT_WINDOW}:
            next_window(shape, work)
        elif phase == {SEARCH}:
            candidate(shape, work)
        else:
            depth = counters[{DEPTH}]
            part = work.levels[{PART}, depth + 1]
            if part == work.levels[{PART}, depth]:
                holds = takes(part, depth + 1, {arguments})
            else:
                holds = begins(part, depth + 1, {arguments})
            if holds:
                status = extend(shape, work)
                if status > 0:
                    return status
                if status == {PUSHED}:
                    settle(shape, work, leaves(part, depth + 1, {arguments}))
            counters[{PHASE}] = {SEARCH}
"""
    functions = [
        f"@inlined\ndef {name}(part, top, {arguments}):\n{body}"
        for name, body in (("begins", begins), ("takes", takes), ("leaves", leaves))
    ]
    return "import math\n\nimport numpy as np\n\n\n" + "\n\n".join([*functions, loop])


def _branches(automaton: Automaton, names: Names, edge: Edge) -> Lines:
    out = Lines(depth=1)
    out(f"path, first, mask = work.levels[{PATH}], work.first, work.counters[{MASK}]")
    for component in range(len(automaton.plan.components)):
        texts = []
        for condition in automaton.conditions(component, edge):
            if not automaton.is_local(condition):
                writer = Writer(_PathReader(names, condition), names.constant)
                text = writer.condition(condition.expr)
                back = automaton.look_back(condition)
                texts.append(f"(top - first[{component}] < {back}) or ({text})" if back > 1 else text)
        if texts:
            out(f"if part == {component}:")
            out(f"    return {' and '.join(f'({text})' for text in texts)}")
    out("return True")
    return out


@dataclass(frozen=True)
class _PathReader:
    """The path's events as a condition reads them."""

    names: Names
    condition: Condition

    def attribute(self, leaf: Attribute) -> Term:
        column = self._column(leaf.name, leaf.kind)
        text = f"{column}[path[{self._level(leaf)}] & mask]"
        nullable = leaf.name not in ("ts", "type")
        return Term(text if leaf.kind is Kind.FLOAT else f"np.int64({text})", leaf.kind, nullable)

    def aggregate(self, leaf: Aggregate) -> Term:
        if leaf.name is None or leaf.kind is None:
            return Term(f"({self._end(leaf)} - first[{leaf.component}])", Kind.INT, False)
        if leaf.function in ("first", "last"):
            level = f"first[{leaf.component}]" if leaf.function == "first" else f"{self._end(leaf)} - 1"
            text = f"{self._column(leaf.name, leaf.kind)}[path[{level}] & mask]"
            return Term(text if leaf.kind is Kind.FLOAT else f"np.int64({text})", leaf.kind)
        whole = leaf.kind is Kind.INT
        span = f"{self._column(leaf.name, leaf.kind)}, {whole}, path, first[{leaf.component}], {self._end(leaf)}, mask"
        if leaf.function in ("min", "max"):
            kind = "whole" if whole else "real"
            return Term(f"{leaf.function}_{kind}({span.replace(f', {whole}', '')})", leaf.kind)
        return Term(f"{leaf.function}_of({span})", Kind.FLOAT)

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
        return "top" if component == self.condition.component else f"first[{component + 1}] - 1"

    def _end(self, leaf: Aggregate) -> str:
        """The level behind the events that an aggregate runs over."""
        return "top" if leaf.scope is Scope.BEFORE else f"({self._last(leaf.component)} + 1)"
