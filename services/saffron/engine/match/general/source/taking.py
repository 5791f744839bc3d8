"""The text of runs that take an event in a general kernel: the conditions of each edge, and its targets (N2-N6)."""

from __future__ import annotations

from saffron.engine.match.core.held import kinds_held
from saffron.engine.match.core.kernel_layout import null_text
from saffron.engine.match.general.automaton import (
    BOUND,
    FRESH,
    LEADING,
    LED,
    MOMENT,
    ORDINAL,
    REFUSED,
    mark,
    met,
    since,
    without_left,
)
from saffron.engine.match.general.checks import due
from saffron.engine.match.general.source.absent import AbsentSource
from saffron.engine.match.general.source.ending import EndingSource
from saffron.engine.match.general.source.readers import LaneReader, condition
from saffron.engine.match.general.source.table_text import TableText
from saffron.engine.match.general.source.updates import write_updates
from saffron.engine.match.general.transition_table import Kind as EdgeKind
from saffron.language.plan.pattern import Strategy
from saffron.schema.schema import Kind


class TakingSource:
    """Writer of the code by which run q takes an event: the run moves itself, or gives copies in new lanes y."""

    def __init__(self, text: TableText, absent: AbsentSource, endings: EndingSource) -> None:
        self.text = text
        self._absent = absent
        self._endings = endings

    def edges(self) -> None:
        """Write the code that tries every edge of run q with the event, and makes the runs that follow.

        An edge to one state, after which the run does not stay, makes no copy: the run itself takes the edge, after all
        others were tried.
        """
        out = self.text.out
        out("own = -1")
        out("i, stop_edge = states[s, FIRST], states[s, STOP]")
        out("while i <= stop_edge:")
        with out.block():
            out("e = i")
            out("i += 1")
            out("if e == stop_edge:")
            out("    if own < 0:")
            out("        break")
            out("    e, y, stays = own, q, True")
            out("    if watch:")
            out("        note(log, KINDS * s + LEFT, I0[DEADLINE, q], ordinals[w])")
            out("    kind = edges[e, KIND]")
            out("else:")
            with out.block():
                self._edge()
                if not self.text.automaton.plan.timeouts:  # there a copy remembers the refusals
                    out("alone = edges[e, STOP_TARGET] - edges[e, FIRST_TARGET] == 1")
                    counts = " and not uncounted" if self.text.automaton.uncounted else ""
                    out(f"if own < 0 and alone{counts} and edges[e, HOLDS] and states[s, HELD] < 0:")
                    out("    own = e")
                    out("    continue")
                out("y = np.uintp(append(G0, slot, I0[DEADLINE, q]))")
                out("move(F0, I0, H0, q, y)")
            self._take()

    def _edge(self) -> None:
        """Write the test whether run q takes the event by edge e."""
        out = self.text.out
        out("if m & edges[e, BIT] == 0:")
        out("    continue")
        if self.strict_contiguity:
            out(f"if edges[e, STRICT] and s != START_STATE and {self.text.carried(ORDINAL)} != ordinals[w] - 1:")
            out("    continue")
        if self.text.automaton.plan.strict:
            moment = self.text.names.attribute("ts", Kind.INT)
            out(f"if s != START_STATE and {self.text.carried(MOMENT)} >= x{moment}:")
            out("    continue")
        out("kind = edges[e, KIND]")
        out("ok = True")
        for number, kind in enumerate(self.text.automaton.table.kinds):
            if tests := self._tests(kind):
                out(f"if kind == {number}:")
                out(f"    ok = {' and '.join(tests)}")
        self._distinct()
        self._absent.or_else()
        self._absent.until()
        out("if not ok:")
        out("    continue")
        out("hold |= edges[e, HOLDS] != 0")
        if self.text.automaton.uncounted:
            out("fired |= edges[e, FIRED]")
        self._absent.gaps()

    @property
    def strict_contiguity(self) -> bool:
        return Strategy.STRICT in (*self.text.automaton.plan.begins, *self.text.automaton.plan.continues)

    def _tests(self, kind: EdgeKind) -> list[str]:
        asked = due(self.text.automaton.checks, kind.component, kind.over, kind.newly)
        read = LaneReader(self.text.automaton, self.text.names, "q", kind.component)
        return [*(condition(one, read) for one in asked), *self._absent.past_due(kind)]

    def _distinct(self) -> None:
        """ANY ... DISTINCT: the event's value is none of those that the run has taken there."""
        out = self.text.out
        for number, rule in enumerate(self.text.automaton.plan.distinct):
            held = kinds_held(rule.attribute, rule.kind)
            columns = [self.text.names.attribute(name, kind) for name, kind in held.items()]
            kind = held[rule.attribute]
            null = f"x{columns[0]} != x{columns[0]}" if kind is Kind.FLOAT else f"x{columns[0]} == {null_text(kind)}"
            out(f"if ok and {_one_of('edges[e, COMPONENT]', rule.components)}:")
            with out.block():
                out(f"ok = not ({null})")
                out(f"if s != START_STATE and edges[e, RESETS] & (1 << {number}) == 0:")
                with out.block():
                    out("back = np.int64(H0[q])")
                    out("while ok:")
                    with out.block():
                        out("p = back & ring")
                        out(f"if (np.int64(node_row[p]) - {self.text.carried(since(number))}) & 0x80000000:")
                        out("    break")
                        out("part = np.int64(node_part[p])")
                        out(f"if {_one_of('part', rule.components)}:")
                        differ = (f"(c{one}[np.int64(node_row[p]) & row_mask] != x{one})" for one in columns)
                        out(f"    ok = {' or '.join(differ)}")
                        out("if np.int64(node_before[p]) == back:")
                        out("    break")
                        out("back = np.int64(node_before[p])")

    def _take(self) -> None:
        """Lane y becomes run q with the event; then it is a match, or as many runs as there are ways to go on."""
        out = self.text.out
        out("before = H0[q]")
        out("component = edges[e, COMPONENT]")
        for component in range(self.text.automaton.plan.positive):
            out(f"if component == {component}:")
            with out.block():
                write_updates(out, component, LaneReader(self.text.automaton, self.text.names, "y", component))
                out("pass")
        out(f"{self.text.carried(BOUND, 'y')} |= 1 << component")
        if FRESH in self.text.state.ints:
            fresh = self.text.carried(FRESH, "y")
            out(f"{fresh} = ({fresh} & ~edges[e, CLEARS]) | (1 << component)")
        self._remember()
        out("ending = edges[e, ENDING]")
        out("if ending >= 0:")
        with out.block():
            self._endings.ending()
        self._go_on()

    def _remember(self) -> None:
        """Write the code that updates the features of lane y other than sums.

        That is: the event's ordinal and time, and the rows of events since which NOTs and DISTINCT count.
        """
        out = self.text.out
        if self.text.automaton.plan.timeouts and any(
            gap.left for kind in self.text.automaton.table.kinds for gap in kind.gaps
        ):
            out(f"{self.text.carried(REFUSED, 'y')} |= refused")
        if ORDINAL in self.text.state.ints:
            less = " - uncounted" if self.text.automaton.uncounted else ""
            out(f"{self.text.carried(ORDINAL, 'y')} = ordinals[w]{less}")
        if self.text.automaton.plan.strict:
            out(f"{self.text.carried(MOMENT, 'y')} = x{self.text.names.attribute('ts', Kind.INT)}")
        for number in range(len(self.text.automaton.table.gaps)):
            out(f"if edges[e, MARKS] & (1 << {number}):")
            out(f"    {self.text.carried(mark(number), 'y')} = row")
        for number, kind in enumerate(self.text.automaton.table.kinds):
            for gap in kind.waiting:
                out(f"if kind == {number}:")
                out(f"    {self.text.carried(met(self.text.automaton.table.gaps.index(gap)), 'y')} = row")
        for number in range(len(self.text.automaton.plan.distinct)):
            out(f"if s == START_STATE or edges[e, RESETS] & (1 << {number}):")
            out(f"    {self.text.carried(since(number), 'y')} = row")
        for number, kind in enumerate(self.text.automaton.table.kinds):
            if gaps := without_left(kind.gaps):
                out(f"if kind == {number}:")
                out(f"    {self.text.carried(LEADING, 'y')} = {1 + self.text.automaton.leading.index(gaps)}")
                out(f"    {self.text.carried(LED, 'y')} = row")

    def _go_on(self) -> None:
        """Lane y becomes as many runs as there are ways to go on, if any."""
        out = self.text.out
        out("first, last = edges[e, FIRST_TARGET], edges[e, STOP_TARGET]")
        out("made += last - first")
        out("if watch:")
        out("    note(log, KINDS * e + TOOK, I0[DEADLINE, q], ordinals[w])")
        out("if first == last:")
        with out.block():
            self._forget()
        out("else:")
        with out.block():
            out("p = np.uintp(node & ring)")
            out("node_row[p], node_part[p] = row32, component")
            out("node_before[p] = np.uint32(node & 0xFFFFFFFF) if s == START_STATE else before")
            out("H0[y] = np.uint32(node & 0xFFFFFFFF)")
            out("node += 1")
            self.text.into("y", "targets[first]")
            out("for k in range(first + 1, last):")
            with out.block():
                out("d = np.uintp(append(G0, slot, I0[DEADLINE, q]))")
                out("move(F0, I0, H0, y, d)")
                self.text.into("d", "targets[k]")

    def _forget(self) -> None:
        """Lane y is no run: a waiting match that was put behind it takes its place."""
        out = self.text.out
        out("final = np.uintp(G0[slot, BASE] + G0[slot, BEGIN] + G0[slot, LENGTH] - 1)")
        out("if final != y:")
        out("    move(F0, I0, H0, final, y)")
        out("G0[slot, LENGTH] -= 1")


def _one_of(text: str, numbers: tuple[int, ...]) -> str:
    return "(" + " or ".join(f"{text} == {number}" for number in numbers) + ")"
