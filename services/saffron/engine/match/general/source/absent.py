"""NOT in the text of a general kernel: a search of the key's stored events before, inside or behind a match (N10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from saffron.engine.match.general.automaton import LEADING, LED, mark, met
from saffron.engine.match.general.checks import Asked, asked_of
from saffron.engine.match.general.source.readers import LaneReader, condition
from saffron.engine.match.general.source.table_text import TableText
from saffron.engine.match.general.transition_table import Kind
from saffron.language.patterns.stances import Gap
from saffron.language.plan.pattern import Absence
from saffron.schema.schema import Kind as ValueKind


@dataclass(frozen=True)
class Search:
    """Events of `sequence` in their order, all after row `behind`, which a variable names. `strictly`: and its time.

    `lane`: the run whose bindings conditions read; `taken`: the component whose event it is just taking, at place r.
    `before`: place of the event before which they lie (TIME STRICT: by time); None: there is none. `then`: what to do
    when they are found. `extra`: what an event must meet besides, with `{0}` for its place. `through`: one of them may
    be the event at place `before`.
    """

    sequence: tuple[int, ...]
    checks: tuple[Asked, ...]
    lane: str
    taken: int | None
    before: str | None
    then: str
    strictly: bool = True
    extra: str = ""
    through: bool = False


class AbsentSource:
    """Writes to `text`."""

    def __init__(self, text: TableText) -> None:
        self.text = text

    # ---- between two events of the match

    def gaps(self) -> None:
        """Go on to the next edge if run q crosses a gap in which something lies that must not."""
        out, table = self.text.out, self.text.automaton.table
        crossed = [(n, kind, gap) for n, kind in enumerate(table.kinds) for gap in kind.gaps if gap.left]
        for number, kind, gap in crossed:
            out(f"if kind == {number}:")
            with out.block():
                out(f"behind = {self.text.carried(mark(table.gaps.index(gap)))}")
                now = tuple(one for one in self._ruling(gap) if one not in kind.later)
                self._between(now, "q", kind.component, "r")
        if crossed and self.text.automaton.plan.timeouts:
            out("refused = not ok")
        elif crossed:
            out("if not ok:")
            out("    continue")

    def _ruling(self, gap: Gap) -> tuple[int, ...]:
        """The NOTs of a gap that rule something out in a match."""
        absences = self.text.automaton.plan.absences
        return tuple(one for one in gap.absences if not absences[one].or_else and not absences[one].until)

    def past_due(self, kind: Kind) -> list[str]:
        """Tests of an edge: the event comes behind the time of each NOT before it."""
        gaps = self.text.automaton.table.gaps
        return [
            f"t - now[{self.text.carried(mark(gaps.index(gap)))} & row_mask] > {self._time(absence)}"
            for gap in kind.gaps
            if gap.left
            for absence in self.text.absences(self._ruling(gap))
            if absence.duration
        ]

    def or_else(self) -> None:
        """`ok` becomes False if the event comes behind the time of the NOT beside it in an OR, which came first."""
        out = self.text.out
        for absence, component in self._behind(lambda one: one.or_else):
            out(f"if t - now[behind & row_mask] > {self._time(absence)}:")
            with out.block():
                self._sequences(absence, "q", component, "r")
                out("ok = not ok")

    def until(self) -> None:
        """`ok` becomes False if the edge goes on with a repetition that something before the event, or it, has ended.

        It does not fit then: run q waits for others. What lies in the gap of a NOT ends a run that takes the event.
        """
        for absence, component in self._behind(lambda one: one.until):
            self._sequences(absence, "q", component, "r")

    def _behind(self, chosen: Callable[[Absence], bool]) -> Iterator[tuple[Absence, int]]:
        """Each of the chosen NOTs of an edge, and the edge's component; what the caller writes meanwhile is its test.

        In it `behind` is the row behind which the NOT's events come.
        """
        out, table = self.text.out, self.text.automaton.table
        for number, kind in enumerate(table.kinds):
            for gap in kind.gaps:
                for absence in filter(chosen, self.text.absences(gap.absences)):
                    out(f"if ok and kind == {number}:")
                    with out.block():
                        out(f"behind = {self.text.carried(mark(table.gaps.index(gap)))}")
                        yield absence, kind.component

    def _time(self, absence: Absence) -> str:
        """The duration of a NOT, among the kernel's constants."""
        assert absence.duration is not None
        return f"constants[{self.text.names.constant(absence.duration)}]"

    def postponed(self) -> None:
        """Write the code that sets `ok` to False if a postponed NOT finds an event in a gap of match y."""
        out = self.text.out
        for gap, numbers in self.text.automaton.postponed.items():
            out(f"if ok and {self.text.carried(met(gap), 'y')} != 0:")
            with out.block():
                out(f"behind = {self.text.carried(mark(gap), 'y')}")
                out(f"met_place = {self.text.carried(met(gap), 'y')} & row_mask")
                self._between(numbers, "y", None, "met_place")

    def _between(self, numbers: tuple[int, ...], lane: str, taken: int | None, before: str) -> None:
        """`ok` becomes False if any of these NOTs lies behind row `behind` and before the row at place `before`."""
        for absence in self.text.absences(numbers):
            self._sequences(absence, lane, taken, before)

    def so_far(self, gap: Gap) -> None:
        """`ok` becomes False if something lies behind a gap's beginning already when match y is complete."""
        self.text.out(f"behind = {self.text.carried(mark(self.text.automaton.table.gaps.index(gap)), 'y')}")
        for absence in self.text.absences(gap.absences):
            self._sequences(absence, "y", None, None)

    def _sequences(self, absence: Absence, lane: str, taken: int | None, before: str | None) -> None:
        """Write the code that sets `ok` to False if a sequence of a NOT lies between two rows, within the NOT's time.

        It begins behind row `behind`, and ends before the row at place `before` (None: up to the event at hand). Under
        UNTIL it may end with the event at hand.
        """
        for sequence in absence.sequences:
            timed = f"now[{{0}}] - now[behind & row_mask] <= {self._time(absence)}" if absence.duration else ""
            self.text.out("a = row" if before is None or absence.until else f"a = row_before[{before}]")
            asked = self._asked(absence, sequence)
            search = Search(sequence, asked, lane, taken, before, "ok = False", extra=timed, through=absence.until)
            self._level(search, len(sequence) - 1, {})

    def _asked(self, absence: Absence, sequence: tuple[int, ...]) -> tuple[Asked, ...]:
        return asked_of(absence, sequence, self.text.automaton.plan.positive)

    # ---- before the first event

    def leading(self) -> None:
        """Write the code that sets `lead`: first row of the latest sequence of a leading NOT of run y, or -1.

        It looks back from row LED, as far as the run's windows, or the NOT's own time. If one is found, and
        `text.alone` is set, `ok` becomes False.
        """
        out = self.text.out
        out("lead = -1")
        if not self.text.automaton.leading:
            return
        inclusive = self.text.alone and not self.text.automaton.plan.window.events
        out("earliest = t - window_size" + ("" if inclusive else " + 1"))
        out(f"led_place = {self.text.carried(LED, 'y')} & row_mask")
        for number, gaps in enumerate(self.text.automaton.leading, 1):
            out(f"if {self.text.carried(LEADING, 'y')} == {number}:")
            with out.block():
                for absence in self.text.absences(tuple(number for gap in gaps for number in gap.absences)):
                    reach = "now[{0}] >= earliest"
                    if absence.duration:
                        reach = f"now[led_place] - now[{{0}}] <= {self._time(absence)}"
                    for sequence in absence.sequences:
                        out("behind = max(lead, row_tail - 1)")
                        out("a = row_before[led_place]")
                        self._level(
                            Search(
                                sequence,
                                self._asked(absence, sequence),
                                "y",
                                None,
                                "led_place",
                                "lead = max(lead, {0}); behind = max(behind, lead)",
                                strictly=False,
                                extra=reach,
                            ),
                            len(sequence) - 1,
                            {},
                        )
        if self.text.alone:
            out("if lead >= 0:")
            out("    ok = False")

    # ---- behind the last event

    def forbidden(self) -> None:
        """`ok` becomes False if the event ends something that run q's complete match must not be followed by."""
        out = self.text.out
        for number, gaps in enumerate(self.text.automaton.trailing):
            out(f"if s == {len(self.text.automaton.table.states) + number}:")
            with out.block():
                for gap in gaps:
                    out(f"behind = {self.text.carried(mark(self.text.automaton.table.gaps.index(gap)))}")
                    for absence in self.text.absences(gap.absences):
                        for sequence in absence.sequences:
                            self._ended(absence, sequence)

    def _ended(self, absence: Absence, sequence: tuple[int, ...]) -> None:
        """Write the code for an event at hand that is the last of the sequence."""
        out, last = self.text.out, sequence[-1]
        checks = self._asked(absence, sequence)
        read = LaneReader(self.text.automaton, self.text.names, "q", None, {last: "r"})
        here = [one for one in checks if last in one.reads and not one.reads & set(sequence[:-1])]
        tests = [f"m & (1 << {last})", *(condition(one, read) for one in here)]
        if self.text.automaton.plan.strict:
            tests.append(self._later("behind & row_mask", "r"))
        if absence.duration and not absence.every:  # while a match waits under EVERY, the time is not over
            tests.append(f"t - now[behind & row_mask] <= {self._time(absence)}")
        out(f"if ok and {' and '.join(tests)}:")
        with out.block():
            if len(sequence) == 1:
                out("ok = False")
                return
            out("a = row_before[r]")
            search = Search(sequence, checks, "q", None, "r", "ok = False")
            self._level(search, len(sequence) - 2, {last: "r"})

    # ---- the search

    def _level(self, search: Search, at: int, rows: dict[int, str]) -> None:
        """Write the search for the event of sequence[at], at row `a` or before it."""
        out, sequence = self.text.out, search.sequence
        component = sequence[at]
        name, place = f"a{at}", f"b{at}"
        out(f"{name} = a")
        out(f"while ok and {name} > behind:")
        with out.block():
            out(f"{place} = {name} & row_mask")
            inside = {**rows, component: place}
            read = LaneReader(self.text.automaton, self.text.names, search.lane, search.taken, inside)
            negated = set(sequence)
            here = [one for one in search.checks if component in one.reads and one.reads & negated <= set(inside)]
            tests = [f"row_mask_of[{place}] & (1 << {component})", *(condition(one, read) for one in here)]
            if search.extra:
                tests.insert(0, search.extra.format(place))
            if self.text.automaton.plan.strict:
                later = rows[sequence[at + 1]] if at + 1 < len(sequence) else search.before
                itself = f"{place} == {later} or " * search.through
                tests += [] if later is None else [f"({itself}{self._later(place, later)})"]
                if search.strictly:
                    tests.append(self._later("behind & row_mask", place))
            out(f"if {' and '.join(tests)}:")
            with out.block():
                if at == 0:
                    for line in search.then.split("; "):
                        out(line.format(name))
                else:
                    out(f"a = row_before[{place}]")
                    self._level(search, at - 1, inside)
            out(f"{name} = row_before[{place}]")

    def _later(self, place: str, other: str) -> str:
        """TIME STRICT: the second event is later, not at the same time."""
        column = f"c{self.text.names.attribute('ts', ValueKind.INT)}"
        return f"{column}[{place}] < {column}[{other}]"
