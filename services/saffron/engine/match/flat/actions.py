"""Writer of the code for a run in a step kernel: it takes an event, begins the next component, is complete."""

from __future__ import annotations

from saffron.engine.match.core.automaton import Feature, State, What
from saffron.engine.match.core.kernel_layout import (
    RunReader,
    initial,
    lane_array,
    updated,
)
from saffron.engine.match.core.source.expressions import Writer
from saffron.engine.match.core.step_text import StepText
from saffron.engine.match.merging.text import MergingText
from saffron.language.plan.pattern import Edge


class Actions:
    """Writes to `text`. A run is named by the state and the variable that holds its lane."""

    def __init__(self, text: StepText) -> None:
        self.text = text
        self.merging = MergingText(text)

    def append(self, lane: str, state: State, deadline: str) -> None:
        """Write the code that appends an empty lane to a state's runs of the key."""
        out, c = self.text.out, state.index
        out(f"{lane} = np.uintp(append(G{c}, slot, {deadline}))")
        if self.text.listed(state):
            out(f"if G{c}[slot, DUE] > 0:")
            out(f"    remember(I{c}, G{c}, slot, {deadline})")

    def node(self, before: str, component: int) -> None:
        """Write the code that makes a node for the event at hand; `node` is its number until it is counted on."""
        self.text.out("p = np.uintp(node & ring)")
        self.text.out(f"node_row[p], node_before[p], node_part[p] = row32, {before}, {component}")

    def take(self, state: State, lane: str) -> None:
        """Write the code by which the run's closure takes the event."""
        c = state.index
        self.node(f"H{c}[{lane}]", c)
        self.text.out(f"H{c}[{lane}] = np.uint32(node & 0xFFFFFFFF)")
        self.text.out("node += 1")
        self.update(state, lane)

    def fork(self, state: State) -> None:
        """Write the code by which run q and the merged runs that it leads bind the event to the next component."""
        out, c = self.text.out, state.index

        def bind(start: str, deadline: str, chain: str) -> None:
            """Write the code for one run. `start`, `deadline`, `chain`: code for its first row, deadline and last node.

            The run is a match if the next component is the last and a single event. Else a copy enters the next state.
            """
            out(f"counters[MOVED_{c}] += 1")
            if c + 1 == len(self.text.states):
                self.merging.whole(state)
                self.found(start, chain)
                return
            into = self.text.states[c + 1]
            self.append("y", into, deadline)
            out(f"I{c + 1}[DEADLINE, y], I{c + 1}[START, y] = {deadline}, {start}")
            for feature in into.features:
                if feature.component <= c:
                    out(f"{lane_array(into, feature)}[y] = {lane_array(state, feature)}[q]")
            self._enter(into, chain)
            if into.index == self.text.last:
                out(f"if {self.proceeding(into, 'y')}:")
                with out.block():
                    self.found(start, chain)

        self.merging.for_each(state, bind)

    def begin(self) -> None:
        """Write the code by which the event begins a run."""
        out = self.text.out
        out("if m & BEGIN_0:")
        with out.block():
            out("counters[BEGAN] += 1")
            if not self.text.states:
                self.found("row", "-1")
                return
            self.append("y", self.text.states[0], "until[r]")
            out("I0[DEADLINE, y], I0[START, y] = until[r], row")
            self._enter(self.text.states[0], "np.uint32(node & 0xFFFFFFFF)")
            if self.text.last == 0:
                out(f"if {self.proceeding(self.text.states[0], 'y')}:")
                with out.block():
                    self.found("row", "-1")

    def _enter(self, into: State, before: str) -> None:
        """Lane y of a state gets the event as the first of the state's own component."""
        self.node(before, into.index)
        self.merging.alone(into, "y")
        self.text.out(f"H{into.index}[y] = np.uint32(node & 0xFFFFFFFF)")
        self.text.out("node += 1")
        for feature in into.features:
            if feature.component == into.index:
                self.text.out(f"{lane_array(into, feature)}[y] = {initial(feature, self.text.names)}")
        self.text.out(f"live{into.index} += 1")

    def found(self, start: str, chain: str) -> None:
        """Write the code that records a match that ends with the event at hand."""
        self.text.out(
            f"found[FIRST_ROW, matches], found[CHAIN, matches], found[LAST_ROW, matches] = {start}, {chain}, row"
        )
        self.text.out("matches += 1")

    # ---- conditions, as far as an event's mask does not say already

    def leaving(self, state: State, lane: str = "q", *, wide: bool = False) -> str | None:
        """The test whether the run may bind the event to the next component; None if eight lanes cannot do it."""
        c = state.index
        begins = self._conditions(c + 1, Edge.BEGIN, self._reader(state, c + 1, lane, wide))
        if not state.closure or begins is None:
            return begins
        proceeds = self._conditions(c, Edge.PROCEED, self._reader(state, -1, lane, wide))
        return None if proceeds is None else _both(proceeds, begins)

    def taking(self, state: State, lane: str = "q", *, wide: bool = False) -> str | None:
        """The test whether the run's closure may take the event; None if eight lanes cannot do it."""
        return self._conditions(state.index, Edge.TAKE, self._reader(state, state.index, lane, wide))

    def proceeding(self, state: State, lane: str) -> str:
        """The test whether the run may leave its closure."""
        test = self._conditions(state.index, Edge.PROCEED, self._reader(state, -1, lane, False))
        assert test is not None  # only eight lanes cannot evaluate a condition
        return test

    def update(self, state: State, lane: str) -> None:
        """Features that change when run `lane` takes the event."""
        read = self._reader(state, state.index, lane, False)
        for feature in _changing(state):
            self.text.out(f"{lane_array(state, feature)}[{lane}] = {updated(feature, self.text.names, read)}")

    def update_eight(self, state: State) -> None:
        """Write the update of those of the eight runs from lane b on that are in the mask `taken`.

        What is written is kept in variables: memory just written through a mask is slow to read.
        """
        read = self._reader(state, state.index, "b", True)
        for number, feature in enumerate(_changing(state)):
            old, new = read.text(feature), updated(feature, self.text.names, read)
            self.text.out(f"u{number} = choose(taken, {new}, {old})")
            self.text.out(f"put({lane_array(state, feature)}, b, u{number})")
            read.fresh[feature] = f"u{number}"

    def _reader(self, state: State, current: int, lane: str, wide: bool) -> RunReader:
        return RunReader(self.text.automaton, self.text.names, state, current, lane, wide)

    def _conditions(self, component: int, edge: Edge, read: RunReader) -> str | None:
        """The test of an edge's conditions that an event's mask does not decide; "True" if there are none.

        None if eight lanes cannot evaluate one. A condition that looks back holds if the closure is too short for it.
        """
        writer = Writer(read, self.text.names.constant)
        text = "True"
        for condition in self.text.automaton.conditions(component, edge):
            if self.text.automaton.is_local(condition):
                continue
            test = writer.condition(condition.expr)
            guard = self.text.automaton.look_back(condition)
            if guard > 1:
                test = f"(({read.text(self.text.automaton.length(component))} < {guard}) | {test})"
            text = _both(text, test)
        return None if writer.narrow else text


def _changing(state: State) -> list[Feature]:
    """Features of the state's own component that an event taken may change, in the order of updates."""
    own = (f for f in state.features if f.component == state.index and f.what is not What.FIRST)
    return sorted(own, key=lambda f: (f.what.value, -f.back))


def _both(left: str, right: str) -> str:
    if left == "True":
        return right
    return left if right == "True" else f"({left} & {right})"
