"""The step kernel of a query as Python text: NFA^b over the events that can matter, run by run (N2-N6).

For each event the states are taken from the last to the first, so that no run is advanced twice by one event. A run
that leaves a closure is copied (N4); the copy goes to the next state's segment or, complete, to the list of matches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.events.schema import Kind
from saffron.engine.match.automaton import Automaton, State
from saffron.engine.match.expressions import Writer
from saffron.engine.match.layout import (
    AT,
    BEGAN,
    DIED,
    DONE,
    FOUND,
    GROW_FLAGS,
    GROW_FOUND,
    GROW_NODES,
    GROW_POOL,
    LAST_ORDINAL,
    LAST_TIME,
    LEFT,
    LIVE,
    LIVED,
    MET,
    MOVED,
    NODE,
    NODE_TAIL,
    ROW_MASK,
    Names,
    RunReader,
    begin_bit,
    initial,
    lane_array,
    place,
    take_bit,
    updated,
)
from saffron.engine.match.lines import Lines
from saffron.language.plan import Edge, Strategy

ARRAYS = (
    ("rows", "int64[::1]"),
    ("slots", "int64[::1]"),
    ("masks", "int64[::1]"),
    ("ordinals", "int64[::1]"),
    ("now", "int64[::1]"),
    ("until", "int64[::1]"),
    ("counters", "int64[::1]"),
    ("constants", "int64[::1]"),
    ("ranks", "int64[::1]"),
    ("node_row", "uint32[::1]"),
    ("node_before", "uint32[::1]"),
    ("node_part", "uint8[::1]"),
    ("node_at", "int64[::1]"),
    ("touched", "int64[::1]"),
    ("reached", "int64[::1]"),
    ("flags", "uint8[::1]"),
    ("found", "int64[:, ::1]"),
)
"""Arguments of every step kernel after `at` and `stop`; then the columns it reads, then POOL for each state."""

POOL = (
    ("F", "float64[:, ::1]"),
    ("I", "int64[:, ::1]"),
    ("H", "uint32[::1]"),
    ("G", "int64[:, ::1]"),
    ("A", "int64[::1]"),
)
COLUMN_TYPES = {Kind.FLOAT: "float64", Kind.INT: "int64", Kind.BOOL: "int8", Kind.STRING: "int32"}


@dataclass
class StepSource:
    """Writes one step kernel. `text` is the module; `names` then says which columns and strings it uses."""

    automaton: Automaton
    names: Names
    out: Lines = field(default_factory=Lines)

    def __post_init__(self) -> None:
        self.plan = self.automaton.plan
        self.strategy = self.plan.strategy
        self.contiguous = self.strategy in (Strategy.STRICT, Strategy.PARTITION)
        self.states = self.automaton.states
        self.last = len(self.plan.components) - 1

    def text(self) -> str:
        """The module: imports, signature and the kernel."""
        body = Lines(depth=2)
        self.out = body
        for state in reversed(self.states):
            self._state(state)
        self._begin()
        if self.strategy is Strategy.STRICT:
            body("reached[slot] = ordinals[w]")
        body("w += 1")
        loop = Lines(depth=2)
        self.out = loop
        self._loop_head()
        head = Lines(depth=1)
        self.out = head
        self._prologue()
        arrays = [*ARRAYS, *self._columns(), *self._pools()]
        signature = ", ".join(["int64", "int64", *(kind for _, kind in arrays)])
        names = ", ".join(["at", "stop", *(name for name, _ in arrays)])
        tail = Lines(depth=1)
        self.out = tail
        self._epilogue()
        return (
            "import math\n\nimport numpy as np\nfrom numba import float64, int8, int32, int64, uint8, uint32\n\n\n"
            f"@kernel(int64({signature}))\ndef step({names}):\n{head}{loop}{body}{tail}"
        )

    # ---- around the states

    def _columns(self) -> list[tuple[str, str]]:
        return [(f"c{n}", f"{COLUMN_TYPES[kind]}[::1]") for n, kind in enumerate(self.names.attributes.values())]

    def _pools(self) -> list[tuple[str, str]]:
        return [(f"{letter}{state.index}", kind) for state in self.states for letter, kind in POOL]

    def _prologue(self) -> None:
        out = self.out
        out(f"row_mask, node, matches = counters[{ROW_MASK}], counters[{NODE}], counters[{FOUND}]")
        out(f"ordinal, time, lived = counters[{LAST_ORDINAL}], counters[{LAST_TIME}], counters[{LIVED}]")
        out("ring = len(node_row) - 1")
        out(f"status = {DONE}")
        for state in self.states:
            c = state.index
            out(f"live{c}, met{c} = counters[{place(c, LIVE)}], counters[{place(c, MET)}]")
            for letter, features in (("f", state.floats), ("i", state.ints)):
                for row in range(len(features)):
                    source = f"F{c}[{row}]" if letter == "f" else f"I{c}[{row} + FIRST_FEATURE]"
                    out(f"s{c}{letter}{row} = {source}")
        out("w = at")
        out("while w < stop:")

    def _loop_head(self) -> None:
        out = self.out
        out("slot, m, row = slots[w], masks[w], rows[w]")
        self._contiguity()
        out("r = row & row_mask")
        out("t = now[r]")
        for state in self.states:
            c = state.index
            out(f"n{c} = G{c}[slot, LENGTH]")
            out(f"if n{c} > 0:")
            call = (
                f"expire_ordered(I{c}, G{c}, slot, t)"
                if self._ordered(state)
                else (f"expire(F{c}, I{c}, H{c}, G{c}, slot, t)")
            )
            out(f"    left = {call}")
            out(f"    live{c} -= n{c} - left")
            out(f"    n{c} = left")
        self._room()
        live = " + ".join(f"live{state.index}" for state in self.states) or "0"
        out(f"lived += ({live}) * (t - time)")
        out("time = t")
        for state in self.states:
            out(f"met{state.index} += live{state.index} * (ordinals[w] - ordinal)")
        out("ordinal = ordinals[w]")
        out("touched[slot] = row")
        out("node_at[r] = node")
        out("row32 = np.uint32(row & 0xFFFFFFFF)")
        for number, (name, kind) in enumerate(self.names.attributes.items()):
            out(f"x{number} = c{number}[r]" if kind is Kind.FLOAT else f"x{number} = np.int64(c{number}[r])")
            if kind.is_number and self._aggregated(name):
                out(f"r{number} = {f'real(x{number})' if kind is Kind.INT else f'x{number}'}")
                out(f"k{number} = 1.0 if r{number} == r{number} else 0.0")
                out(f"z{number} = r{number} if r{number} == r{number} else 0.0")

    def _aggregated(self, name: str) -> bool:
        return any(feature.name == name for state in self.states for feature in state.features)

    def _ordered(self, state: State) -> bool:
        """Whether a segment stands in the order of its runs' starts: then those that expire are at its front."""
        return state.index == 0 and not (state.closure and self.strategy is Strategy.ANY)

    def _contiguity(self) -> None:
        """Runs die when an event of their key (strict: of the stream) is not theirs."""
        if not self.contiguous:
            return
        out = self.out
        gap = "reached[slot] != ordinals[w] - 1" if self.strategy is Strategy.STRICT else "m == 0"
        if self.states:
            out(f"if {gap}:")
        for state in self.states:
            c = state.index
            out(f"    live{c} -= G{c}[slot, LENGTH]")
            out(f"    counters[{place(c, DIED)}] += G{c}[slot, LENGTH]")
            out(f"    G{c}[slot, LENGTH] = 0")
            out(f"    G{c}[slot, BEGIN] = 0")
        out("if m == 0:")
        out("    w += 1")
        out("    continue")

    def _room(self) -> None:
        """Stop before the event if anything that it may need is too small: then the caller grows it and calls again."""
        out = self.out
        total = " + ".join(f"n{state.index}" for state in self.states) or "0"
        out(f"total = {total}")
        out(f"if node + 3 * total + 2 - counters[{NODE_TAIL}] > ring:")
        out(f"    status = {GROW_NODES}")
        out("    break")
        out("if matches + 2 * total + 2 > found.shape[1]:")
        out(f"    status = {GROW_FOUND}")
        out("    break")
        out("if total > len(flags):")
        out(f"    status = {GROW_FLAGS}")
        out("    break")
        for state in self.states:
            c = state.index
            more = "1" if c == 0 else f"n{c - 1}"
            condition = f"m & {begin_bit(c)}"
            if self.strategy is Strategy.ANY and state.closure:
                more += f" + n{c}"
                condition = f"m & {begin_bit(c) | take_bit(c)}"
            out(f"if {condition} and not reserve(F{c}, I{c}, H{c}, G{c}, A{c}, slot, {more}):")
            out(f"    status = {GROW_POOL + c}")
            out("    break")

    def _epilogue(self) -> None:
        out = self.out
        out(f"counters[{NODE}], counters[{FOUND}], counters[{AT}] = node, matches, w")
        out(f"counters[{LAST_ORDINAL}], counters[{LAST_TIME}], counters[{LIVED}] = ordinal, time, lived")
        for state in self.states:
            c = state.index
            out(f"counters[{place(c, LIVE)}], counters[{place(c, MET)}] = live{c}, met{c}")
        out("return status")

    # ---- one state

    def _state(self, state: State) -> None:
        out, c = self.out, state.index
        wanted = (begin_bit(c + 1) if c < self.last else 0) | (take_bit(c) if state.closure else 0)
        out(f"if n{c} > 0:" if self.contiguous else f"if n{c} > 0 and m & {wanted}:")
        with out.block():
            out(f"lo = np.uintp(G{c}[slot, BASE] + G{c}[slot, BEGIN])")
            out(f"hi = lo + np.uintp(n{c})")
            if self.contiguous:
                self._contiguous_state(state)
            elif not state.closure:
                self._single_state(state)
            elif self.strategy is Strategy.ANY:
                self._any_closure(state)
            else:
                if c < self.last:
                    self._forks(state)
                self._next_takes(state)

    def _single_state(self, state: State) -> None:
        """Skip-till: an event that begins the next component moves the run; under ANY it also stays."""
        out, c = self.out, state.index
        out("k = 0")
        out("for q in range(lo, hi):")
        out(f"    k += {self._leaving(state)}")
        out("if k > 0:")
        with out.block():
            out(f"counters[{place(c, MOVED)}] += k")
            if self.strategy is Strategy.ANY:
                out("for q in range(lo, hi):")
                out(f"    if {self._leaving(state)}:")
                with out.block(2):
                    self._fork(state)
                return
            out(f"counters[{place(c, LEFT)}] += k")
            out("z = lo")
            out("for q in range(lo, hi):")
            out(f"    if {self._leaving(state)}:")
            with out.block(2):
                self._fork(state)
            out("    else:")
            out(f"        move(F{c}, I{c}, H{c}, q, z)")
            out("        z += np.uintp(1)")
            out(f"G{c}[slot, LENGTH] = n{c} - k")
            out(f"live{c} -= k")

    def _forks(self, state: State) -> None:
        out, c = self.out, state.index
        out(f"if m & {begin_bit(c + 1)}:")
        with out.block():
            out("k = 0")
            out("for q in range(lo, hi):")
            out(f"    k += {self._leaving(state)}")
            out("if k > 0:")
            with out.block():
                out(f"counters[{place(c, MOVED)}] += k")
                out("for q in range(lo, hi):")
                out(f"    if {self._leaving(state)}:")
                with out.block(2):
                    self._fork(state)

    def _next_takes(self, state: State) -> None:
        """Skip-till-next: runs that may take the event take it in place, all lanes at once where they are many."""
        out, c = self.out, state.index
        out(f"if m & {take_bit(c)}:")
        with out.block():
            out("k = 0")
            out("for q in range(lo, hi):")
            out(f"    taken = {self._taking(state)}")
            out("    flags[q - lo] = taken")
            out("    k += taken")
            out(f"if 4 * k >= n{c}:")
            with out.block():
                self._dense_takes(state)
            out("elif k > 0:")
            with out.block():
                out("for q in range(lo, hi):")
                out("    if flags[q - lo]:")
                with out.block(2):
                    self._take(state, "q")
            if c == self.last:
                out("if k > 0:")
                out("    for q in range(lo, hi):")
                out(f"        if flags[q - lo] and {self._proceeding(state, 'q')}:")
                with out.block(3):
                    self._found(f"I{c}[START, q]", f"node_before[H{c}[q] & ring]")

    def _dense_takes(self, state: State) -> None:
        """A node for every run, also for those that do not take: no lane waits for another."""
        out, c = self.out, state.index
        out(f"if (node & ring) + n{c} > ring + 1:")
        out("    node = (node | ring) + 1")
        out("p = np.uintp(node & ring)")
        out("for q in range(lo, hi):")
        out(f"    node_before[p + (q - lo)] = H{c}[q]")
        out(f"for q in range(p, p + np.uintp(n{c})):")
        out("    node_row[q] = row32")
        out(f"for q in range(p, p + np.uintp(n{c})):")
        out(f"    node_part[q] = {c}")
        out("head = np.uintp(node)")
        out("for q in range(lo, hi):")
        out(f"    H{c}[q] = np.uint32((head + (q - lo)) & np.uintp(0xFFFFFFFF)) if flags[q - lo] else H{c}[q]")
        for array, value in self._updates(state, "q"):
            out("for q in range(lo, hi):")
            out(f"    {array}[q] = ({value}) if flags[q - lo] else {array}[q]")
        out(f"node += n{c}")

    def _any_closure(self, state: State) -> None:
        """Skip-till-any: the run stays whatever happens; what takes or leaves is a copy."""
        out, c = self.out, state.index
        out("for q in range(lo, hi):")
        with out.block():
            if c < self.last:
                out(f"if m & {begin_bit(c + 1)} and {self._leaving(state)}:")
                with out.block():
                    out(f"counters[{place(c, MOVED)}] += 1")
                    self._fork(state)
            out(f"if m & {take_bit(c)} and {self._taking(state)}:")
            with out.block():
                out(f"z = np.uintp(append(G{c}, slot, I{c}[DEADLINE, q]))")
                out(f"move(F{c}, I{c}, H{c}, q, z)")
                out(f"live{c} += 1")
                self._take(state, "z")
                if c == self.last:
                    out(f"if {self._proceeding(state, 'z')}:")
                    with out.block():
                        self._found(f"I{c}[START, q]", f"H{c}[q]")

    def _contiguous_state(self, state: State) -> None:
        """Contiguity: a run that the event does not extend dies."""
        out, c = self.out, state.index
        out("z = lo")
        out("for q in range(lo, hi):")
        with out.block():
            if c < self.last:
                out(f"if m & {begin_bit(c + 1)} and {self._leaving(state)}:")
                with out.block():
                    out(f"counters[{place(c, MOVED)}] += 1")
                    if not state.closure:
                        out(f"counters[{place(c, DIED)}] -= 1")
                        out(f"counters[{place(c, LEFT)}] += 1")
                    self._fork(state)
            if state.closure:
                out(f"if m & {take_bit(c)} and {self._taking(state)}:")
                with out.block():
                    self._take(state, "q")
                    if c == self.last:
                        out(f"if {self._proceeding(state, 'q')}:")
                        with out.block():
                            self._found(f"I{c}[START, q]", f"node_before[H{c}[q] & ring]")
                    out("if z != q:")
                    out(f"    move(F{c}, I{c}, H{c}, q, z)")
                    out("z += np.uintp(1)")
        out("k = np.int64(hi - z)")
        out(f"counters[{place(c, DIED)}] += k")
        out(f"live{c} -= k")
        out(f"G{c}[slot, LENGTH] = n{c} - k")
        out(f"if k == n{c}:")
        out(f"    G{c}[slot, BEGIN] = 0")

    # ---- what happens to a run

    def _node(self, before: str, component: int) -> None:
        out = self.out
        out("p = np.uintp(node & ring)")
        out(f"node_row[p], node_before[p], node_part[p] = row32, {before}, {component}")

    def _fork(self, state: State) -> None:
        """Run q of the state, as it stands, binds the event to the next component."""
        out, c = self.out, state.index
        if c + 1 == len(self.states):
            self._found(f"I{c}[START, q]", f"H{c}[q]")
            return
        into = self.states[c + 1]
        out(f"y = np.uintp(append(G{c + 1}, slot, I{c}[DEADLINE, q]))")
        out(f"I{c + 1}[DEADLINE, y], I{c + 1}[START, y] = I{c}[DEADLINE, q], I{c}[START, q]")
        carried = [feature for feature in into.features if feature.component <= c]
        for feature in carried:
            out(f"{lane_array(into, feature)}[y] = {lane_array(state, feature)}[q]")
        self._enter(into, f"H{c}[q]")
        if into.index == self.last:
            out(f"if {self._proceeding(into, 'y')}:")
            with out.block():
                self._found(f"I{c}[START, q]", f"H{c}[q]")

    def _enter(self, into: State, before: str) -> None:
        """Lane y of a state gets the event as the first of the state's own component."""
        out = self.out
        self._node(before, into.index)
        out(f"H{into.index}[y] = np.uint32(node & 0xFFFFFFFF)")
        out("node += 1")
        for feature in into.features:
            if feature.component == into.index:
                out(f"{lane_array(into, feature)}[y] = {initial(feature, self.names)}")
        out(f"live{into.index} += 1")

    def _take(self, state: State, lane: str) -> None:
        out, c = self.out, state.index
        self._node(f"H{c}[{lane}]", c)
        out(f"H{c}[{lane}] = np.uint32(node & 0xFFFFFFFF)")
        out("node += 1")
        for array, value in self._updates(state, lane):
            out(f"{array}[{lane}] = {value}")

    def _begin(self) -> None:
        out = self.out
        out(f"if m & {begin_bit(0)}:")
        with out.block():
            out(f"counters[{BEGAN}] += 1")
            if not self.states:
                self._found("row", "-1")
                return
            state = self.states[0]
            out("y = np.uintp(append(G0, slot, until[r]))")
            out("I0[DEADLINE, y], I0[START, y] = until[r], row")
            self._enter(state, "np.uint32(node & 0xFFFFFFFF)")
            if self.last == 0:
                out(f"if {self._proceeding(state, 'y')}:")
                with out.block():
                    self._found("row", "-1")

    def _found(self, start: str, chain: str) -> None:
        self.out(f"found[0, matches], found[1, matches], found[2, matches] = {start}, {chain}, row")
        self.out("matches += 1")

    # ---- conditions and updates

    def _conditions(self, component: int, edge: Edge, read: RunReader) -> str:
        writer = Writer(read, self.names.string)
        texts = []
        for condition in self.automaton.conditions(component, edge):
            if self.automaton.is_local(condition):
                continue
            text = writer.condition(condition.expr)
            guard = self.automaton.look_back(condition)
            if guard > 1:
                text = f"(({read.text(self.automaton.length(component))} < {guard}) | {text})"
            texts.append(text)
        return f"({' & '.join(texts)})" if texts else "True"

    def _leaving(self, state: State) -> str:
        """Run q may bind the event to the next component, as far as its mask does not say already."""
        c = state.index
        begins = self._conditions(c + 1, Edge.BEGIN, RunReader(self.automaton, self.names, state, c + 1, "q"))
        if not state.closure:
            return begins
        proceeds = self._proceeding(state, "q")
        return begins if proceeds == "True" else f"({proceeds} & {begins})"

    def _taking(self, state: State) -> str:
        return self._conditions(state.index, Edge.TAKE, RunReader(self.automaton, self.names, state, state.index, "q"))

    def _proceeding(self, state: State, lane: str) -> str:
        return self._conditions(state.index, Edge.PROCEED, RunReader(self.automaton, self.names, state, -1, lane))

    def _updates(self, state: State, lane: str) -> list[tuple[str, str]]:
        read = RunReader(self.automaton, self.names, state, state.index, lane)
        own = sorted((f for f in state.features if f.component == state.index), key=lambda f: (f.what.value, -f.back))
        pairs = [(lane_array(state, feature), updated(feature, self.names, read)) for feature in own]
        return [(array, value) for array, value in pairs if value is not None]
