"""The text of the kernel that builds the graphs of matches, one for each event that may end some.

A graph's nodes are pairs (component, event) that some match may bind, in the order of events; its edges lead from a
node to those that a match may have bound just before it. The window bounds the first event, hence the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.events.schema import Kind
from saffron.engine.match.automaton import Automaton
from saffron.engine.match.compressed.shape import is_current
from saffron.engine.match.expressions import Term, Writer
from saffron.engine.match.layout import Names, begin_bit, take_bit
from saffron.engine.match.lines import Lines
from saffron.engine.match.source import COLUMN_TYPES
from saffron.language.plan import Aggregate, Attribute, Condition, Edge, Length, MatchPlan

DONE, MORE_NODES, MORE_EDGES = range(3)  # what the kernel returns: all done, or what must grow before it goes on
NODES, EDGES, GRAPHS, AT = range(4)  # places of `state`

_ARGUMENTS = (
    ("state", "int64[::1]"),
    ("ends", "int64[::1]"),
    ("lows", "int64[::1]"),
    ("tail", "int64"),
    ("clock", "int64[::1]"),
    ("masks", "int64[::1]"),
    ("links", "int64[::1]"),
    ("constants", "int64[::1]"),
    ("ranks", "int64[::1]"),
    ("window", "int64[::1]"),
    ("of", "int64[:, ::1]"),
    ("number", "int64[::1]"),
    ("entry", "int64[::1]"),
    ("kept", "int64[::1]"),
    ("first_node", "int64[::1]"),
    ("component", "uint8[::1]"),
    ("place", "int64[::1]"),
    ("roots", "boolean[::1]"),
    ("first_before", "int64[::1]"),
    ("before", "int32[::1]"),
)


@dataclass(frozen=True)
class _PairReader:
    """The events at places i (bound before) and j (at hand) of the ring of rows."""

    names: Names
    condition: Condition

    def attribute(self, leaf: Attribute) -> Term:
        place = "j" if is_current(leaf, self.condition) else "i"
        text = f"c{self.names.attribute(leaf.name, leaf.kind)}[{place}]"
        text = text if leaf.kind is Kind.FLOAT else f"np.int64({text})"
        return Term(text, leaf.kind, leaf.name not in ("ts", "type"))

    def aggregate(self, leaf: Aggregate) -> Term:
        raise AssertionError(leaf)

    def length(self, leaf: Length) -> Term:
        raise AssertionError(leaf)


class GraphSource:
    """Writes the kernel. `text` is the module; `names` then says which columns and strings it uses."""

    def __init__(self, plan: MatchPlan, names: Names) -> None:
        self.plan = plan
        self.names = names
        self.automaton = Automaton(plan, ())
        self.last = len(plan.components) - 1

    def text(self) -> str:
        """The module: imports, signature and the kernel."""
        body = Lines(depth=1)
        self._body(body)
        columns = [(f"c{n}", f"{COLUMN_TYPES[kind]}[::1]") for n, kind in enumerate(self.names.attributes.values())]
        arguments = [*_ARGUMENTS, *columns]
        return (
            "import math\n\nimport numpy as np\n"
            "from numba import boolean, float64, int8, int32, int64, uint8\n\n\n"
            f"@kernel(int64({', '.join(kind for _, kind in arguments)}))\n"
            f"def graphs({', '.join(name for name, _ in arguments)}):\n{body}"
        )

    def _body(self, out: Lines) -> None:
        out("ring = len(clock) - 1")
        out(f"nodes, edges, made = state[{NODES}], state[{EDGES}], state[{GRAPHS}]")
        out(f"w, status = state[{AT}], {DONE}")
        out("while w < len(ends):")
        with out.block():
            self._window(out)
            self._nodes(out)
            self._finish(out)
        out(f"state[{NODES}], state[{EDGES}], state[{GRAPHS}], state[{AT}] = nodes, edges, made, w")
        out("return status")

    def _window(self, out: Lines) -> None:
        """The rows of the key that the window holds, latest first, and room for what may be made of them."""
        out("count, row = 0, ends[w]")
        out("while row >= tail and clock[row & ring] >= lows[w]:")
        out("    window[count] = row & ring")
        out("    count += 1")
        out("    row = links[row & ring]")
        out(f"if nodes + {self.last + 1} * count >= len(place):")
        out(f"    status = {MORE_NODES}")
        out("    break")
        out("start, begun, full = nodes, edges, False")
        for c in range(self.last + 1):
            out(f"n{c} = 0")

    def _nodes(self, out: Lines) -> None:
        """Nodes that some prefix of a match reaches, with their edges."""
        out("for k in range(count - 1, -1, -1):")
        with out.block():
            out("j = window[k]")
            out("m = masks[j]")
            for c in range(self.last, -1, -1):  # no event follows itself
                self._node(out, c)
        out("if full:")
        out(f"    nodes, edges, status = start, begun, {MORE_EDGES}")
        out("    break")

    def _node(self, out: Lines, c: int) -> None:
        closure = self.plan.components[c].closure
        bits = begin_bit(c) | (take_bit(c) if closure else 0)
        # The last event can only end the matches; a single event that ends them is of no use before it.
        useful = " and k > 0" if c < self.last else "" if closure else " and k == 0"
        out(f"if m & {bits}{useful}:")
        with out.block():
            out(f"opening, low = {f'm & {begin_bit(0)} != 0' if c == 0 else 'False'}, edges")
            sources = ([(c - 1, Edge.BEGIN, begin_bit(c))] if c else []) + ([(c, Edge.TAKE, take_bit(c))] * closure)
            for source, edge, bit in sources:
                out(f"if m & {bit}:")
                with out.block():
                    self._edges(out, source, c, edge)
            out("if opening or edges > low:")
            with out.block():
                out(f"component[nodes], place[nodes], roots[nodes] = {c}, j, opening")
                out("entry[nodes - start] = low - begun")
                out(f"of[{c}, n{c}] = nodes - start")
                out(f"n{c} += 1")
                out("nodes += 1")

    def _edges(self, out: Lines, source: int, c: int, edge: Edge) -> None:
        conditions = [(one, edge) for one in self.automaton.conditions(c, edge) if not self.automaton.is_local(one)]
        if edge is Edge.BEGIN:
            conditions += [(one, Edge.PROCEED) for one in self.automaton.conditions(source, Edge.PROCEED)]
        tests = [Writer(_PairReader(self.names, one), self.names.constant).condition(one.expr) for one, _ in conditions]
        out(f"if edges + n{source} > len(before):")
        out("    full = True")
        out("    break")
        out(f"for q in range(n{source}):")
        with out.block():
            out(f"i = place[start + of[{source}, q]]")
            out(f"if {' & '.join(tests) or 'True'}:")
            out(f"    before[edges] = of[{source}, q]")
            out("    edges += 1")

    def _finish(self, out: Lines) -> None:
        """Keep the nodes from which the last event's own node can be reached, if that one was made at all."""
        proceeds = self.automaton.conditions(self.last, Edge.PROCEED)
        tests = [Writer(_PairReader(self.names, one), self.names.constant).condition(one.expr) for one in proceeds]
        out("i = window[0]")
        ended = f"nodes > start and component[nodes - 1] == {self.last} and place[nodes - 1] == i"
        out(f"if {ended}{''.join(f' and {test}' for test in tests)}:")
        with out.block():
            out("scratch = (number, entry)")
            out("nodes, edges = keep_useful(start, nodes, begun, edges, scratch, component, place, roots, before)")
            out("for k in range(start, nodes):")
            out("    first_before[k] = begun + entry[k - start]")
            out("first_before[nodes] = edges")
            out("made += 1")
            out("first_node[made] = nodes")
            out("kept[made - 1] = w")
        out("else:")
        out("    nodes, edges = start, begun")
        out("w += 1")
