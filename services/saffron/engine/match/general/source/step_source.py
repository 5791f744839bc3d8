"""The step kernel of a general automaton as Python text: every run walks the table, one event after another (N2-N6).

Differences between plans are data where possible (arrays of states and edges), and text otherwise: conditions by kind
of edge and of ending, updates by component. An event that may begin a match is asked like any other, of a run that has
nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.kernels.kernel_source import constants_text, kernel_head
from saffron.engine.match.core import kernel_layout
from saffron.engine.match.core.kernel_layout import lane_array, numbered
from saffron.engine.match.core.source.lines import Lines
from saffron.engine.match.flat.given_events import ARRAYS
from saffron.engine.match.flat.step_source import POOL, event_values
from saffron.engine.match.general import transition_table, watched
from saffron.engine.match.general.automaton import (
    REPORTED,
    STATE,
    WANTED,
)
from saffron.engine.match.general.closing import closing
from saffron.engine.match.general.source.absent import AbsentSource
from saffron.engine.match.general.source.ending import GONE, EndingSource
from saffron.engine.match.general.source.table_text import TableText
from saffron.engine.match.general.source.taking import TakingSource
from saffron.engine.match.general.source.updates import neutral
from saffron.engine.match.general.transition_table import (
    START_STATE,
    WANTS,
)
from saffron.language.plan.pattern import Strategy

TABLES = (
    ("states", "int64[:, ::1]"),
    ("edges", "int64[:, ::1]"),
    ("targets", "int64[::1]"),
    ("row_mask_of", "int64[::1]"),
    ("row_before", "int64[::1]"),
    ("row_seq", "int64[::1]"),
    ("openers", "int64[:, ::1]"),
    ("log", "int64[:, ::1]"),
)
"""Arguments after the pool: the automaton's table; masks, links to the row before by key, and positions of the stored
rows; the windows that OPEN ON opened; the log of what runs do (`watched`, one place wide: none).
"""


_SLACK = 3
"""Runs are forgotten at the latest when their window has been over for an eighth (2 ** -3) of its size."""


class GeneralSource:
    """Writes one step kernel. `module` is its text; `text.names` then says which columns and strings it uses."""

    def __init__(self, text: TableText) -> None:
        self.text = text
        absent = AbsentSource(text)
        self._endings = EndingSource(text, absent)
        self._taking = TakingSource(text, absent, self._endings)

    def module(self) -> str:
        """The module: imports, signature and the kernel."""
        body = self._written(2, self._body)
        head = self._written(2, self._head)
        prologue = self._written(1, self._prologue)
        epilogue = self._written(1, self._epilogue)
        columns = [(f"c{n}", f"{kind.dtype}[::1]") for n, kind in enumerate(self.text.names.attributes.values())]
        pool = [(f"{letter}0", kind) for letter, kind in POOL]
        arrays = [*ARRAYS, *columns, *pool, *TABLES]
        kernel = f"{prologue}{head}{body}{epilogue}"
        namespaces = (vars(kernel_layout), vars(transition_table), vars(watched), {"GONE": GONE}, numbered("0", 0))
        return (
            "import math\n\nimport numpy as np\nfrom numba import float64, int8, int32, int64, uint8, uint32\n\n\n"
            f"{constants_text(kernel, *namespaces)}\n\n"
            f"{kernel_head('step', (('at', 'int64'), ('stop', 'int64'), *arrays))}{kernel}"
        )

    def _written(self, depth: int, write: Callable[[], None]) -> Lines:
        self.text.out = Lines(depth=depth)
        write()
        return self.text.out

    # ---- around the runs

    def _prologue(self) -> None:
        """Write the code before the first event: counters, windows and features as variables, and the loop's head."""
        out = self.text.out
        out("row_mask, node, matches = counters[ROW_MASK], counters[NODE], counters[FOUND]")
        out("ring = len(node_row) - 1")
        out("watch = log.shape[1] > 1")
        window = self.text.automaton.plan.window
        if self.text.automaton.leading or self.text.automaton.trailing or self.text.automaton.plan.timeouts:
            out(f"window_size = constants[{self.text.names.constant(window.size)}]")
            out(f"window_slide = constants[{self.text.names.constant(window.slide or 0)}]")
        if self._lazy:
            out("deadlines = I0[DEADLINE]")
            out(f"slack = constants[{self.text.names.constant(window.size)}] >> {_SLACK}")
        if self.text.automaton.leading:
            out("row_tail = counters[ROW_TAIL]")
        out("status = DONE")
        out("live = counters[LIVE_0]")
        for letter, features in (("f", self.text.state.floats), ("i", self.text.state.ints)):
            for row in range(len(features)):
                out(f"s0{letter}{row} = " + (f"F0[{row}]" if letter == "f" else f"I0[{row} + FIRST_FEATURE]"))
        out("w = at")
        out("while w < stop:")

    def _head(self) -> None:
        """Room for all that the event may need, and the event's own values."""
        out = self.text.out
        out("# ---- the event, room for what it may do, and the runs of its key whose window is over")
        out("slot, m, row = slots[w], masks[w], rows[w]")
        out("n = G0[slot, LENGTH]")
        if self.partitions and not self.text.automaton.plan.timeouts:
            out("if m == 0 and n == 0:")
            out("    w += 1")
            out("    continue")
        if self.text.automaton.uncounted:
            out("uncounted = m & UNCOUNTED != 0")
        out("r = row & row_mask if row >= 0 else 0")
        out("t = now[r] if row >= 0 else 0")
        self._room()
        self._expire()
        out("if row >= 0:")
        if self.text.automaton.plan.absences:
            out("    row_mask_of[r] = m")
            out("    row_before[r] = touched[slot]")
        out("    touched[slot] = row")
        out("    node_at[r] = node")
        event_values(out, self.text.names, self.text.state.features)

    def _room(self) -> None:
        """Write the code that stops before the event if nodes, found matches or the pool have no room for it.

        The caller then grows them and calls again. A larger segment within the pool is taken at once (`reserve`).
        """
        out, table = self.text.out, self.text.automaton.table
        out(f"if node + (n + 1) * {table.fan} + 64 - counters[NODE_TAIL] > ring:")
        out("    status = GROW_NODES")
        out("    break")
        reported = f"n * {self.text.windows}" if self.text.automaton.plan.timeouts else "n"
        if self.text.automaton.period:
            out("repeats = 0")
            out("if row >= 0 and n > 0 and G0[slot, OLDEST] < t:")
            out(f"    repeats = reports(I0, G0, slot, t, {len(table.states)}, {self.text.due})")
            reported += " + repeats"
        out(f"if matches + {reported} + (n + 1) * {table.fan} + 1 > found.shape[1]:")
        out("    status = GROW_FOUND")
        out("    break")
        waiting = f" + (n + 1) * {table.ends} * {self.text.windows}" if self.text.automaton.trailing else ""
        out(f"more = (n + 1) * {table.fan} + 2{waiting}")
        out("if G0[slot, BEGIN] + n + more > G0[slot, CAPACITY] and not reserve(F0, I0, H0, G0, A0, slot, more):")
        out("    status = GROW_POOL")
        out("    break")

    def _expire(self) -> None:
        """Forget the key's runs whose window is over."""
        out, table = self.text.out, self.text.automaton.table
        out(f"if row >= 0 and n > 0 and G0[slot, OLDEST] < t{' - slack' if self._lazy else ''}:")
        with out.block():
            if self.text.automaton.plan.timeouts:
                self._close_all()
            elif self.text.automaton.trailing:
                out(f"matches = close(F0, I0, H0, G0, slot, t, {len(table.states)}, found, matches, {self.text.due})")
            if self.text.automaton.plan.timeouts or self.text.automaton.trailing:
                out("left = G0[slot, LENGTH]")
            else:
                out("left = expire(F0, I0, H0, G0, slot, t)")
            out("live -= n - left")
            out("n = left")

    def _close_all(self) -> None:
        """WITH TIMEOUTS: all windows that have closed since the key's last event."""
        kind, _, _, lowest, ordinal, reported = closing(self.text.automaton)
        out = self.text.out
        out(f"matches = close_all(F0, I0, H0, G0, slot, t, {len(self.text.automaton.table.states)}, found, matches,")
        out("    (node_row, node_before, node_part), (now, row_seq, row_mask), openers,")
        out(f"    ({kind}, window_size, window_slide, {lowest}), {ordinal}, {reported}, {self.text.due})")

    def _epilogue(self) -> None:
        out = self.text.out
        out("counters[NODE], counters[FOUND], counters[AT] = node, matches, w")
        out("counters[LIVE_0] = live")
        out("return status")

    # ---- the runs of the event's key

    @property
    def _lazy(self) -> bool:
        """True if runs may stay for a while when their window is over: moving up those behind them takes long.

        Nothing happens to them any more; what is to be reported of them is, at the end of the block at the latest. But
        WITH TIMEOUTS of several windows a run is reported as it stands at the end of each. Under NOT ... EVERY a match
        goes on when it has been reported.
        """
        if self.text.automaton.period:
            return False
        return self.text.automaton.patient and (self.text.alone or not self.text.automaton.plan.timeouts)

    def _body(self) -> None:
        """Write the last part of the loop: the event may begin a run; then the runs of its key get the event.

        Runs of a patient automaton get only events for which they wait.
        """
        out = self.text.out
        out("one = np.uintp(1)")
        out("lo = np.uintp(G0[slot, BASE] + G0[slot, BEGIN])")
        out("hi = lo + np.uintp(n)")
        out("# ---- a run that has nothing yet, where the event may begin one")
        self._start()
        out("# ---- the runs of the key, one after the other")
        if self.text.automaton.patient:
            self._those_that_wait()
        else:
            self._all()
        out("live += length - n")
        out("w += 1")

    def _those_that_wait(self) -> None:
        """Write the code that gives the event to runs that wait for it, eight at once. The others stay as they are."""
        out, wanted = self.text.out, lane_array(self.text.state, WANTED)
        out("gone, left_out = hi, 0")
        out("for b in range(lo - lo % np.uintp(LANES), hi, np.uintp(LANES)):")
        with out.block():
            alive = " & (lanes(deadlines, b) >= t)" if self._lazy else ""
            out(f"some = bits(inside(np.uintp(b) - lo, hi - lo) & meets(lanes({wanted}, b), m){alive})")
            out("while some != 0:")
            with out.block():
                out("q = b + np.uintp(lowest(some))")
                out("some &= some - 1")
                self._ask_one()
        out("length = G0[slot, LENGTH]")
        out("if left_out > 0:")
        with out.block():
            out("z = gone")
            out("for q in range(gone, lo + np.uintp(length)):")
            out(f"    if {self.text.carried(STATE)} != GONE:")
            out("        if z != q:")
            out("            move(F0, I0, H0, q, z)")
            out("        z += one")
            out("length -= left_out")
            out("G0[slot, LENGTH] = length")

    def _all(self) -> None:
        """Ask all runs: those that do not take the event may end with it."""
        out = self.text.out
        out("z = lo")
        out("for q in range(lo, hi):")
        with out.block():
            self._ask_one()
        out("length = G0[slot, LENGTH]")
        out("if z < hi:")
        out("    slide(F0, I0, H0, np.int64(hi), np.int64(z), np.int64(lo) + length - np.int64(hi))")
        out("    length -= np.int64(hi - z)")
        out("    G0[slot, LENGTH] = length")

    def _ask_one(self) -> None:
        """Write the body of the loop over runs: run q gets the event, goes on to its next state, or ends.

        The code around it sets `q`, and `m` to the event's mask.
        """
        out, patient = self.text.out, self.text.automaton.patient
        out(f"s = {self.text.carried(STATE)}")
        self._endings.waiting()
        out("hold, stays, fired, made = False, False, 0, 0")
        if patient:
            self._taking.edges()
        else:
            out("if states[s, WANTS] & m:")
            with out.block():
                self._taking.edges()
        out("if not stays:")
        with out.block():
            out("was = s")
            out(f"s = {self._left()}")
            out("if watch and s != was:")
            out("    kind = LEFT if made > 0 else GONE_WITH")
            out("    if s >= 0:")
            out("        kind = HELD_ON if hold else PASSED_ON")
            out("    note(log, KINDS * was + kind, I0[DEADLINE, q], ordinals[w])")
            if patient:
                out("if s >= 0:")
                with out.block():
                    self.text.into("q", "s")
            else:
                out(f"{self.text.carried(STATE)} = s")
            out("stays = s >= 0")
        self._endings.kept("stays")

    def _left(self) -> str:
        """The state of the run behind the event, as text."""
        counted = "states[s, HELD] if hold else states[s, PASSED]"
        if not self.text.automaton.uncounted:
            return counted
        return f"targets[states[s, SKIPS] + 2 * fired + (1 if hold else 0)] if uncounted else ({counted})"

    def _start(self) -> None:
        """Write the code that makes an empty run for an event that may begin a match."""
        out, begins = self.text.out, self.begins
        out(f"if m & {begins}:")
        with out.block():
            # WITH TIMEOUTS the end of an earlier window than the last one may come first.
            every_window = self.text.automaton.plan.timeouts and not self.text.alone
            out(f"y = np.uintp(append(G0, slot, {'t' if every_window else 'until[r]'}))")
            out("hi += one")
            out("I0[DEADLINE, y], I0[START, y] = until[r], row")
            for feature in self.text.state.features:
                own = {STATE: str(START_STATE), WANTED: str(begins), REPORTED: "t"}
                value = own.get(feature) or neutral(feature)
                out(f"{lane_array(self.text.state, feature)}[y] = {value}")
            out("counters[BEGAN] += 1")

    @property
    def begins(self) -> int:
        """The components that may begin a match, as bits."""
        return int(self.text.automaton.table.states[START_STATE, WANTS])

    @property
    def partitions(self) -> bool:
        """True if every event of a key counts, wanted or not."""
        return Strategy.PARTITION in (*self.text.automaton.plan.begins, *self.text.automaton.plan.continues)
