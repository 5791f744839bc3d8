"""Transitions of partial matches, counted for the model builder (P2): per event of the stream and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from saffron.engine.match.core.kernel_layout import BEGAN, LEFT, LIVED, MET, MOVED, place
from saffron.engine.match.core.kernel_layout import DIED as DEATHS
from saffron.engine.match.general.watch import DIED, FORKED, Cells
from saffron.engine.match.runs.parts import RunsPart

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns


class Transitions(Protocol):
    """Counts since they were last taken. A censored block is one of which the query does not see all that matters."""

    @property
    def counting(self) -> bool:
        """True if transitions are counted and reported now."""

    def share(self, one_in: int) -> None:
        """Count one of `one_in` blocks from the next block on, where counting costs time."""

    def censor(self, *, censored: bool) -> None:
        """Begin a block; nothing is observed in it if it is censored."""

    def end_block(self) -> None:
        """End a block."""

    def take(self) -> tuple[Cells, int, int]:
        """The transitions since the last call by (state, next state), events, and ms that runs lived."""

    def restart(self) -> None:
        """Discard all counts so far."""


class FlatTransitions(RunsPart):
    """The transition counts of flat runs, whose kernels always count. State c + 1: component c is bound."""

    def __init__(self, runs: QueryRuns) -> None:
        super().__init__(runs)
        self._told: dict[str, int] = {}
        self._censored: dict[str, int] | None = None  # counts before the block at hand

    @property
    def counting(self) -> bool:
        return self._censored is None

    def share(self, one_in: int) -> None:
        """Do nothing: all runs are observed."""

    def censor(self, *, censored: bool) -> None:
        self._censored = self._totals() if censored else None

    def end_block(self) -> None:
        """End a block; the counts of a censored block are discarded."""
        before, self._censored = self._censored, None
        if before is not None:
            totals = self._totals()
            self._told = {name: self._told.get(name, 0) + total - before[name] for name, total in totals.items()}

    def take(self) -> tuple[Cells, int, int]:
        totals, before = self._totals(), self._told
        self._told = totals
        grown = {name: value - before.get(name, 0) for name, value in totals.items()}
        events, lived = grown.pop("events"), grown.pop("lived")
        return {_cell(name): count for name, count in grown.items() if count > 0}, events, lived

    def restart(self) -> None:
        self._told = self._totals()

    def _totals(self) -> dict[str, int]:
        """All counts since the query began: transitions by "FROM>TO", "events", and "lived" in the window's clock."""
        runs = self.runs
        counters = runs.counters
        began = int(counters[BEGAN])
        totals = {"events": runs.ordinal, "lived": int(counters[LIVED]), "0>1": began, "0>0": runs.ordinal - began}
        for index in range(min(len(runs.program.states), len(runs.plan.components) - 1)):
            met, moved, left, died = (int(counters[place(index, which)]) for which in (MET, MOVED, LEFT, DEATHS))
            state = index + 1
            totals[f"{state}>{state}"] = met - left - died
            totals[f"{state}>{state + 1}"] = moved
            totals[f"{state}>{DIED}"] = died
            totals[f"{state}>{FORKED}"] = moved - left
        return totals


def _cell(name: str) -> tuple[int, int]:
    source, target = name.split(">")
    return int(source), int(target)
