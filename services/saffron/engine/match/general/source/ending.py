"""Complete matches in the text of a general kernel: found at once, or waiting for the end of their window (N10)."""

from __future__ import annotations

from saffron.engine.match.core.kernel_layout import (
    ALL_WINDOWS,
)
from saffron.engine.match.general.automaton import DUE, PENDING, REFUSED, STATE, UNTIL, WANTED, mark
from saffron.engine.match.general.checks import Asked, due_at_end
from saffron.engine.match.general.source.absent import AbsentSource
from saffron.engine.match.general.source.readers import LaneReader, condition
from saffron.engine.match.general.source.table_text import TableText
from saffron.engine.match.general.transition_table import Ending
from saffron.language.patterns.stances import Gap
from saffron.language.plan.pattern import Absence

GONE = -1
"""The state of a lane that is free again, until the runs behind it have moved up."""


class EndingSource:
    """Writer of the code for a complete lane y, and for a match that waits."""

    def __init__(self, text: TableText, absent: AbsentSource) -> None:
        self.text = text
        self._absent = absent

    def ending(self) -> None:
        """Write the code that tests a complete lane y: the conditions at its end, its postponed and its leading NOTs.

        If they hold, its match is found; or a run waits, if a trailing NOT may still undo it.
        """
        out = self.text.out
        out(f"ok = {self.text.carried(REFUSED, 'y')} == 0" if self.text.automaton.plan.timeouts else "ok = True")
        for number, ending in enumerate(self.text.automaton.table.endings):
            if tests := [
                condition(one, LaneReader(self.text.automaton, self.text.names, "y")) for one in self._due(ending)
            ]:
                out(f"if ok and ending == {number}:")
                out(f"    ok = {' and '.join(tests)}")
        self._absent.postponed()
        out("if ok:")
        with out.block():
            self._absent.leading()
        out("if ok:")
        with out.block():
            out("chain = -1 if s == START_STATE else np.int64(before)")
            for number, ending in enumerate(self.text.automaton.table.endings):
                if ending.trailing:
                    out(f"if ending == {number}:")
                    with out.block():
                        self._wait_unless_over(ending.trailing)
            out("if ok:")
            out("    found[FIRST_ROW, matches], found[CHAIN, matches] = I0[START, q], chain")
            out("    found[LAST_ROW, matches], found[PART, matches] = row, component")
            out("    found[LEAD, matches], found[DEADLINE_OF, matches] = lead, AT_ONCE")
            out("    found[LOW, matches], found[SERIAL, matches] = ALL_WINDOWS, 0")
            if self.text.automaton.timed:
                out("    found[DUE_OF, matches] = AT_ONCE")
            out("    matches += 1")
            out("    made += 1")
            out("    if watch:")
            out("        note(log, KINDS * e + ENDED, I0[DEADLINE, q], ordinals[w])")

    def _wait_unless_over(self, gaps: tuple[Gap, ...]) -> None:
        """Write the code by which the match waits, unless its NOTs count since earlier and their times are over."""
        out, number = self.text.out, self.text.automaton.trailing.index(gaps)
        since = [gap for gap in gaps if gap in self.text.automaton.since]
        for gap in since:
            self._absent.so_far(gap)
        self._due_at(number)
        if since and self._only_timed(number):
            out("if ok and due >= t:")
        elif since:
            out("due = due if due >= t else AT_ONCE")
            out("if ok:")
        with out.block(int(bool(since))):
            self._wait(number)
            out("ok = False")

    def _wait(self, number: int) -> None:
        """Write the code that makes a waiting run for each window of the match, up to the window's end."""
        out, window = self.text.out, self.text.automaton.plan.window
        if self.text.alone:
            self._waiter(number, "I0[DEADLINE, q]", str(ALL_WINDOWS), "0")
            return
        out("begun = now[I0[START, q] & row_mask]")
        if window.slide is not None:
            out("low = first_window(t, window_size, window_slide) * window_slide")
            if window.events:
                out("low = max(low, 0)")
            out("while low <= begun:")
            with out.block():
                self._waiter(number, "low + window_size - 1", "low", "low")
                out("low += window_slide")
            return
        out("for k in range(openers.shape[1]):")
        out("    if openers[0, k] <= row_seq[I0[START, q] & row_mask] and openers[1, k] + window_size > t:")
        with out.block(2):
            self._waiter(number, "openers[1, k] + window_size - 1", "openers[1, k]", "openers[0, k]")

    def _timed(self, number: int) -> list[tuple[Gap, Absence]]:
        """The NOTs with a time that such a match waits for, and their gaps."""
        gaps = self.text.automaton.trailing[number]
        return [(gap, one) for gap in gaps for one in self.text.absences(gap.absences) if one.duration]

    def _only_timed(self, number: int) -> bool:
        """True if each NOT that this kind of waiting match waits for has a time."""
        gaps = self.text.automaton.trailing[number]
        return all(one.duration for gap in gaps for one in self.text.absences(gap.absences))

    def _due_at(self, number: int) -> None:
        """Write the code that computes `due`: the end of the times of all NOTs with a time; AT_ONCE without any."""
        if not self.text.automaton.timed:
            return
        gaps, constant = self.text.automaton.table.gaps, self.text.names.constant
        self.text.out("due = AT_ONCE")
        for gap, absence in self._timed(number):
            behind = self.text.carried(mark(gaps.index(gap)), "y")
            over = f"now[{behind} & row_mask] + constants[{constant(absence.duration or 0)}]"
            self.text.out(f"due = max(due, {over})")

    def _waiter(self, number: int, end: str, low: str, serial: str) -> None:
        """Write the code that makes a run that waits in one window: until `due` if each of its NOTs has a time, else
        until the window's end. A NOT with a time that ends behind the window cannot hold: no run is made.

        `number`: index in `automaton.trailing`. `end`, `low`, `serial`: code for the window's end, start and number.
        """
        out, timed = self.text.out, self._timed(number)
        if not timed:
            self._wait_until(number, end, low, serial)
            return
        out(f"if due <= {end}:")
        with out.block():
            self._wait_until(number, "due" if self._only_timed(number) else end, low, serial)
            if self.text.automaton.period:
                out(f"{self.text.carried(UNTIL, 'd')} = {end}")

    def _wait_until(self, number: int, deadline: str, low: str, serial: str) -> None:
        """Write the code that makes waiting run d out of lane y. `deadline`: code for the last instant of its wait.

        `number`, `low`, `serial`: as in `_waiter`.
        """
        out = self.text.out
        out("made += 1")
        out("if watch:")
        out("    note(log, KINDS * e + ENDED, I0[DEADLINE, q], ordinals[w])")
        out(f"d = np.uintp(append(G0, slot, {deadline}))")
        out("move(F0, I0, H0, y, d)")
        out(f"I0[DEADLINE, d] = {deadline}")
        out(f"{self.text.carried(STATE, 'd')} = {len(self.text.automaton.table.states) + number}")
        values = ("chain", "row", "component", "lead", low, serial)
        for feature, value in zip(PENDING, values, strict=True):
            out(f"{self.text.carried(feature, 'd')} = {value}")
        if self.text.automaton.timed:
            out(f"{self.text.carried(DUE, 'd')} = due")
        if self.text.automaton.patient:
            self.text.out(f"{self.text.carried(WANTED, 'd')} = {self._ending_bits(number)}")

    def _ending_bits(self, number: int) -> int:
        """The components with which something ends that a waiting match must not be followed by."""
        absences = self.text.absences(
            tuple(one for gap in self.text.automaton.trailing[number] for one in gap.absences)
        )
        return sum(1 << last for last in {sequence[-1] for absence in absences for sequence in absence.sequences})

    def waiting(self) -> None:
        """Write the code that drops a waiting match if the event is one that must not follow it."""
        if not self.text.automaton.trailing:
            return
        out = self.text.out
        out(f"if s >= {len(self.text.automaton.table.states)}:")
        with out.block():
            out("ok = True")
            self._absent.forbidden()
            out("if watch and not ok:")
            out("    note(log, KINDS * s + UNDONE, I0[DEADLINE, q], ordinals[w])")
            self.kept("ok")
            out("continue")

    def kept(self, condition: str) -> None:
        """Write the code that keeps or frees lane q after its conditions were evaluated."""
        out = self.text.out
        if self.text.automaton.patient:
            out(f"if not {condition}:")
            out(f"    {self.text.carried(STATE)} = GONE")
            out("    gone = q if left_out == 0 else gone")
            out("    left_out += 1")
            return
        out(f"if {condition}:")
        out("    if z != q:")
        out("        move(F0, I0, H0, q, z)")
        out("    z += one")

    def _due(self, ending: Ending) -> list[Asked]:
        return due_at_end(self.text.automaton.checks, ending.over)
