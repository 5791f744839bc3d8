"""The list of matches found in a block, as kernels write it: grown, completed, and put in the order of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core import chains
from saffron.engine.match.core.kernel_layout import (
    AT_ONCE,
    DEADLINE_OF,
    FIRST_ROW,
    FOUND,
    FOUND_ROWS,
    LEAD,
    LIVE,
    LOW,
    NODE_TAIL,
    PART,
    place,
)
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.runs import LENGTH
from saffron.engine.match.general.found import settle
from saffron.engine.match.general.sweep import room, sweep, sweep_all
from saffron.engine.match.runs.matched import mark, may_match_again
from saffron.engine.match.runs.parts import RunsPart

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]

_FIRST_SIZE = 256
_LARGE = 1 << 20
"""Matches; a longer list is given back after its block."""


class MatchList(RunsPart):
    """The matches of one query in the block at hand: `buffer` [FOUND_ROWS, ...], of which `counters[FOUND]` are used.

    Rows of the buffer: see `kernel_layout`.
    """

    def __init__(self, runs: QueryRuns) -> None:
        super().__init__(runs)
        self.buffer = np.zeros((FOUND_ROWS, _FIRST_SIZE), np.int64)
        self._again = not runs.composed and (not runs.program.flat or may_match_again(runs.plan))

    @property
    def found(self) -> Ints:
        """int64 [FOUND_ROWS, n]: the matches listed so far."""
        return self.buffer[:, : self.runs.counters[FOUND]]

    def forget(self) -> None:
        """Empty the list."""
        self.runs.counters[FOUND] = 0
        if self.buffer.shape[1] > _LARGE:
            self.buffer = np.zeros((FOUND_ROWS, _FIRST_SIZE), np.int64)

    def widen(self, size: int) -> None:
        """Make room for `size` matches."""
        while size > self.buffer.shape[1]:
            self.buffer = np.ascontiguousarray(np.pad(self.buffer, ((0, 0), (0, self.buffer.shape[1]))))

    def complete(self, start: int) -> None:
        """Put the matches from `start` on, which a kernel has found, in order.

        Runs that begin as these matches do are told apart from others (see `matched`).
        """
        if self._again:
            mark(self.runs.rows, self.buffer[FIRST_ROW, start : self.runs.counters[FOUND]])
        self._sort(start)

    def complete_flat(self, start: int, stop: int, *, shared: bool) -> None:
        """Fill in the values that are equal in all matches of flat plans. `shared`: the matches need sorting."""
        runs = self.runs
        self.buffer[PART, start:stop] = len(runs.plan.components) - 1
        self.buffer[LEAD, start:stop] = -1
        self.buffer[DEADLINE_OF : LOW + 1, start:stop] = AT_ONCE
        if shared:
            chains.sort(self.buffer, start, stop, int(runs.counters[NODE_TAIL]), runs.rows.tail, *runs.nodes.arrays)

    def sweep(self, now: int, pending: int) -> None:
        """List the matches that waited (in states from `pending` on) for windows that have ended before instant `now`.

        WITH TIMEOUTS it also lists the runs whose windows have ended.
        """
        runs = self.runs
        pool, windows, program = runs.pools[0], runs.store.windows, runs.program
        if runs.watch is not None:
            runs.watch.pass_time(pool, runs.clock, now)
        due = program.due
        most = room(pool, now, pending, due) * (1 if program.closing is None else windows.most)
        start = int(runs.counters[FOUND])
        self.widen(start + most)
        if program.closing is None:
            matches = sweep(pool, now, pending, self.buffer, start, due)
        else:
            rows = runs.store.clock(), np.asarray(runs.rows.columns[SEQ], np.int64), runs.rows.mask
            openers = np.ascontiguousarray(windows.openers)
            matches = sweep_all(pool, now, pending, self.buffer, start, runs.nodes, rows, openers, program.closing, due)
        runs.counters[FOUND] = matches
        runs.counters[place(0, LIVE)] = int(pool.segments[:, LENGTH].sum())
        self._sort(0, start)  # together with those that their keys' next events have shown to be over

    def _sort(self, start: int, since: int | None = None) -> None:
        """Put the matches from `start` on in order; `since`: from where on they are new (None: all)."""
        runs = self.runs
        if runs.program.closing is not None:
            runs.counters[FOUND] = runs.expired.split(self.buffer, start, int(runs.counters[FOUND]))
        stop = int(runs.counters[FOUND])
        if runs.watch is not None and runs.program.late:
            known = self.buffer[DEADLINE_OF, start if since is None else since : stop]
            runs.watch.complete(int(np.count_nonzero(known != AT_ONCE)))
        if not runs.program.flat:
            new = self.buffer[:, start:stop]
            runs.counters[FOUND] = start + settle(new, runs.plan.positive, runs.rows.tail, runs.nodes)
            return
        self.complete_flat(start, stop, shared=stop - start > 1)
