"""The step kernel of a general automaton as Python text: every run walks the table, one event after another (N2-N6).

What differs from plan to plan is data where it can be (states, edges: arrays) and text where it must be: conditions by
kind of edge and of ending, updates by component. An event that may begin a match is asked like any other, of a run that
has nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.events.schema import Kind
from saffron.engine.match.general.absent import AbsentSource
from saffron.engine.match.general.automaton import (
    BOUND,
    FRESH,
    LEADING,
    LED,
    MOMENT,
    ORDINAL,
    PENDING,
    REFUSED,
    REPORTED,
    STATE,
    mark,
    since,
    without_left,
)
from saffron.engine.match.general.checks import Asked, due, due_at_end
from saffron.engine.match.general.closing import closing
from saffron.engine.match.general.readers import LaneReader, condition
from saffron.engine.match.general.table import (
    BIT,
    CLEARS,
    COMPONENT,
    ENDING,
    FIRED,
    FIRST,
    FIRST_TARGET,
    HELD,
    HOLDS,
    KIND,
    MARKS,
    PASSED,
    RESETS,
    SKIPS,
    START_STATE,
    STOP,
    STOP_TARGET,
    STRICT,
    WANTS,
    Ending,
)
from saffron.engine.match.general.table import Kind as EdgeKind
from saffron.engine.match.general.updates import neutral, write_updates
from saffron.engine.match.layout import (
    ALL_WINDOWS,
    AT,
    AT_ONCE,
    BEGAN,
    CHAIN,
    DEADLINE_OF,
    DONE,
    FIRST_ROW,
    FOUND,
    GROW_FOUND,
    GROW_NODES,
    GROW_POOL,
    LAST_ROW,
    LEAD,
    LIVE,
    LOW,
    NODE,
    NODE_TAIL,
    PART,
    ROW_MASK,
    ROW_TAIL,
    SERIAL,
    UNCOUNTED,
    lane_array,
    null_text,
    place,
)
from saffron.engine.match.lines import Lines
from saffron.engine.match.source import ARRAYS, COLUMN_TYPES, POOL
from saffron.language.plan import Strategy

TABLES = (
    ("states", "int64[:, ::1]"),
    ("edges", "int64[:, ::1]"),
    ("targets", "int64[::1]"),
    ("row_mask_of", "int64[::1]"),
    ("row_before", "int64[::1]"),
    ("row_seq", "int64[::1]"),
    ("openers", "int64[:, ::1]"),
)
"""Arguments after the pool: the automaton's table; of the stored rows the masks, the links to the row before by key and
the positions; and the windows that OPEN ON opened."""


class GeneralSource(AbsentSource):
    """Writes one step kernel. `text` is the module; `names` then says which columns and strings it uses."""

    def text(self) -> str:
        """The module: imports, signature and the kernel."""
        body = self._written(2, self._body)
        head = self._written(2, self._head)
        prologue = self._written(1, self._prologue)
        epilogue = self._written(1, self._epilogue)
        columns = [(f"c{n}", f"{COLUMN_TYPES[kind]}[::1]") for n, kind in enumerate(self.names.attributes.values())]
        pool = [(f"{letter}0", kind) for letter, kind in POOL]
        arrays = [*ARRAYS, *columns, *pool, *TABLES]
        signature = ", ".join(["int64", "int64", *(kind for _, kind in arrays)])
        names = ", ".join(["at", "stop", *(name for name, _ in arrays)])
        return (
            "import math\n\nimport numpy as np\nfrom numba import float64, int8, int32, int64, uint8, uint32\n\n\n"
            f"@kernel(int64({signature}))\ndef step({names}):\n{prologue}{head}{body}{epilogue}"
        )

    def _written(self, depth: int, write: Callable[[], None]) -> Lines:
        self.out = Lines(depth=depth)
        write()
        return self.out

    # ---- around the runs

    def _prologue(self) -> None:
        out = self.out
        out(f"row_mask, node, matches = counters[{ROW_MASK}], counters[{NODE}], counters[{FOUND}]")
        out("ring = len(node_row) - 1")
        if self.automaton.leading:
            out(f"row_tail = counters[{ROW_TAIL}]")
        out(f"status = {DONE}")
        out(f"live = counters[{place(0, LIVE)}]")
        for letter, features in (("f", self.state.floats), ("i", self.state.ints)):
            for row in range(len(features)):
                out(f"s0{letter}{row} = " + (f"F0[{row}]" if letter == "f" else f"I0[{row} + FIRST_FEATURE]"))
        out("w = at")
        out("while w < stop:")

    def _head(self) -> None:
        """Room for all that the event may need, and the event's own values."""
        out, table = self.out, self.automaton.table
        out("slot, m, row = slots[w], masks[w], rows[w]")
        out("n = G0[slot, LENGTH]")
        if self.partitions and not self.automaton.plan.timeouts:
            out("if m == 0 and n == 0:")
            out("    w += 1")
            out("    continue")
        if self.automaton.uncounted:
            out(f"uncounted = m & {UNCOUNTED} != 0")
        out("r = row & row_mask if row >= 0 else 0")
        out("t = now[r] if row >= 0 else 0")
        out(f"if node + (n + 1) * {table.fan} + 64 - counters[{NODE_TAIL}] > ring:")
        out(f"    status = {GROW_NODES}")
        out("    break")
        reported = f"n * {self._windows}" if self.automaton.plan.timeouts else "n"
        out(f"if matches + {reported} + (n + 1) * {table.fan} + 1 > found.shape[1]:")
        out(f"    status = {GROW_FOUND}")
        out("    break")
        waiting = f" + (n + 1) * {self._windows}" if self.automaton.trailing else ""
        out(f"more = (n + 1) * {table.fan} + 2{waiting}")
        out("if G0[slot, BEGIN] + n + more > G0[slot, CAPACITY] and not reserve(F0, I0, H0, G0, A0, slot, more):")
        out(f"    status = {GROW_POOL}")
        out("    break")
        out("if row >= 0 and n > 0 and G0[slot, OLDEST] < t:")
        with out.block():
            if self.automaton.plan.timeouts:
                self._close_all()
            elif self.automaton.trailing:
                out(f"matches = close(F0, I0, H0, G0, slot, t, {len(table.states)}, found, matches)")
            if self.automaton.plan.timeouts or self.automaton.trailing:
                out("left = G0[slot, LENGTH]")
            else:
                out("left = expire(F0, I0, H0, G0, slot, t)")
            out("live -= n - left")
            out("n = left")
        out("if row >= 0:")
        if self.automaton.plan.absences:
            out("    row_mask_of[r] = m")
            out("    row_before[r] = touched[slot]")
        out("    touched[slot] = row")
        out("    node_at[r] = node")
        out("row32 = np.uint32(row & 0xFFFFFFFF)")
        for number, (name, kind) in enumerate(self.names.attributes.items()):
            out(f"x{number} = c{number}[r]" if kind is Kind.FLOAT else f"x{number} = np.int64(c{number}[r])")
            if kind.is_number and self._aggregated(name):
                out(f"r{number} = {f'real(x{number})' if kind is Kind.INT else f'x{number}'}")
                out(f"k{number} = 1.0 if r{number} == r{number} else 0.0")
                out(f"z{number} = r{number} if r{number} == r{number} else 0.0")

    def _close_all(self) -> None:
        """WITH TIMEOUTS: all windows that have closed since the key's last event."""
        kind, size, slide, lowest, ordinal, reported = closing(self.automaton)
        out = self.out
        out(f"matches = close_all(F0, I0, H0, G0, slot, t, {len(self.automaton.table.states)}, found, matches,")
        out("    (node_row, node_before, node_part), (now, row_seq, row_mask), openers,")
        out(f"    ({kind}, {size}, {slide}, {lowest}), {ordinal}, {reported})")

    def _aggregated(self, name: str) -> bool:
        return any(feature.name == name for feature in self.state.features)

    def _epilogue(self) -> None:
        out = self.out
        out(f"counters[{NODE}], counters[{FOUND}], counters[{AT}] = node, matches, w")
        out(f"counters[{place(0, LIVE)}] = live")
        out("return status")

    # ---- the runs of the event's key

    def _body(self) -> None:
        out = self.out
        out("lo = G0[slot, BASE] + G0[slot, BEGIN]")
        out("hi = lo + n")
        self._start()
        out("z = lo")
        out("q = lo")
        out("while q < hi:")
        with out.block():
            out(f"s = {self._carried(STATE)}")
            self._waiting()
            out("hold, stays, fired = False, False, 0")
            out(f"if states[s, {WANTS}] & m:")
            with out.block():
                self._edges()
            out("if not stays:")
            out(f"    s = {self._left()}")
            out(f"    {self._carried(STATE)} = s")
            out("    stays = s >= 0")
            out("if stays:")
            out("    if z != q:")
            out("        move(F0, I0, H0, q, z)")
            out("    z += 1")
            out("q += 1")
        out("length = G0[slot, LENGTH]")
        out("if z < hi:")
        out("    slide(F0, I0, H0, hi, z, lo + length - hi)")
        out("    length -= hi - z")
        out("    G0[slot, LENGTH] = length")
        out("live += length - n")
        out("w += 1")

    def _left(self) -> str:
        """The state in which the event leaves the run that was asked."""
        counted = f"states[s, {HELD}] if hold else states[s, {PASSED}]"
        if not self.automaton.uncounted:
            return counted
        return f"targets[states[s, {SKIPS}] + 2 * fired + (1 if hold else 0)] if uncounted else ({counted})"

    @property
    def _windows(self) -> str:
        """The most windows in which one match can wait for the end."""
        window = self.automaton.plan.window
        if window.opens is not None:
            return "openers.shape[1]"
        return "1" if window.slide is None else str(window.size // window.slide + 1)

    def _waiting(self) -> None:
        """A match that waits for its window's end stays, unless the event is what must not follow it."""
        if not self.automaton.trailing:
            return
        out = self.out
        out(f"if s >= {len(self.automaton.table.states)}:")
        with out.block():
            out("ok = True")
            self._forbidden()
            out("if ok:")
            out("    if z != q:")
            out("        move(F0, I0, H0, q, z)")
            out("    z += 1")
            out("q += 1")
            out("continue")

    def _start(self) -> None:
        """A run that has nothing yet, for an event that may begin a match."""
        out, begins = self.out, self.begins
        out(f"if m & {begins}:")
        with out.block():
            # WITH TIMEOUTS the end of an earlier window than the last one may come first.
            every_window = self.automaton.plan.timeouts and not self._alone
            out(f"y = append(G0, slot, {'t' if every_window else 'until[r]'})")
            out("hi += 1")
            out("I0[DEADLINE, y], I0[START, y] = until[r], row")
            for feature in self.state.features:
                value = {STATE: str(START_STATE), REPORTED: "t"}.get(feature) or neutral(feature)
                out(f"{lane_array(self.state, feature)}[y] = {value}")
            out(f"counters[{BEGAN}] += 1")

    @property
    def begins(self) -> int:
        """The components that may begin a match, as bits."""
        return int(self.automaton.table.states[START_STATE, WANTS])

    @property
    def partitions(self) -> bool:
        """Whether every event of a key counts, wanted or not."""
        return Strategy.PARTITION in (*self.automaton.plan.begins, *self.automaton.plan.continues)

    def _edges(self) -> None:
        """What run q becomes by each of its edges.

        An edge after which the run does not stay, and that leads to one state, makes no copy: the run itself goes on
        by it, when it has been asked for all others.
        """
        out = self.out
        out("own = -1")
        out(f"i, stop_edge = states[s, {FIRST}], states[s, {STOP}]")
        out("while i <= stop_edge:")
        with out.block():
            out("e = i")
            out("i += 1")
            out("if e == stop_edge:")
            out("    if own < 0:")
            out("        break")
            out("    e, y, stays = own, q, True")
            out(f"    kind = edges[e, {KIND}]")
            out("else:")
            with out.block():
                self._edge()
                if not self.automaton.plan.timeouts:  # there a copy remembers what it was refused
                    out(f"alone = edges[e, {STOP_TARGET}] - edges[e, {FIRST_TARGET}] == 1")
                    counts = " and not uncounted" if self.automaton.uncounted else ""
                    out(f"if own < 0 and alone{counts} and edges[e, {HOLDS}] and states[s, {HELD}] < 0:")
                    out("    own = e")
                    out("    continue")
                out("y = append(G0, slot, I0[DEADLINE, q])")
                out("move(F0, I0, H0, q, y)")
            self._take()

    def _edge(self) -> None:
        """Whether run q takes the event by edge e."""
        out = self.out
        out(f"if m & edges[e, {BIT}] == 0:")
        out("    continue")
        if self.strict_contiguity:
            out(f"if edges[e, {STRICT}] and s != {START_STATE} and {self._carried(ORDINAL)} != ordinals[w] - 1:")
            out("    continue")
        if self.automaton.plan.strict:
            moment = self.names.attribute("ts", Kind.INT)
            out(f"if s != {START_STATE} and {self._carried(MOMENT)} >= x{moment}:")
            out("    continue")
        out(f"kind = edges[e, {KIND}]")
        out("ok = True")
        for number, kind in enumerate(self.automaton.table.kinds):
            if tests := self._tests(kind):
                out(f"if kind == {number}:")
                out(f"    ok = {' and '.join(tests)}")
        self._distinct()
        out("if not ok:")
        out("    continue")
        out(f"hold |= edges[e, {HOLDS}] != 0")
        if self.automaton.uncounted:
            out(f"fired |= edges[e, {FIRED}]")
        self._gaps()

    @property
    def strict_contiguity(self) -> bool:
        return Strategy.STRICT in (*self.automaton.plan.begins, *self.automaton.plan.continues)

    def _tests(self, kind: EdgeKind) -> list[str]:
        asked = due(self.automaton.checks, kind.component, kind.over, kind.newly)
        read = LaneReader(self.automaton, self.names, "q", kind.component)
        return [condition(one, read) for one in asked]

    def _distinct(self) -> None:
        """ANY ... DISTINCT: the event's value is none of those that the run has taken there."""
        out = self.out
        for number, rule in enumerate(self.automaton.plan.distinct):
            column = self.names.attribute(rule.attribute, rule.kind)
            null = f"x{column} != x{column}" if rule.kind is Kind.FLOAT else f"x{column} == {null_text(rule.kind)}"
            out(f"if ok and {_one_of(f'edges[e, {COMPONENT}]', rule.components)}:")
            with out.block():
                out(f"ok = not ({null})")
                out(f"if s != {START_STATE} and edges[e, {RESETS}] & {1 << number} == 0:")
                with out.block():
                    out("back = np.int64(H0[q])")
                    out("while ok:")
                    with out.block():
                        out("p = back & ring")
                        out(f"if (np.int64(node_row[p]) - {self._carried(since(number))}) & 0x80000000:")
                        out("    break")
                        out("part = np.int64(node_part[p])")
                        out(f"if {_one_of('part', rule.components)}:")
                        out(f"    ok = c{column}[np.int64(node_row[p]) & row_mask] != x{column}")
                        out("if np.int64(node_before[p]) == back:")
                        out("    break")
                        out("back = np.int64(node_before[p])")

    def _take(self) -> None:
        """Lane y becomes run q with the event; then it is a match, or as many runs as there are ways to go on."""
        out = self.out
        out("before = H0[q]")
        out(f"component = edges[e, {COMPONENT}]")
        for component in range(self.automaton.plan.positive):
            out(f"if component == {component}:")
            with out.block():
                write_updates(out, component, LaneReader(self.automaton, self.names, "y", component))
                out("pass")
        out(f"{self._carried(BOUND, 'y')} |= 1 << component")
        out(f"{self._carried(FRESH, 'y')} = ({self._carried(FRESH, 'y')} & ~edges[e, {CLEARS}]) | (1 << component)")
        if self.automaton.plan.timeouts and any(gap.left for kind in self.automaton.table.kinds for gap in kind.gaps):
            out(f"{self._carried(REFUSED, 'y')} |= refused")
        less = " - uncounted" if self.automaton.uncounted else ""
        out(f"{self._carried(ORDINAL, 'y')} = ordinals[w]{less}")
        if self.automaton.plan.strict:
            out(f"{self._carried(MOMENT, 'y')} = x{self.names.attribute('ts', Kind.INT)}")
        for number in range(len(self.automaton.table.gaps)):
            out(f"if edges[e, {MARKS}] & {1 << number}:")
            out(f"    {self._carried(mark(number), 'y')} = row")
        for number in range(len(self.automaton.plan.distinct)):
            out(f"if s == {START_STATE} or edges[e, {RESETS}] & {1 << number}:")
            out(f"    {self._carried(since(number), 'y')} = row")
        for number, kind in enumerate(self.automaton.table.kinds):
            if gaps := without_left(kind.gaps):
                out(f"if kind == {number}:")
                out(f"    {self._carried(LEADING, 'y')} = {1 + self.automaton.leading.index(gaps)}")
                out(f"    {self._carried(LED, 'y')} = row")
        out(f"ending = edges[e, {ENDING}]")
        out("if ending >= 0:")
        with out.block():
            self._ending()
        out(f"first, last = edges[e, {FIRST_TARGET}], edges[e, {STOP_TARGET}]")
        out("if first == last:")
        with out.block():
            self._forget()
        out("else:")
        with out.block():
            out("p = np.uintp(node & ring)")
            out("node_row[p], node_part[p] = row32, component")
            out(f"node_before[p] = np.uint32(node & 0xFFFFFFFF) if s == {START_STATE} else before")
            out("H0[y] = np.uint32(node & 0xFFFFFFFF)")
            out("node += 1")
            out(f"{self._carried(STATE, 'y')} = targets[first]")
            out("for k in range(first + 1, last):")
            out("    d = append(G0, slot, I0[DEADLINE, q])")
            out("    move(F0, I0, H0, y, d)")
            out(f"    {self._carried(STATE, 'd')} = targets[k]")

    def _forget(self) -> None:
        """Lane y is no run: a waiting match that was put behind it takes its place."""
        out = self.out
        out("final = G0[slot, BASE] + G0[slot, BEGIN] + G0[slot, LENGTH] - 1")
        out("if final != y:")
        out("    move(F0, I0, H0, final, y)")
        out("G0[slot, LENGTH] -= 1")

    def _ending(self) -> None:
        """Lane y is a match if what is asked at the end holds."""
        out = self.out
        out(f"ok = {self._carried(REFUSED, 'y')} == 0" if self.automaton.plan.timeouts else "ok = True")
        for number, ending in enumerate(self.automaton.table.endings):
            if tests := [condition(one, LaneReader(self.automaton, self.names, "y")) for one in self._due(ending)]:
                out(f"if ok and ending == {number}:")
                out(f"    ok = {' and '.join(tests)}")
        out("if ok:")
        with out.block():
            self._leading()
        out("if ok:")
        with out.block():
            out(f"chain = -1 if s == {START_STATE} else np.int64(before)")
            for number, ending in enumerate(self.automaton.table.endings):
                if ending.trailing:
                    out(f"if ending == {number}:")
                    with out.block():
                        self._wait(self.automaton.trailing.index(ending.trailing))
                        out("ok = False")
            out("if ok:")
            out(f"    found[{FIRST_ROW}, matches], found[{CHAIN}, matches] = I0[START, q], chain")
            out(f"    found[{LAST_ROW}, matches], found[{PART}, matches] = row, component")
            out(f"    found[{LEAD}, matches], found[{DEADLINE_OF}, matches] = lead, {AT_ONCE}")
            out(f"    found[{LOW}, matches], found[{SERIAL}, matches] = {ALL_WINDOWS}, 0")
            out("    matches += 1")

    def _wait(self, number: int) -> None:
        """The match waits for the end of each window that holds it, in a run of its own."""
        out, window = self.out, self.automaton.plan.window
        if self._alone:
            self._waiter(number, "I0[DEADLINE, q]", str(ALL_WINDOWS), "0")
            return
        out("begun = now[I0[START, q] & row_mask]")
        if window.slide is not None:
            out(f"low = (t - {window.size}) // {window.slide} * {window.slide} + {window.slide}")
            if window.events:
                out("low = max(low, 0)")
            out("while low <= begun:")
            with out.block():
                self._waiter(number, f"low + {window.size - 1}", "low", "low")
                out(f"low += {window.slide}")
            return
        out("for k in range(openers.shape[1]):")
        out(f"    if openers[0, k] <= row_seq[I0[START, q] & row_mask] and openers[1, k] + {window.size} > t:")
        with out.block(2):
            self._waiter(number, f"openers[1, k] + {window.size - 1}", "openers[1, k]", "openers[0, k]")

    def _waiter(self, number: int, deadline: str, low: str, serial: str) -> None:
        out = self.out
        out(f"d = append(G0, slot, {deadline})")
        out("move(F0, I0, H0, y, d)")
        out(f"I0[DEADLINE, d] = {deadline}")
        out(f"{self._carried(STATE, 'd')} = {len(self.automaton.table.states) + number}")
        values = ("chain", "row", "component", "lead", low, serial)
        for feature, value in zip(PENDING, values, strict=True):
            out(f"{self._carried(feature, 'd')} = {value}")

    def _due(self, ending: Ending) -> list[Asked]:
        return due_at_end(self.automaton.checks, ending.over)


def _one_of(text: str, numbers: tuple[int, ...]) -> str:
    return "(" + " or ".join(f"{text} == {number}" for number in numbers) + ")"
