"""Matches as results of their own, one by one, or as graphs that are made of their list (OUTPUT COMPRESSED)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.match.core import rows
from saffron.engine.match.core.kernel_layout import AT_ONCE, FOUND, LAST_ROW, NODE_TAIL
from saffron.engine.match.output.collapsed import CollapsedMatches
from saffron.engine.match.output.found import entries_of
from saffron.engine.match.output.render import Matches
from saffron.engine.match.output.timed_out import TimedOutRuns
from saffron.engine.match.runs.parts import Reporter
from saffron.engine.match.runs.query_runs import AFTER_ALL, QueryRuns
from saffron.engine.match.selection.entries import Entries, at_once, joined
from saffron.engine.match.selection.grouped import grouped
from saffron.engine.operators.results import DUE, FULL, Fired
from saffron.language.plan.clauses import Output

Ints = NDArray[np.int64]


class Listing(Reporter):
    """A `Reporter` of single matches. They alone become events of other queries (INTO)."""

    @property
    def unreported(self) -> bool:
        runs = self.runs
        return bool(runs.found.shape[1] or runs.decided or runs.choice.waiting or len(runs.expired))

    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        """The results that the block decided, in the parts of `known`. WITH TIMEOUTS timed-out runs are a last part."""
        runs = self.runs
        entries = joined([*runs.decided, self._decided()])
        parts = [_reported(runs, one, name, partition, block) for one in known(runs, entries, block)]
        if runs.timeouts is not None:
            over = runs.timeouts.over(runs.expired, runs.stored)
            deadline = over.entries.deadline
            behind = _behind(deadline, runs, block)
            parts.append(Fired(name, TimedOutRuns(runs, over, name, partition, behind), _phase(runs), deadline))
        return parts

    def settled(self) -> Entries:
        """The entries decided since the last call; `fired` reports them all the same."""
        entries = self._decided()
        self.runs.decided.append(entries)
        self.runs.counters[FOUND] = 0
        return entries

    def pause(self) -> None:
        self.runs.end_part()
        self.settled()
        self.runs.choice.forget()

    def _decided(self) -> Entries:
        """The entries that are decided: of the matches found, and of those that waited."""
        runs = self.runs
        entries = entries_of(runs)
        if runs.timeouts is not None:
            runs.timeouts.match(entries, runs.stored)
        return runs.choice.chosen(entries, runs.stored, runs.swept)


@dataclass(frozen=True)
class Known:
    """Entries in order, and when they were known.

    `position` [n]: before or at which; None: with their last events. `phase`, `deadline` [n]: see `results.Fired`.
    """

    entries: Entries
    position: Ints | None = None
    phase: int = DUE
    deadline: Ints | None = None


def known(runs: QueryRuns, entries: Entries, block: Block) -> list[Known]:
    """The entries by when they were known: those that waited for the end of a window, then those that did not."""
    if not (runs.composed or runs.program.waits):
        return [Known(entries)]
    now = at_once(entries)
    late, prompt = entries.only(~now), entries.only(now)
    late = late.only(np.argsort(late.deadline, kind="stable"))
    parts = [Known(late, _behind(late.deadline, runs, block), _phase(runs), late.deadline)]
    if not runs.composed:
        return [*parts, Known(prompt)]
    columns, last = runs.rows.columns, prompt.found[LAST_ROW] & runs.rows.mask
    deadline = columns[rows.DUE][last].astype(np.int64)
    for phase, chosen in _phases(deadline, columns[rows.COUNTED][last]):
        fires = columns[rows.FIRES][last[chosen]].astype(np.int64)
        at = np.where(deadline == AT_ONCE, AFTER_ALL, deadline)[chosen]
        parts.append(Known(prompt.only(chosen), fires, phase, at))
    return parts


def _phases(deadline: Ints, counted: NDArray[np.generic]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Matches by the kind of instant with which they are known: DUE, an event or a deadline in time; FULL, a count."""
    full = (deadline != AT_ONCE) & (counted != 0)
    return [(DUE, ~full), (FULL, full)] if full.any() else [(DUE, ~full)]


def _reported(runs: QueryRuns, one: Known, name: str, partition: int, block: Block) -> Fired:
    if runs.plan.output is not Output.COMPRESSED or not len(one.entries):
        return Fired(name, Matches(runs, one.entries, name, partition, one.position), one.phase, one.deadline)
    collapsed = grouped(one.entries, runs.stored, int(runs.counters[NODE_TAIL]))
    position = None if one.position is None else _behind(collapsed.entries.deadline, runs, block)
    graphs = CollapsedMatches(runs, collapsed, name, partition, position)
    return Fired(name, graphs, one.phase, None if one.deadline is None else graphs.deadline)


def _phase(runs: QueryRuns) -> int:
    return FULL if runs.plan.window.events else DUE


def _behind(deadline: Ints, runs: QueryRuns, block: Block) -> Ints:
    """[n] the position of the first event whose instant is greater; no later than where the block ends."""
    if runs.plan.window.events:
        return np.minimum(deadline + 1, block.next_seq)
    behind = np.searchsorted(block.columns.ts, deadline, side="right")
    return np.append(block.columns.seq, block.next_seq)[behind]
