"""Transitions of runs that walk a table (P2), counted in a share of blocks, which are watched.

A run is in a state from the event after the one that brought it there, up to the event with which it leaves, or the
last in its window. Each run is counted as if it stayed to the end of the block or of its window; what it did not stay
is subtracted when it leaves. Censored, and so not counted, are runs that an order dropped, blocks of which the query
does not see all events, and blocks within a window behind such.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.runs import DEADLINE
from saffron.engine.match.general.passing import Passing
from saffron.engine.match.general.pending import STATE_ROW
from saffron.engine.match.general.transition_table import ENDING, FIRST, FIRST_TARGET, HELD, PASSED, STOP, STOP_TARGET
from saffron.engine.match.general.watched import (
    DEADLINE_AT,
    ENDED,
    GONE_WITH,
    HELD_ON,
    KINDS,
    LEFT,
    ORDINAL_AT,
    PASSED_ON,
    ROWS,
    TOOK,
    UNDONE,
    WHAT,
)
from saffron.engine.operators.sampled import is_sampled

Ints = NDArray[np.int64]
Cells = dict[tuple[int, int], int]

ONE_IN = 256
"""The number of blocks of which one is watched, by the hash of its first instant: it takes two to three times as
long.
"""

FORKED, DIED = -2, -1
"""Besides states: successors of runs beyond one for each event, and runs that ended with nothing."""

UNWATCHED = np.ones((ROWS, 1), np.int64)
"""The log of a kernel that notes nothing."""

_NOTES = 16  # for which there is room, by event and run


class Watch:
    """The counter of transitions of general runs in watched blocks. `tables`: states, edges and targets.

    `trailing`: by ending, the number of the NOTs that a match waits for, -1 for none.

    States are those of the table, then matches that wait for their window's end, then the match. `one_in`: see ONE_IN.
    """

    def __init__(self, tables: Sequence[Ints], trailing: Sequence[int], one_in: int = ONE_IN) -> None:
        self._states, self._edges, self._targets = tables
        self._trailing = trailing
        self._waiting = max(trailing, default=-1) + 1
        self.one_in = one_in
        self.on = self._censored = False
        self._before = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.log = UNWATCHED
        self.clear()

    @property
    def states(self) -> int:
        """The number m of states, the completed one included."""
        return len(self._states) + self._waiting + 1

    @property
    def counting(self) -> bool:
        """True if the block at hand is watched."""
        return self.on

    def censor(self, *, censored: bool) -> None:
        """Begin a block; a censored one is not watched."""
        self._censored = censored

    def end_block(self) -> None:
        """Do nothing: this watch postpones nothing to the end of a block."""

    def restart(self) -> None:
        """Do nothing: after a snapshot nothing has been counted."""

    def take(self) -> tuple[Cells, int, int]:
        """The transitions since the last call by (state, next state), events, and ms that runs lived."""
        cells, events, lived = self.cells(), self.events, self.lived
        self.clear()
        return cells, events, lived

    def share(self, one_in: int) -> None:
        """Watch one in `one_in` blocks from the next on; if all are watched, the block at hand too."""
        self.one_in = one_in
        self.on = one_in == 1 and not self._censored

    def clear(self) -> None:
        """Set all counts to 0."""
        self.events = 0
        self.lived = 0  # ms, by all partial matches together
        self._completed = 0
        self._counts = np.zeros((KINDS, max(len(self._edges), self.states)), np.int64)
        self._met = np.zeros(self.states, np.int64)

    def begin_block(self, pool: Pool, clock: int, now: int) -> None:
        """Begin a block with an event at `now`; the last event before was at `clock`."""
        self.on = is_sampled(now, self.one_in) and not self._censored
        self.pass_time(pool, clock, now)

    def pass_time(self, pool: Pool, clock: int, now: int) -> None:
        """Count the last lifetimes of runs whose windows end before `now`; no event has come since `clock`."""
        if self.on:
            _, deadlines = self._alive(pool, clock)
            self.lived += int((deadlines[deadlines < now] - clock).sum())

    def begin(self, pool: Pool, part: Passing, *, first: bool) -> None:
        """Begin a part, with the runs alive before it and a log. `first`: of its block."""
        if self.on:
            self._before = self._alive(pool, int(part.instants[0]) if first else part.clock)
            self.log = np.empty((ROWS, _NOTES * (len(part.instants) + len(self._before[0]) + _NOTES)), np.int64)
            self.log[WHAT, 0] = 1

    def end(self, part: Passing) -> None:
        """End a part: count the notes of its log. If the log was too small, the part is left out."""
        if not self.on:
            return
        log, self.log = self.log, UNWATCHED
        if log[WHAT, 0] > log.shape[1]:
            return
        self.events += int(part.ordinals[-1]) - part.ordinal
        states, deadlines = self._before
        self._stay(part, states, deadlines, np.full(len(states), part.ordinal), 1)
        notes = log[:, 1 : log[WHAT, 0]]
        kinds, places = notes[WHAT] % KINDS, notes[WHAT] // KINDS
        self._went(part, kinds, places, notes[DEADLINE_AT], notes[ORDINAL_AT])

    def complete(self, count: int) -> None:
        """Count matches whose wait for the end of a window is over."""
        self._completed += count if self.on else 0

    def _alive(self, pool: Pool, since: int) -> tuple[Ints, Ints]:
        """States and deadlines of runs whose windows are not over at an instant."""
        lanes = pool.lanes()
        states, deadlines = pool.ints[STATE_ROW, lanes], pool.ints[DEADLINE, lanes]
        alive = (deadlines >= since) & (states < len(self._states))
        return states[alive], deadlines[alive]

    # ---------------------------------------------------------------- what runs did

    def _went(self, part: Passing, kinds: Ints, places: Ints, deadlines: Ints, ordinals: Ints) -> None:
        """Count notes: those of runs that have bound something and whose windows were not over."""
        of_edge = (kinds == TOOK) | (kinds == ENDED)
        counts = of_edge | (places > 0) & (deadlines >= part.instants_of(ordinals))
        kinds, places, deadlines, ordinals = (one[counts] for one in (kinds, places, deadlines, ordinals))
        width = self._counts.shape[1]
        self._counts += np.bincount(kinds * width + places, minlength=self._counts.size).reshape(self._counts.shape)
        chosen = (kinds >= LEFT) & (kinds <= GONE_WITH)
        self._stay(part, places[chosen], deadlines[chosen], ordinals[chosen], -1)
        for kind, column in ((HELD_ON, HELD), (PASSED_ON, PASSED)):
            chosen = kinds == kind
            self._stay(part, self._states[places[chosen], column], deadlines[chosen], ordinals[chosen], 1)
        took = kinds == TOOK
        first, stop = self._edges[places[took], FIRST_TARGET], self._edges[places[took], STOP_TARGET]
        several = stop - first
        begins = np.repeat(first - (np.cumsum(several) - several), several)
        into = self._targets[begins + np.arange(int(several.sum()))]
        self._stay(part, into, np.repeat(deadlines[took], several), np.repeat(ordinals[took], several), 1)

    def _stay(self, part: Passing, states: Ints, deadlines: Ints, ordinals: Ints, sign: int) -> None:
        """Count runs in these states from these events to the end of the part or their windows (`sign` -1: undo)."""
        now = part.instants_of(ordinals)
        met = np.bincount(states, part.ordinals_at(deadlines) - ordinals, minlength=self.states)
        self._met += sign * met.astype(np.int64)
        self.lived += sign * int((np.minimum(deadlines, part.instants[-1]) - now).sum())

    # ---------------------------------------------------------------- what was counted

    def cells(self) -> Cells:
        """(state before, state after) -> how often, DIED and FORKED among those after."""
        counts, cells = self._counts, Cells()
        for state, row in enumerate(self._states.tolist()):
            took = self._taken(state, row, cells)
            if state == 0:
                _add(cells, (0, 0), max(0, self.events - took))
                _fork(cells, 0, self.events)
                continue
            left = sum(int(counts[kind, state]) for kind in (LEFT, HELD_ON, PASSED_ON, GONE_WITH))
            _add(cells, (state, state), int(self._met[state]) - left)
            _add(cells, (state, row[HELD]), int(counts[HELD_ON, state]))
            _add(cells, (state, row[PASSED]), int(counts[PASSED_ON, state]))
            _add(cells, (state, DIED), int(counts[GONE_WITH, state]))
            _fork(cells, state, int(self._met[state]))
        self._waited(cells)
        return cells

    def _taken(self, state: int, row: Sequence[int], cells: Cells) -> int:
        """Count where a state's edges led; how often any of them was taken."""
        taken = 0
        for edge in range(row[FIRST], row[STOP]):
            took = int(self._counts[TOOK, edge])
            taken += took
            first, last, ending = self._edges[edge, [FIRST_TARGET, STOP_TARGET, ENDING]].tolist()
            for target in self._targets[first:last].tolist():
                _add(cells, (state, target), took)
            if ending >= 0:
                waits = self._trailing[ending]
                into = self.states - 1 if waits < 0 else len(self._states) + waits
                _add(cells, (state, into), int(self._counts[ENDED, edge]))
        return taken

    def _waited(self, cells: Cells) -> None:
        """Count the transitions of waiting matches. They are one step from the end: no event brings them nearer."""
        first = len(self._states)
        waiting = range(first, first + self._waiting)
        came = {state: sum(count for (_, into), count in cells.items() if into == state) for state in waiting}
        whole = max(1, sum(came.values()))
        for state in waiting:
            _add(cells, (state, DIED), int(self._counts[UNDONE, state]))
            _add(cells, (state, self.states - 1), self._completed * came[state] // whole)


def _add(cells: Cells, cell: tuple[int, int], count: int) -> None:
    if count > 0:
        cells[cell] = cells.get(cell, 0) + count


def _fork(cells: Cells, state: int, met: int) -> None:
    _add(cells, (state, FORKED), sum(count for (source, _), count in cells.items() if source == state) - met)
