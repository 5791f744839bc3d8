"""NOT in the text of a general kernel: a search of the key's stored events between two of a match (N10)."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.events.schema import Kind
from saffron.engine.match.automaton import Feature, State
from saffron.engine.match.general.automaton import GeneralAutomaton, mark
from saffron.engine.match.general.checks import Asked
from saffron.engine.match.general.readers import LaneReader, condition
from saffron.engine.match.layout import Names, lane_array
from saffron.engine.match.lines import Lines
from saffron.language.plan import Absence


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

    def _gaps(self) -> None:
        """Go on to the next edge if run q crosses a gap in which something lies that must not."""
        out, table = self.out, self.automaton.table
        for number, kind in enumerate(table.kinds):
            gap = kind.gap
            if gap is None or not gap.left:
                continue
            out(f"if kind == {number}:")
            with out.block():
                out(f"behind = {self._carried(mark(table.gaps.index(gap)))}")
                for absence in gap.absences:
                    self._search(self.automaton.plan.absences[absence], kind.component)
        if any(kind.gap is not None and kind.gap.left for kind in table.kinds):
            out("if not ok:")
            out("    continue")

    def _search(self, absence: Absence, taken: int | None) -> None:
        """`ok` becomes False if one of the sequences lies between the rows `behind` and `row`."""
        checks = tuple(asked for check in absence.checks if not (asked := Asked(check)).is_local)
        for sequence in absence.sequences:
            self._level(sequence, len(sequence) - 1, {}, checks, taken)

    def _level(
        self, sequence: tuple[int, ...], at: int, rows: dict[int, str], checks: tuple[Asked, ...], taken: int | None
    ) -> None:
        """The event of sequence[at], before that of sequence[at + 1]."""
        out, component = self.out, sequence[at]
        later = f"row_before[{rows[sequence[at + 1]]}]" if at + 1 < len(sequence) else "row_before[r]"
        name, place = f"a{at}", f"b{at}"
        out(f"{name} = {later}")
        out(f"while ok and {name} > behind:")
        with out.block():
            out(f"{place} = {name} & row_mask")
            inside = {**rows, component: place}
            read = LaneReader(self.automaton, self.names, "q", taken, inside)
            known = set(inside)
            negated = set(sequence)
            here = [one for one in checks if component in one.reads and one.reads & negated <= known]
            here = [one for one in here if all(c < self.automaton.plan.positive or c in known for c in one.reads)]
            tests = [f"row_mask_of[{place}] & {1 << component}", *(condition(one, read) for one in here)]
            if self.automaton.plan.strict:
                tests.append(self._strictly(sequence, at, place, inside))
            out(f"if {' and '.join(tests)}:")
            with out.block():
                if at == 0:
                    out("ok = False")
                else:
                    self._level(sequence, at - 1, inside, checks, taken)
            out(f"{name} = row_before[{place}]")

    def _strictly(self, sequence: tuple[int, ...], at: int, place: str, rows: dict[int, str]) -> str:
        """TIME STRICT: before what follows, and after what came before the gap, not at the same time."""
        column = f"c{self.names.attribute('ts', Kind.INT)}"
        later = f"{column}[{rows[sequence[at + 1]]}]" if at + 1 < len(sequence) else f"{column}[r]"
        return f"{column}[{place}] < {later} and {column}[{place}] > {column}[behind & row_mask]"

    def _leading(self) -> None:
        """`ok` becomes False if something lies before the match that must not."""
