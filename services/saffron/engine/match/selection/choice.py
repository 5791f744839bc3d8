"""One query's choice among its matches: CONSUME, then OUTPUT. The package says when each match is decided."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.entries import Entries, joined
from saffron.engine.match.selection.apart import Apart
from saffron.engine.match.selection.best import Begun, best
from saffron.engine.match.selection.consume import Consumed
from saffron.engine.match.selection.stored import Stored
from saffron.engine.match.selection.waiting import Waiting
from saffron.language.plan import MatchPlan, Output

Array = NDArray[np.generic]
Ints = NDArray[np.int64]


class Choice:
    """`late`: some matches are known only when their window closes (trailing NOT)."""

    def __init__(self, plan: MatchPlan, *, late: bool) -> None:
        self._plan = plan
        self._late = late
        self._windows = plan.window.slide is not None or plan.window.opens is not None
        self.consumed = Consumed(plan.consume, plan.positive) if plan.consume else None
        self.apart = Apart() if plan.output is Output.NON_OVERLAP else None
        self.begun = Begun() if plan.output is Output.FIRST and not late else None
        self.unconsumed = Waiting(windows=self._windows)  # CONSUME has not decided yet
        self.undecided = Waiting(windows=self._windows)  # OUTPUT has not decided yet

    @staticmethod
    def waits(plan: MatchPlan, *, late: bool) -> bool:
        """Whether any result of the plan is known only when a window has closed."""
        return late or plan.timeouts or plan.output is Output.LONGEST

    @staticmethod
    def lag(plan: MatchPlan, *, late: bool) -> int:
        """How long after its own windows an event may still be needed, in the window's clock."""
        alone = plan.window.slide is None and plan.window.opens is None
        by_last = bool(plan.consume) or plan.output is Output.COMPRESSED
        across = plan.output is Output.NON_OVERLAP or (by_last and alone)
        return plan.window.size if late and across else 0

    @property
    def waiting(self) -> int:
        """How many matches are not decided yet."""
        return len(self.unconsumed) + len(self.undecided)

    @property
    def size(self) -> int:
        """Bytes of state."""
        held = [self.unconsumed.held.found, self.undecided.held.found]
        held += [one.marks.table for one in (self.consumed, self.begun) if one is not None]
        held += [self.apart.ends] if self.apart is not None else []
        return sum(array.nbytes for array in held)

    def chosen(self, entries: Entries, stored: Stored, now: int) -> Entries:
        """What is decided by now: that of each deadline in the order of results, then that without one.

        `entries`: those of a block. `now`: the instant up to which windows have closed.
        """
        return self._output(self._consume(entries, stored, now), stored, now)

    def forget(self) -> None:
        """Nothing that waits is decided any more."""
        for waiting in (self.unconsumed, self.undecided):
            waiting.restore(waiting.saved()[:, :0])

    # ---- CONSUME

    def _consume(self, entries: Entries, stored: Stored, now: int) -> Entries:
        if self.consumed is None:
            return entries
        if not self._late:
            return self.consumed.left(entries, stored)
        self.unconsumed.add(entries.due(self._closes(entries, stored, last=True)))
        return self.consumed.left(self.unconsumed.take(now, stored), stored)

    # ---- OUTPUT

    def _output(self, entries: Entries, stored: Stored, now: int) -> Entries:
        output = self._plan.output
        if self.apart is not None:
            if not self._late:
                return self.apart.left(entries, stored)
            self.undecided.add(entries.due(stored.until(entries, last=True)))
            return self.apart.left(self.undecided.take(now, stored), stored)
        if self.begun is not None:
            return self.begun.left(entries, stored)
        if output in (Output.FIRST, Output.LONGEST):
            return self._best(entries, stored, now)
        if output is Output.COMPRESSED and self._late:
            self.undecided.add(entries.due(self._closes(entries, stored, last=True)))
            return self.undecided.take(now, stored)
        return entries

    def _best(self, entries: Entries, stored: Stored, now: int) -> Entries:
        deadline = self._closes(entries, stored, last=False)
        if self._late and self.consumed is not None and not self._windows:
            deadline = deadline + self._plan.window.size - int(self._plan.window.events)
        if len(entries):
            held = joined([self.undecided.held, entries.due(deadline)])
            held = stored.in_order(held) if self._late else held
            self.undecided.held = best(held, stored, longest=self._plan.output is Output.LONGEST)
        return self.undecided.take(now, stored)

    def _closes(self, entries: Entries, stored: Stored, *, last: bool) -> Ints:
        """[n] the end of each match's window; without windows the end of what its first, or last, event may reach."""
        if entries.lows is None:
            return stored.until(entries, last=last)
        return entries.lows + (self._plan.window.size - 1)

    # ---- state

    def saved(self, oldest: int) -> dict[str, Array]:
        """Its state as flat arrays. `oldest`: the first row that is stored."""
        arrays: dict[str, Array] = {"unconsumed": self.unconsumed.saved(), "undecided": self.undecided.saved()}
        if self.consumed is not None:
            arrays["consumed"] = self.consumed.marks.saved(oldest)
        if self.apart is not None:
            arrays["ends"] = self.apart.ends.copy()
        if self.begun is not None:
            arrays["begun"] = self.begun.marks.saved(oldest)
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `saved` gave."""
        self.unconsumed.restore(np.asarray(arrays["unconsumed"], np.int64))
        self.undecided.restore(np.asarray(arrays["undecided"], np.int64))
        if self.consumed is not None:
            self.consumed.marks.restore(np.asarray(arrays["consumed"], np.int64))
        if self.apart is not None:
            self.apart.ends = np.array(arrays["ends"], np.int64)
        if self.begun is not None:
            self.begun.marks.restore(np.asarray(arrays["begun"], np.int64))
