"""The text of the kernel that builds the graphs of matches, one for each event that may end some.

A graph's nodes are pairs (component, event) that some match may bind, in the order of events. Its edges lead from a
node to those that a match may have bound just before it. The window bounds the first event, hence the graph. Where
conditions read more than neighbours and the end, nodes of one pair are told apart by their slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from saffron.engine.kernels.kernel_source import constants_text, kernel_head
from saffron.engine.match.compressed import groups
from saffron.engine.match.compressed.asked import BuildStep
from saffron.engine.match.compressed.reading import Tests
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.core.kernel_layout import Names, numbered
from saffron.engine.match.core.source.lines import Lines
from saffron.language.plan.match_plan import MatchPlan

DONE, MORE_NODES, MORE_EDGES, MORE_ROOM = range(4)  # all done, or the array to grow before the kernel goes on
NODES, EDGES, GRAPHS, AT, TRIES = range(5)  # places of `state`

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
    ("kept", "int64[::1]"),
    ("first_node", "int64[::1]"),
    ("component", "uint8[::1]"),
    ("place", "int64[::1]"),
    ("roots", "boolean[::1]"),
    ("first_before", "int64[::1]"),
    ("before", "int32[::1]"),
    ("window", "int64[::1]"),
    ("of", "int64[:, ::1]"),
    ("number", "int64[::1]"),
    ("entry", "int64[::1]"),
)
_OF_SLOTS = (
    ("held", "int64[:, ::1]"),
    ("table", "int64[::1]"),
    ("stamps", "int64[::1]"),
    ("seen", "int64[::1]"),
    ("group", "int64[::1]"),
    ("contexts", "int64[::1]"),
    ("degree", "int64[::1]"),
    ("context", "int64[::1]"),
    ("pairs", "int64[:, ::1]"),
    ("key", "int64[::1]"),
    ("tally", "int64[::1]"),
)
"""Besides, where nodes have slots: see `groups`; `context` [nodes of a graph], `key` [slots]."""


class GraphSource:
    """Writes the kernel. `text` is the module; `names` then says which columns and strings it uses."""

    def __init__(self, plan: MatchPlan, names: Names) -> None:
        self.plan = plan
        self.names = names
        self.slots = Slots(plan)
        self.tests = Tests(self.slots, names)
        self.last = len(plan.components) - 1

    def text(self) -> str:
        """The module: imports, signature and the kernel."""
        body = Lines(depth=1)
        self._body(body)
        columns = [(f"c{n}", f"{kind.dtype}[::1]") for n, kind in enumerate(self.names.attributes.values())]
        arguments = [*_ARGUMENTS, *(_OF_SLOTS if self.slots.most else ()), *columns]
        numbers = numbered((), len(self.plan.components))
        return (
            "import math\n\nimport numpy as np\n"
            "from numba import boolean, float64, int8, int32, int64, uint8\n\n\n"
            f"{constants_text(str(body), vars(groups), globals(), numbers)}\n\n"
            f"{kernel_head('graphs', arguments)}{body}"
        )

    def _body(self, out: Lines) -> None:
        """Write the body of the kernel: a loop over `ends` that makes one graph for each row that ends matches.

        The kernel stops before the row at hand where an array is too small; `state` says where to go on.
        """
        out("ring, room = len(clock) - 1, len(entry) - 1")
        out("nodes, edges, made = state[NODES], state[EDGES], state[GRAPHS]")
        out("w, status = state[AT], DONE")
        out("while w < len(ends):")
        with out.block():
            out("e = ends[w] & ring")
            if tests := self.tests.at(BuildStep.START, self.last):
                out(f"if not ({' & '.join(tests)}):")
                out("    w += 1")
                out("    continue")
            self._window(out)
            self._nodes(out)
            self._finish(out)
        out("state[NODES], state[EDGES], state[GRAPHS], state[AT] = nodes, edges, made, w")
        out("return status")

    def _window(self, out: Lines) -> None:
        """Write the code that finds the key's rows in the window, latest first, and room for their nodes."""
        out("count, row = 0, ends[w]")
        out("while row >= tail and clock[row & ring] >= lows[w]:")
        out("    window[count] = row & ring")
        out("    count += 1")
        out("    row = links[row & ring]")
        out(f"if nodes + {self.last + 1} * count >= len(place):")
        out("    status = MORE_NODES")
        out("    break")
        out("start, begun, full = nodes, edges, DONE")
        for c in range(self.last + 1):
            out(f"n{c} = 0")
        if self.slots.most:
            out("state[TRIES] += 1")
            out("tally[CONTEXTS], seen[0] = 0, 0")

    def _nodes(self, out: Lines) -> None:
        """Nodes that some prefix of a match reaches, with their edges."""
        out("for k in range(count - 1, -1, -1):")
        with out.block():
            out("j = window[k]")
            out("m = masks[j]")
            for c in range(self.last, -1, -1):  # no event follows itself
                self._node(out, c)
        out("if full:")
        out("    nodes, edges, status = start, begun, full")
        out("    break")

    def _node(self, out: Lines, c: int) -> None:
        """Write the code that makes the nodes of event j as component c, if the event's mask allows it.

        No node is made that neither begins a match nor follows another node.
        """
        closure = self.plan.components[c].closure
        bits = f"(BEGIN_{c} | TAKE_{c})" if closure else f"BEGIN_{c}"
        # The last event can only end the matches; a single event that ends them is of no use before it.
        useful = " and k > 0" if c < self.last else "" if closure else " and k == 0"
        out(f"if m & {bits}{useful}:")
        with out.block():
            self._room(out, c)
            opening = " and ".join(["m & BEGIN_0 != 0", *self.tests.at(BuildStep.BEGIN, 0)]) if c == 0 else "False"
            out(f"opening, low = {opening}, edges")
            if self.slots.of[c]:
                self._told_apart(out, c)
            else:
                self._alike(out, c)

    def _room(self, out: Lines, c: int) -> None:
        """Write the check of room for the event's nodes: with slots, one more than the nodes that it may follow."""
        if not self.slots.most:
            return
        more = f"n{c} + 2" + (f" + n{c - 1}" if c else "")
        for test, status in (
            (f"nodes - start + {more} > room", "MORE_ROOM"),
            (f"nodes + {more} > len(place)", "MORE_NODES"),
        ):
            out(f"if {test}:")
            out(f"    full = {status}")
            out("    break")

    def _sources(self, c: int) -> list[tuple[int, BuildStep, str]]:
        """The components whose nodes may come before, the step and the events of each."""
        taking = [(c, BuildStep.TAKE, f"TAKE_{c}")] if self.plan.components[c].closure else []
        return ([(c - 1, BuildStep.BEGIN, f"BEGIN_{c}")] if c else []) + taking

    def _alike(self, out: Lines, c: int) -> None:
        """Write the code that makes one node for the event, whatever nodes come before it."""
        for source, step, bit in self._sources(c):
            out(f"if m & {bit}:")
            with out.block():
                out(f"if edges + n{source} > len(before):")
                out("    full = MORE_EDGES")
                out("    break")
                with self._source(out, source, step, c):
                    out(f"before[edges] = of[{source}, q]")
                    out("edges += 1")
        out("if opening or edges > low:")
        with out.block():
            self._write_node(out, c, "opening", "low")

    @contextmanager
    def _source(self, out: Lines, source: int, step: BuildStep, c: int) -> Iterator[None]:
        """Write a loop over the nodes that may come before; its body is that of the `with`."""
        out(f"for q in range(n{source}):")
        with out.block():
            out(f"i = place[start + of[{source}, q]]")
            if self.slots.of[source]:
                out(f"x = context[of[{source}, q]]")
            out(f"if {' & '.join(self.tests.at(step, c)) or 'True'}:")
            with out.block():
                yield

    def _told_apart(self, out: Lines, c: int) -> None:
        """Write the code that makes a node for each different context of the event; the last event has one node."""
        out("first, tally[PAIRS], tally[GROUPS] = -1, 0, 0")
        out(f"turn = {self.last + 1} * k + {c + 1}")
        if c == 0:
            out("if opening:")
            with out.block():
                self._group(out, c, list(self.tests.opened(0)), kept=False, then="first = g")
        for source, step, bit in self._sources(c):
            new = self.tests.opened(c) if step is BuildStep.BEGIN else self.tests.taken(c)
            out(f"if m & {bit}:")
            with out.block(), self._source(out, source, step, c):
                pair = f"add_pair(g, of[{source}, q], degree, pairs, tally)"
                self._group(out, c, list(new), self.tests.kept(step, c), pair)
        out("if edges + tally[PAIRS] > len(before):")
        out("    full = MORE_EDGES")
        out("    break")
        out("edges = write_pairs(edges, before, degree, pairs, tally)")
        out("for g in range(tally[GROUPS]):")
        with out.block():
            out("context[nodes - start] = contexts[g]")
            self._write_node(out, c, "g == first", "(degree[g - 1] if g > 0 else low)")

    def _group(self, out: Lines, c: int, new: list[str], kept: bool, then: str) -> None:
        """Find the group g of a node's context, and do something with it. `kept`: the context is that of x."""
        values = new + ["-9"] * (self.slots.most - len(new))
        key = [f"key[{k}] = {value}" for k, value in enumerate(values)]
        found = "context_of(key, state[TRIES], held, table, stamps, seen, tally)"
        use = ["g = group_of(y, turn, seen, group, contexts, degree, tally)", then]
        usual = ["y = x", *use] if kept else [*key, f"y = {found}", *use]
        if c < self.last:
            out.all(usual)
            return
        out("if k == 0:")
        with out.block():
            out.all(key)
            out(f"if {' & '.join(self.tests.at(BuildStep.FINISH, c)) or 'True'}:")
            with out.block():
                out.all(["y = 0", *use])
        out("else:")
        with out.block():
            out.all(usual)

    def _write_node(self, out: Lines, c: int, root: str, low: str) -> None:
        out(f"component[nodes], place[nodes], roots[nodes] = {c}, j, {root}")
        out(f"entry[nodes - start] = {low} - begun")
        out(f"of[{c}, n{c}] = nodes - start")
        out(f"n{c} += 1")
        out("nodes += 1")

    def _finish(self, out: Lines) -> None:
        """Keep the nodes from which the last event's own node can be reached, if that one was made at all."""
        out(f"if nodes > start and component[nodes - 1] == {self.last} and place[nodes - 1] == e:")
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
