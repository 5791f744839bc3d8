"""The text that takes the runs of one state through an event, by strategy (N2-N4)."""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.match.core.automaton import State
from saffron.engine.match.core.step_text import CONTIGUOUS, StepText
from saffron.engine.match.flat.actions import Actions
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy


def ends_with_first(plan: MatchPlan) -> bool:
    """True if a run ends with its first match, since FIRST needs no other match with the same first event.

    Only where a beginning has one run throughout: the only closure is the component before the last, a single event.
    """
    last = len(plan.components) - 1
    closures = [index for index, component in enumerate(plan.components) if component.closure]
    within = plan.window.slide is None and plan.window.opens is None
    return (
        plan.output is Output.FIRST
        and plan.strategy is not Strategy.ANY
        and within
        and not plan.consume
        and not plan.timeouts
        and closures in ([], [last - 1])
    )


class States:
    """Runs [lo, hi) of the key are asked eight at a time where their conditions allow it, else one by one.

    Eights are those of the pool, so that memory is aligned; lanes that are not the key's are left as they are.
    """

    def __init__(self, text: StepText) -> None:
        self.text = text
        self.actions = Actions(text)

    @property
    def once(self) -> bool:
        """True if the plan's runs end with their first match."""
        return ends_with_first(self.text.plan)

    def state(self, state: State) -> None:
        """Write the code by which an event advances, ends or extends the runs of a state."""
        out, c = self.text.out, state.index
        contiguous = self.text.strategy in CONTIGUOUS
        wanted = [f"BEGIN_{c + 1}"] * (c < self.text.last) + [f"TAKE_{c}"] * state.closure
        out(f"if n{c} > 0:" if contiguous else f"if n{c} > 0 and m & ({' | '.join(wanted)}):")
        with out.block():
            out(f"lo = np.uintp(G{c}[slot, BASE] + G{c}[slot, BEGIN])")
            out(f"size = np.uintp(n{c})")
            out("hi = lo + size")
            if self.text.listed(state):
                out(f"stale = G{c}[slot, STALE]")
            if contiguous:
                self._contiguous(state)
            elif not state.closure:
                self._single(state)
            elif self.once:
                out(f"if m & BEGIN_{c + 1}:")
                with out.block():
                    self._single(state)
                    out(f"n{c} -= k")
                    out(f"size = np.uintp(n{c})")
                    out("hi = lo + size")
                out(f"if n{c} > 0 and m & TAKE_{c}:")
                with out.block():
                    self._takes(state)
            else:
                if c < self.text.last:
                    out(f"if m & BEGIN_{c + 1}:")
                    with out.block():
                        self._forks(state)
                out(f"if m & TAKE_{c}:")
                with out.block():
                    if self.text.strategy is Strategy.ANY:
                        self._copies(state)
                    else:
                        self._takes(state)

    def _where(self, state: State, narrow: str | None, wide: str | None, body: Callable[[], None]) -> None:
        """Do something to each run q in [lo, hi) that is not stale and for which a condition holds."""
        out, c = self.text.out, state.index
        if wide is None:
            current = f"I{c}[DEADLINE, q] >= t and " if self.text.listed(state) else ""
            out("for q in range(lo, hi):")
            out(f"    if {current}{narrow}:")
            with out.block(2):
                body()
            return
        out("for b in range(lo - lo % np.uintp(LANES), hi, np.uintp(LANES)):")
        out(f"    some = bits(inside(np.uintp(b) - lo, size) & {wide})")
        with out.block():
            if self.text.listed(state):
                out("if some != 0 and stale > 0:")
                out(f"    some &= bits(lanes(d{c}, b) >= t)")
            self._each_bit(body)

    def _each_bit(self, body: Callable[[], None]) -> None:
        self.text.out("while some != 0:")
        self.text.out("    q = b + np.uintp(lowest(some))")
        self.text.out("    some &= some - 1")
        with self.text.out.block():
            body()

    def _forks(self, state: State) -> None:
        """Copy each run that may leave its closure, or has met what it waited for, to the next component."""
        self._where(
            state,
            self.actions.leaving(state),
            self.actions.leaving(state, "b", wide=True),
            lambda: self.actions.fork(state),
        )

    def _single(self, state: State) -> None:
        """Skip-till: an event that begins the next component moves the run; under ANY the run also stays."""
        out, c = self.text.out, state.index
        out(f"k = counters[MOVED_{c}]")
        self._forks(state)
        if self.text.strategy is Strategy.ANY:
            return
        out(f"k = counters[MOVED_{c}] - k")
        out("if k > 0:")
        with out.block():
            out("z = lo")
            out("for q in range(lo, hi):")
            if self.text.listed(state):
                out(f"    if I{c}[DEADLINE, q] < t:")
                out("        continue")
            out(f"    if not ({self.actions.leaving(state)}):")
            out("        if z != q:")
            out(f"            move(F{c}, I{c}, H{c}, q, z)")
            out("        z += np.uintp(1)")
            if self.text.merges(state) or self.text.listed(state):
                out("    else:")
                with out.block(2):
                    self._left(state)
            out(f"counters[LEFT_{c}] += k")
            out("k = np.int64(hi - z)")
            out(f"G{c}[slot, LENGTH] = n{c} - k")
            if self.text.listed(state):
                out(f"live{c} += stale")
                out(f"G{c}[slot, STALE] = stale = 0")
            out(f"live{c} -= k")

    def _left(self, state: State) -> None:
        """Write the code that takes run q out of its state's lists after it has gone on to the next component."""
        out, c = self.text.out, state.index
        if self.text.listed(state):
            out(f"if G{c}[slot, DUE] > 0:")
            out(f"    unlist(I{c}, G{c}, slot, I{c}[DEADLINE, q])")
        self.actions.merging.forget(state, "q", died=False)

    def _takes(self, state: State) -> None:
        """Skip-till-next: runs that may take the event take it in place."""
        out, c = self.text.out, state.index
        wide = self.actions.taking(state, "b", wide=True)

        def body() -> None:
            self.actions.take(state, "q")
            if c == self.text.last:
                self._complete(state)

        if wide is None:
            self._where(state, self.actions.taking(state), None, body)
            return
        out("for b in range(lo - lo % np.uintp(LANES), hi, np.uintp(LANES)):")
        with out.block():
            out(f"taken = inside(np.uintp(b) - lo, size) & {wide}")
            out("some = bits(taken)")
            if self.text.listed(state):
                out("if some != 0 and stale > 0:")
                out(f"    taken = taken & (lanes(d{c}, b) >= t)")
                out("    some = bits(taken)")
            out("if some != 0:")
            with out.block():
                self._take_eight(state)

    def _take_eight(self, state: State) -> None:
        """Write the code by which the runs of lanes b to b + 7 that are in the mask `taken` take the event.

        At the last component each of them is reported as a match, if it may end there.
        """
        out, c = self.text.out, state.index
        # A node for each of eight runs of which at least one takes: no lane waits for another.
        out("node = (node + LANES - 1) & -LANES")
        out("p = np.uintp(node & ring)")
        out(f"heads = lanes(H{c}, b)")
        out("put(node_before, p, heads)")
        out("put(node_row, p, row32)")
        out(f"put(node_part, p, {c})")
        out(f"put(H{c}, b, choose(taken, count_up(node), heads))")
        out("node += LANES")
        self.actions.update_eight(state)
        if c == self.text.last:
            self._each_bit(lambda: self._complete(state))

    def _complete(self, state: State) -> None:
        """Write the code that reports run q with the event, if it may end there (a closure reports each prefix)."""
        c = state.index
        self.text.out(f"if {self.actions.proceeding(state, 'q')}:")
        with self.text.out.block():
            self.actions.found(f"I{c}[START, q]", f"node_before[np.uintp(H{c}[q]) & np.uintp(ring)]")

    def _copies(self, state: State) -> None:
        """Write skip-till-any within a closure: the run stays as it is, and a copy in the same state takes the event.

        At the last component the copy is reported as a match, if it may end there.
        """
        out, c = self.text.out, state.index

        def body() -> None:
            self.actions.append("z", state, f"I{c}[DEADLINE, q]")
            out(f"move(F{c}, I{c}, H{c}, q, z)")
            out(f"live{c} += 1")
            self.actions.take(state, "z")
            if c == self.text.last:
                out(f"if {self.actions.proceeding(state, 'z')}:")
                with out.block():
                    self.actions.found(f"I{c}[START, q]", f"H{c}[q]")

        self._where(state, self.actions.taking(state), self.actions.taking(state, "b", wide=True), body)

    def _contiguous(self, state: State) -> None:
        """Contiguity: a run that the event does not extend dies."""
        out, c = self.text.out, state.index
        out("z = lo")
        out("for q in range(lo, hi):")
        with out.block():
            if c < self.text.last:
                out(f"if m & BEGIN_{c + 1} and {self.actions.leaving(state)}:")
                with out.block():
                    if not state.closure:
                        out(f"counters[DIED_{c}] -= 1")
                        out(f"counters[LEFT_{c}] += 1")
                    self.actions.fork(state)
                    if self.once:
                        self.actions.merging.forget(state, "q", died=True)
                        out("continue")
            if state.closure:
                out(f"if m & TAKE_{c} and {self.actions.taking(state)}:")
                with out.block():
                    self.actions.take(state, "q")
                    if c == self.text.last:
                        self._complete(state)
                    out("if z != q:")
                    out(f"    move(F{c}, I{c}, H{c}, q, z)")
                    out("z += np.uintp(1)")
                if self.text.merges(state):
                    out("else:")
                    with out.block():
                        self.actions.merging.forget(state, "q", died=True)
        out("k = np.int64(hi - z)")
        out(f"counters[DIED_{c}] += k")
        out(f"live{c} -= k")
        out(f"G{c}[slot, LENGTH] = n{c} - k")
        out(f"if k == n{c}:")
        out(f"    G{c}[slot, BEGIN] = 0")
