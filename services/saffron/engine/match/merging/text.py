"""Writer of the code that merging adds to a step kernel. The pool of followers has number `m` there."""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.match.core.automaton import State
from saffron.engine.match.core.kernel_layout import (
    GROW_POOL,
    NODE_TAIL,
)
from saffron.engine.match.core.merged import ROWS
from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.engine.match.core.step_text import StepText
from saffron.engine.match.merging.plans import deferring

_CHAIN = "node, counters[{}], node_row, node_before, node_part"


class MergingText:
    """Writes to `text`."""

    def __init__(self, text: StepText) -> None:
        self.text = text

    def _rows(self, state: State) -> range:
        """The rows GROUP, MARK and OWN of its lanes."""
        first = FIRST_FEATURE + len(state.ints)
        return range(first, first + ROWS)

    @property
    def defers(self) -> bool:
        """True if matches of merged runs are read off the trunk; else their chains are drawn before."""
        return deferring(self.text.automaton.plan, self.text.merging)

    def whole(self, state: State) -> None:
        """Write the chain of the match that was just found."""
        if self.text.merges(state) and self.defers:
            out = self.text.out
            out("found[MARK_OF, matches] = 0 if mark == ALL else mark")
            out("found[OWN_OF, matches] = own")

    def alone(self, state: State, lane: str) -> None:
        """Write the code that marks a run entering a state as unmerged."""
        if self.text.merges(state):
            self.text.out(f"I{state.index}[{self._rows(state)[0]}, {lane}] = 0")

    def for_each(self, state: State, body: Callable[[str, str, str], None]) -> None:
        """Do something for run q of a state and all that it leads, the oldest first: `body` gets the texts of first
        row, deadline and node bound last."""
        out, c = self.text.out, state.index
        if not self.text.merges(state):
            body(f"I{c}[START, q]", f"I{c}[DEADLINE, q]", f"H{c}[q]")
            return
        group, mark, own = self._rows(state)
        out(f"group = I{c}[{group}, q]")
        out(f"mark, own, chain = np.int64(ALL), np.int64(0), np.int64(H{c}[q])")
        out("if group == 0:")
        with out.block():
            body(f"I{c}[START, q]", f"I{c}[DEADLINE, q]", "chain")
        out("end = Gm[slot, BASE] + Gm[slot, BEGIN] + Gm[slot, LENGTH]")
        out("f = end - Gm[slot, LENGTH] if group != 0 else end + 1")
        out("while f <= end:")
        with out.block():
            out("if f < end:")
            out("    if Im[FOLLOWER_GROUP, f] != group or Im[DEADLINE, f] < t:")
            out("        f += 1")
            out("        continue")
            out("    start, deadline = Im[START, f], Im[DEADLINE, f]")
            out("    mark, own = Im[FOLLOWER_MARK, f], np.int64(Hm[f])")
            out("else:")
            out(f"    start, deadline = I{c}[START, q], I{c}[DEADLINE, q]")
            out(f"    mark, own = I{c}[{mark}, q], I{c}[{own}, q]")
            if not self.defers:
                out(f"chain = np.int64(H{c}[q]) if mark == ALL else own")
            body("start", "deadline", "chain")
            out("f += 1")

    def forget(self, state: State, lane: str, *, died: bool) -> None:
        """Write the code that ends run `lane` of a state and the merged runs that it leads."""
        if not self.text.merges(state):
            return
        out, group = self.text.out, f"I{state.index}[{self._rows(state)[0]}, {lane}]"
        out(f"if nm > 0 and {group} != 0:")
        with out.block():
            out(f"e = disband(Im, Hm, Gm, slot, {group})")
            out("livem -= e")
            if died:
                out(f"counters[DIED_{state.index}] += e")

    def forget_all(self, state: State) -> None:
        """Write the code that ends all merged runs of a key in a state."""
        if self.text.merges(state):
            out = self.text.out
            out("    livem -= Gm[slot, LENGTH]")
            out(f"    counters[DIED_{state.index}] += Gm[slot, LENGTH]")
            out("    Gm[slot, LENGTH] = 0")
            out("    Gm[slot, BEGIN] = 0")

    def compare(self, *, ordered: bool) -> None:
        """Write the code that merges equivalent runs, now and then, before a run may enter the state."""
        state, out = self.text.merged, self.text.out
        if state is None:
            return
        c = state.index
        out(f"if m & BEGIN_{c} and n{c} >= LEAST:")
        with out.block():
            out("Gm[slot, WAIT] -= 1")
            out("if Gm[slot, WAIT] < 0:")
            with out.block():
                out(f"n{c} = compact(F{c}, I{c}, H{c}, G{c}, slot)")
                listed = "" if ordered else " + Gm[slot, DUE] + spare_lanes(nm)"
                out(f"if not reserve(Fm, Im, Hm, Gm, Am, slot, 2 * n{c}{listed}):")
                out(f"    status = {GROW_POOL + len(self.text.automaton.states)}")
                out("    break")
                pools = f"F{c}, I{c}, H{c}, G{c}, Im, Hm, Gm"
                out(f"node = merge({pools}, slot, {ordered}, {_CHAIN.format(NODE_TAIL)})")
                out(f"e = n{c} - G{c}[slot, LENGTH]")
                out(f"n{c} -= e")
                out(f"live{c} -= e")
                out("nm += e")
                out("livem += e")

    def draw(self, leaving: str) -> None:
        """Write the code that draws the chains of merged runs before an event that may end matches of them."""
        state, out = self.text.merged, self.text.out
        if state is None or self.defers:
            return
        c, group = state.index, self._rows(state)[0]
        out(f"if m & BEGIN_{c + 1} and Gm[slot, LED] != 0 and Gm[slot, LED_UNTIL] >= t:")
        with out.block():
            out(f"lo = np.uintp(G{c}[slot, BASE] + G{c}[slot, BEGIN])")
            out(f"for q in range(lo, lo + np.uintp(n{c})):")
            out(f"    if I{c}[{group}, q] != 0 and {leaving}:")
            out(f"        drawn = draw(I{c}, H{c}, Im, Hm, Gm, slot, np.int64(q), {_CHAIN.format(NODE_TAIL)})")
            out("        if drawn < 0:")
            out("            status = GROW_NODES")
            out("            break")
            out("        node = drawn")
            out("if status != 0:  # GROW_NODES")
            out("    break")
