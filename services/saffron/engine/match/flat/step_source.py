"""The step kernel of a query as Python text: NFA^b over the events that can matter, run by run (N2-N6).

For each event the states are taken from the last to the first, so that no run is advanced twice by one event. A run
that leaves a closure is copied (N4); the copy goes to the next state's segment or, complete, to the list of matches.
"""

from __future__ import annotations

from collections.abc import Sequence

from saffron.engine.kernels.kernel_source import constants_text, kernel_head
from saffron.engine.match.core import kernel_layout, merged
from saffron.engine.match.core.automaton import Feature, State
from saffron.engine.match.core.kernel_layout import Names, null_text, numbered
from saffron.engine.match.core.source.lines import Lines
from saffron.engine.match.core.step_text import CONTIGUOUS, StepText
from saffron.engine.match.flat.given_events import Events
from saffron.engine.match.flat.states import States
from saffron.language.plan.pattern import Strategy
from saffron.schema.schema import Kind

POOL = (
    ("F", "float64[:, ::1]"),
    ("I", "int64[:, ::1]"),
    ("H", "uint32[::1]"),
    ("G", "int64[:, ::1]"),
    ("A", "int64[::1]"),
)


def event_values(out: Lines, names: Names, features: Sequence[Feature]) -> None:
    """Write the code that reads the event's attributes, those of `names`, into variables x0, x1, ...

    Those of `features` also get k: 1.0, or 0.0 for null. Numbers of them get r (as float64) and z (r, or 0.0 for null).
    """
    aggregated = {feature.name for feature in features}
    out("row32 = np.uint32(row & 0xFFFFFFFF)")
    for number, (name, kind) in enumerate(names.attributes.items()):
        out(f"x{number} = c{number}[r]" if kind is Kind.FLOAT else f"x{number} = np.int64(c{number}[r])")
        if name not in aggregated:
            continue
        if not kind.is_number:
            out(f"k{number} = 1.0 if x{number} != {null_text(kind)} else 0.0")
            continue
        out(f"r{number} = {f'real(x{number})' if kind.is_whole else f'x{number}'}")
        out(f"k{number} = 1.0 if r{number} == r{number} else 0.0")
        out(f"z{number} = r{number} if r{number} == r{number} else 0.0")


