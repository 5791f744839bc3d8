"""NOT in the text of a general kernel: a search of the key's stored events before, inside or behind a match (N10)."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.match.core.automaton import Feature, State
from saffron.engine.match.core.kernel_layout import Names, lane_array
from saffron.engine.match.core.lines import Lines
from saffron.engine.match.general.automaton import LEADING, LED, GeneralAutomaton, mark, met
from saffron.engine.match.general.checks import Asked, joint
from saffron.engine.match.general.readers import LaneReader, condition
from saffron.language.plan.plan import Absence
from saffron.schema.schema import Kind


@dataclass(frozen=True)
class Search:
    """Events of `sequence` in their order, all after row `behind`, which a variable names. `strictly`: and its time.

    `lane`: the run whose bindings conditions read; `taken`: the component whose event it is just taking, at place r.
    `before`: place of the event before which they lie (TIME STRICT: by time). `then`: what to do when they are found.
    `extra`: what an event must meet besides, with `{0}` for its place.
    """

    sequence: tuple[int, ...]
    checks: tuple[Asked, ...]
    lane: str
    taken: int | None
    before: str
    then: str
    strictly: bool = True
    extra: str = ""


@dataclass
class AbsentSource:
    """Text is written to `out`."""

    automaton: GeneralAutomaton
    names: Names
    out: Lines = field(default_factory=Lines)

    @property
    def state(self) -> State:
        return self.automaton.state

    def _carried(self, feature: Feature, lane: str = "q") -> str:
        return f"{lane_array(self.state, feature)}[{lane}]"

    # ---- between two events of the match

    def _gaps(self) -> None:
        """Go on to the next edge if run q crosses a gap in which something lies that must not."""
        out, table = self.out, self.automaton.table
        crossed = [(n, kind, gap) for n, kind in enumerate(table.kinds) for gap in kind.gaps if gap.left]
        for number, kind, gap in crossed:
            out(f"if kind == {number}:")
            with out.block():
                out(f"behind = {self._carried(mark(table.gaps.index(gap)))}")
                now = tuple(one for one in gap.absences if one not in kind.later)
                self._between(now, "q", kind.component, "r")
        if crossed and self.automaton.plan.timeouts:
            out("refused = not ok")
        elif crossed:
            out("if not ok:")
            out("    continue")

    def _postponed(self) -> None:
        """`ok` becomes False if something lies in a gap of the complete match y that what came later says must not."""
        out = self.out
        for gap, numbers in self.automaton.postponed.items():
            out(f"if ok and {self._carried(met(gap), 'y')} != 0:")
            with out.block():
                out(f"behind = {self._carried(mark(gap), 'y')}")
                out(f"met_place = {self._carried(met(gap), 'y')} & row_mask")
                self._between(numbers, "y", None, "met_place")

    def _between(self, numbers: tuple[int, ...], lane: str, taken: int | None, before: str) -> None:
        """`ok` becomes False if any of these NOTs lies behind row `behind` and before the row at place `before`."""
        for absence in self._absences(numbers):
            for sequence in absence.sequences:
                self.out(f"a = row_before[{before}]")
                self._level(Search(sequence, joint(absence), lane, taken, before, "ok = False"), len(sequence) - 1, {})

    def _absences(self, numbers: tuple[int, ...]) -> list[Absence]:
        return [self.automaton.plan.absences[number] for number in numbers]

    # ---- before the first event

    def _leading(self) -> None:
        """`lead` becomes the first row of the latest thing before run y's first event, as far back as its windows."""
        out = self.out
        out("lead = -1")
        if not self.automaton.leading:
            return
        inclusive = self._alone and not self.automaton.plan.window.events
        out("earliest = t - window_size" + ("" if inclusive else " + 1"))
        out(f"led_place = {self._carried(LED, 'y')} & row_mask")
        for number, gaps in enumerate(self.automaton.leading, 1):
            out(f"if {self._carried(LEADING, 'y')} == {number}:")
            with out.block():
                for absence in self._absences(tuple(number for gap in gaps for number in gap.absences)):
                    for sequence in absence.sequences:
                        out("behind = max(lead, row_tail - 1)")
                        out("a = row_before[led_place]")
                        self._level(
                            Search(
                                sequence,
                                joint(absence),
                                "y",
                                None,
                                "led_place",
                                "lead = max(lead, {0}); behind = max(behind, lead)",
                                strictly=False,
                                extra="now[{0}] >= earliest",
                            ),
                            len(sequence) - 1,
                            {},
                        )
        if self._alone:
            out("if lead >= 0:")
            out("    ok = False")

    @property
    def _alone(self) -> bool:
        """WITHIN without windows of its own."""
        return self.automaton.plan.window.slide is None and self.automaton.plan.window.opens is None

    # ---- behind the last event

    def _forbidden(self) -> None:
        """`ok` becomes False if the event ends something that run q's complete match must not be followed by."""
        out = self.out
        for number, gaps in enumerate(self.automaton.trailing):
            out(f"if s == {len(self.automaton.table.states) + number}:")
            with out.block():
                for gap in gaps:
                    out(f"behind = {self._carried(mark(self.automaton.table.gaps.index(gap)))}")
                    for absence in self._absences(gap.absences):
                        for sequence in absence.sequences:
                            self._ended(absence, sequence)

    def _ended(self, absence: Absence, sequence: tuple[int, ...]) -> None:
        """The event at hand is the last of the sequence."""
        out, last = self.out, sequence[-1]
        checks = joint(absence)
        read = LaneReader(self.automaton, self.names, "q", None, {last: "r"})
        here = [one for one in checks if last in one.reads and not one.reads & set(sequence[:-1])]
        tests = [f"m & (1 << {last})", *(condition(one, read) for one in here)]
        if self.automaton.plan.strict:
            tests.append(self._later("behind & row_mask", "r"))
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
        """The event of sequence[at], at row `a` or before it."""
        out, sequence = self.out, search.sequence
        component = sequence[at]
        name, place = f"a{at}", f"b{at}"
        out(f"{name} = a")
        out(f"while ok and {name} > behind:")
        with out.block():
            out(f"{place} = {name} & row_mask")
            inside = {**rows, component: place}
            read = LaneReader(self.automaton, self.names, search.lane, search.taken, inside)
            negated = set(sequence)
            here = [one for one in search.checks if component in one.reads and one.reads & negated <= set(inside)]
            tests = [f"row_mask_of[{place}] & (1 << {component})", *(condition(one, read) for one in here)]
            if search.extra:
                tests.insert(0, search.extra.format(place))
            if self.automaton.plan.strict:
                later = rows[sequence[at + 1]] if at + 1 < len(sequence) else search.before
                tests.append(self._later(place, later))
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
        column = f"c{self.names.attribute('ts', Kind.INT)}"
        return f"{column}[{place}] < {column}[{other}]"
