"""The state of writing a flat step kernel: its plan, its names, and its lines so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.match.core.automaton import Automaton, State
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.source.lines import Lines
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy

CONTIGUOUS = (Strategy.STRICT, Strategy.PARTITION)


@dataclass
class StepText:
    """The text, plan and names that all writers of one kernel share. `merging`: the state whose runs merge."""

    automaton: Automaton
    names: Names
    merging: int | None = None
    out: Lines = field(default_factory=Lines)

    @property
    def plan(self) -> MatchPlan:
        return self.automaton.plan

    @property
    def strategy(self) -> Strategy:
        return self.plan.strategy

    @property
    def states(self) -> tuple[State, ...]:
        return self.automaton.states

    @property
    def last(self) -> int:
        """The last component."""
        return len(self.plan.components) - 1

    @property
    def merged(self) -> State | None:
        """The state whose runs merge."""
        return None if self.merging is None else self.states[self.merging]

    def merges(self, state: State) -> bool:
        """True if the runs of this state merge."""
        return state.index == self.merging

    def ordered(self, state: State) -> bool:
        """True if a segment stands in the order of its runs' starts: then those that expire are at its front."""
        return state.index == 0 and not (state.closure and self.strategy is Strategy.ANY)

    def listed(self, state: State) -> bool:
        """True if the deadlines that come next are listed (see `due`); without order all lanes hold some of them.

        Contiguity needs no list: every event looks at all lanes.
        """
        return not self.ordered(state) and self.strategy not in CONTIGUOUS