class StepSource:
    """Writes one step kernel. `module` is its text; `text.names` then says which columns and strings it uses."""

    def __init__(self, text: StepText, events: Events) -> None:
        self.text = text
        self._events = events
        self._states = States(text)
        self._merging = self._states.actions.merging
        self._namespaces = (vars(kernel_layout), vars(merged), events.constants)

    def module(self) -> str:
        """The module: imports, signature and the kernel."""
        body = Lines(depth=2)
        self.text.out = body
        for state in reversed(self.text.states):
            body(f"# ---- runs of pool {state.index}")
            self._states.state(state)
        body("# ---- the event begins a run")
        self._states.actions.begin()
        if self.text.strategy is Strategy.STRICT:
            body("reached[slot] = ordinals[w]")
        self._events.done()
        loop = Lines(depth=2)
        self.text.out = loop
        self._loop_head()
        head = Lines(depth=1)
        self.text.out = head
        self._events.prologue()
        self._prologue()
        arrays = [*self._events.arrays, *self._columns(), *self._pools()]
        tail = Lines(depth=1)
        self.text.out = tail
        self._events.epilogue()
        self._epilogue()
        kernel = f"{head}{loop}{body}{tail}"
        numbers = numbered(self._pool_names(), len(self.text.plan.components))
        return (
            "import math\n\nimport numpy as np\nfrom numba import float64, int8, int32, int64, uint8, uint32"
            f"{self._events.head}\n\n\n"
            f"{constants_text(kernel, *self._namespaces, numbers)}\n\n"
            f"{kernel_head('step', (('at', 'int64'), ('stop', 'int64'), *arrays))}{kernel}"
        )

    # ---- around the states

    def _columns(self) -> list[tuple[str, str]]:
        return [(f"c{n}", self._events.column(kind)) for n, kind in enumerate(self.text.names.attributes.values())]

    def _pools(self) -> list[tuple[str, str]]:
        return [(f"{letter}{pool}", kind) for pool in self._pool_names() for letter, kind in POOL]

    def _pool_names(self) -> list[str]:
        """The pools of the states, then that of followers."""
        return [f"{state.index}" for state in self.text.states] + ["m"] * (self.text.merged is not None)

    def _prologue(self) -> None:
        """Write the code before the first event: counters and features as variables, and the head of the loop."""
        out = self.text.out
        out("row_mask, node, matches = counters[ROW_MASK], counters[NODE], counters[FOUND]")
        out("ordinal, time, lived = counters[LAST_ORDINAL], counters[LAST_TIME], counters[LIVED]")
        out("longest = counters[LONGEST_LIFE]")
        out("ring = len(node_row) - 1")
        out("status = DONE")
        for state in self.text.states:
            c = state.index
            out(f"live{c}, met{c} = counters[LIVE_{c}], counters[MET_{c}]")
            for letter, features in (("f", state.floats), ("i", state.ints)):
                for row in range(len(features)):
                    source = f"F{c}[{row}]" if letter == "f" else f"I{c}[{row} + FIRST_FEATURE]"
                    out(f"s{c}{letter}{row} = {source}")
            if self.text.listed(state):
                out(f"d{c} = I{c}[DEADLINE]")
        if self.text.merged is not None:
            out("livem = counters[LIVE_m]")
        out("w = at")
        out("while w < stop:")

    def _loop_head(self) -> None:
        """Write the first part of the loop: read an event, expire and merge runs of its key, and check the room.

        It also counts the time that runs live and the events that they meet.
        """
        out = self.text.out
        out("# ---- the event, and the runs of its key whose window is over")
        self._events.event(self._contiguity)
        for state in self.text.states:
            c = state.index
            out(f"n{c} = G{c}[slot, LENGTH]")
            self._expire(f"{c}", state)
        if self.text.merged is not None:
            out("nm = 0")
            out("if livem > 0:")
            with out.block():
                out("nm = Gm[slot, LENGTH]")
                self._expire("m", self.text.merged)
        out("# ---- the event's values, and room for what it may do")
        event_values(
            self.text.out, self.text.names, [feature for state in self.text.states for feature in state.features]
        )
        self._merge()
        self._room()
        live = {
            c: f"live{c} + livem" if self.text.merges(state) else f"live{c}" for c, state in enumerate(self.text.states)
        }
        # Runs whose windows end in a gap live on in their keys' segments: they lived half a window of it, on average.
        out(f"lived += ({' + '.join(live.values()) or '0'}) * min(t - time, longest)")
        out("time = t")
        for c, alive in live.items():
            out(f"met{c} += ({alive}) * (ordinals[w] - ordinal)")
        out("ordinal = ordinals[w]")
        self._events.kept()

    def _merge(self) -> None:
        """Write the code that merges equal runs, and gives the merged runs their chains where they may end."""
        if self.text.merged is not None:
            self._merging.compare(ordered=self.text.ordered(self.text.merged))
            leaving = self._states.actions.leaving(self.text.merged)
            assert leaving is not None  # only eight lanes cannot evaluate a condition
            self._merging.draw(leaving)

    def _expire(self, c: str, state: State) -> None:
        """Drop the runs of a pool, that of a state or of its followers, whose window is over."""
        out = self.text.out
        if self.text.ordered(state):
            self._expire_front(c)
            return
        out(f"if n{c} > 0 and G{c}[slot, OLDEST] < t:")
        if self.text.listed(state):
            out(f"    live{c} -= mark_expired(F{c}, I{c}, H{c}, G{c}, slot, t)")
            out(f"    n{c} = G{c}[slot, LENGTH]")
            return
        out(f"    left = expire(F{c}, I{c}, H{c}, G{c}, slot, t)")
        out(f"    live{c} -= n{c} - left")
        out(f"    n{c} = left")

    def _expire_front(self, c: str) -> None:
        """Drop the runs whose window is over from the front of a segment that is in the order of starts.

        Written out, as it happens at every event: a call would move dozens of arguments.
        """
        out = self.text.out
        out(f"front = G{c}[slot, BASE] + G{c}[slot, BEGIN]")
        out(f"if n{c} > 0 and I{c}[DEADLINE, front] < t:")
        with out.block():
            out("k = 1")
            out(f"while k < n{c} and I{c}[DEADLINE, front + k] < t:")
            out("    k += 1")
            out(f"n{c} -= k")
            out(f"live{c} -= k")
            out(f"G{c}[slot, LENGTH] = n{c}")
            out(f"G{c}[slot, BEGIN] = 0 if n{c} == 0 else G{c}[slot, BEGIN] + k")

    def _contiguity(self) -> None:
        """Write the code that ends all runs of the event's key, before it is taken, under the contiguous strategies.

        Strict contiguity: the last event of the key is not the one just before in the stream. Partition contiguity: no
        component can take the event. An event that none can take is then passed over.
        """
        if self.text.strategy not in CONTIGUOUS:
            return
        out = self.text.out
        gap = "reached[slot] != ordinals[w] - 1" if self.text.strategy is Strategy.STRICT else "m == 0"
        if self.text.states:
            out(f"if {gap}:")
        for state in self.text.states:
            c = state.index
            out(f"    live{c} -= G{c}[slot, LENGTH]")
            out(f"    counters[DIED_{c}] += G{c}[slot, LENGTH]")
            out(f"    G{c}[slot, LENGTH] = 0")
            out(f"    G{c}[slot, BEGIN] = 0")
            self._merging.forget_all(state)
        out("if m == 0:")
        out("    w += 1")
        out("    continue")

    def _room(self) -> None:
        """Stop before the event if anything that it may need is too small: then the caller grows it and calls again."""
        out = self.text.out
        counts = [f"n{state.index}" for state in self.text.states] + ["nm"] * (self.text.merged is not None)
        total = " + ".join(counts) or "0"
        out(f"total = {total}")
        out(f"if node + 4 * total + {64 * (len(self.text.states) + 1)} - counters[NODE_TAIL] > ring:")
        out("    status = GROW_NODES")
        out("    break")
        out("if matches + 2 * total + 2 > found.shape[1]:")
        out("    status = GROW_FOUND")
        out("    break")
        for state in self.text.states:
            c = state.index
            more = "1" if c == 0 else f"n{c - 1}"
            if c > 0 and self.text.merges(self.text.states[c - 1]):
                more += " + nm"
            condition = f"m & BEGIN_{c}"
            if self.text.strategy is Strategy.ANY and state.closure:
                more += f" + n{c}"
                condition = f"m & (BEGIN_{c} | TAKE_{c})"
            if self.text.listed(state):
                more += f" + spare_lanes(n{c})"
            full = f"G{c}[slot, BEGIN] + n{c} + {more} > G{c}[slot, CAPACITY]"
            out(f"if {condition} and {full} and not reserve(F{c}, I{c}, H{c}, G{c}, A{c}, slot, {more}):")
            out(f"    status = GROW_POOL + {c}")
            out("    break")

    def _epilogue(self) -> None:
        """Write the code behind the last event: the counters are written back, and the status is returned."""
        out = self.text.out
        out("counters[NODE], counters[FOUND], counters[AT] = node, matches, w")
        out("counters[LAST_ORDINAL], counters[LAST_TIME], counters[LIVED] = ordinal, time, lived")
        for state in self.text.states:
            c = state.index
            out(f"counters[LIVE_{c}], counters[MET_{c}] = live{c}, met{c}")
        if self.text.merged is not None:
            out("counters[LIVE_m] = livem")
        out("return status")
