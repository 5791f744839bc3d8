"""The state of writing a general step kernel: its automaton, its names, and its lines so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.match.core.automaton import Feature, State
from saffron.engine.match.core.kernel_layout import Names, lane_array
from saffron.engine.match.core.source.lines import Lines
from saffron.engine.match.general.automaton import STATE, WANTED, GeneralAutomaton
from saffron.language.plan.pattern import Absence


@dataclass
class TableText:
    """The text, plan and names that all writers of one kernel share."""

    automaton: GeneralAutomaton
    names: Names
    out: Lines = field(default_factory=Lines)

    @property
    def state(self) -> State:
        """The rows of the pool of runs."""
        return self.automaton.state

    @property
    def alone(self) -> bool:
        """True if the plan has WITHIN without windows of its own."""
        return self.automaton.plan.window.slide is None and self.automaton.plan.window.opens is None

    @property
    def windows(self) -> str:
        """The most windows in which one match can wait for the end."""
        window = self.automaton.plan.window
        if window.opens is not None:
            return "openers.shape[1]"
        return "1" if window.slide is None else "(window_size // window_slide + 1)"

    def carried(self, feature: Feature, lane: str = "q") -> str:
        """The text by which code reads a value that a run carries."""
        return f"{lane_array(self.state, feature)}[{lane}]"

    @property
    def due(self) -> str:
        """The argument `due` of `pending.close`, as text."""
        row, period = self.automaton.due
        return f"({row}, constants[{self.names.constant(period)}])" if period else f"({row}, 0)"

    def absences(self, numbers: tuple[int, ...]) -> list[Absence]:
        return [self.automaton.plan.absences[number] for number in numbers]

    def into(self, lane: str, state: str) -> None:
        """Write the code that moves the lane into a state."""
        self.out(f"{self.carried(STATE, lane)} = {state}")
        if self.automaton.patient:
            self.out(f"{self.carried(WANTED, lane)} = states[{state}, WANTS]")
