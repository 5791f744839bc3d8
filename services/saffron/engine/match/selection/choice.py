"""The selection among one query's matches by OUTPUT and CONSUME; see the package for the time of each decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.selection.apart import Apart
from saffron.engine.match.selection.best import best
from saffron.engine.match.selection.entries import Entries, joined
from saffron.engine.match.selection.marks import Marks
from saffron.engine.match.selection.stored import Stored
from saffron.engine.match.selection.taken import Taken
from saffron.engine.match.selection.waiting import Waiting
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan

Array = NDArray[np.generic]
Ints = NDArray[np.int64]


class Choice:
    """The choice of a query among its matches. `late`: a trailing NOT decides matches only when windows close."""

    def __init__(self, plan: MatchPlan, *, late: bool) -> None:
        self._plan = plan
        self._late = late
        self._windows = plan.window.slide is not None or plan.window.opens is not None
        output = plan.output
        # Matches that NON-OVERLAP takes share no event anyway.
        consuming = () if output is Output.NON_OVERLAP else plan.consume
        longest = output is Output.LONGEST
        once = longest or output is Output.FIRST
        self._best = once and not consuming and (late or longest)
        self.apart = Apart() if output is Output.NON_OVERLAP else None
        takes = bool(consuming) or (once and not self._best)
        self.taken = Taken(consuming, plan.positive, once=once, longest=longest) if takes else None
        self.undecided = Waiting(windows=self._windows)

    @staticmethod
    def waits(plan: MatchPlan, *, late: bool) -> bool:
        """True if any result of the plan is known only when a window has closed."""
        return late or plan.timeouts or plan.output is Output.LONGEST

    @staticmethod
    def lag(plan: MatchPlan, *, late: bool) -> int:
        """The time after its own windows in which an event may still be needed, in the window's clock."""
        alone = plan.window.slide is None and plan.window.opens is None
        by_last = bool(plan.consume) or plan.output is Output.COMPRESSED
        across = plan.output is Output.NON_OVERLAP or (by_last and alone)
        return plan.window.size if late and across else 0

    @property
    def waiting(self) -> int:
        """The number of matches that are not decided yet."""
        return len(self.undecided)

    @property
    def size(self) -> int:
        """Bytes of state."""
        held = self.undecided.held.found.nbytes
        held += 0 if self.apart is None else self.apart.ends.nbytes
        return held + (0 if self.taken is None else self.taken.size)

    def chosen(self, entries: Entries, stored: Stored, now: int) -> Entries:
        """The entries decided by now: those of each deadline in the order of results, then those without one.

        `entries`: those of a block. `now`: the instant up to which windows have closed.
        """
        deadline = self._deadline(entries, stored)
        if deadline is not None:
            self._add(entries.due(deadline), stored)
            entries = self.undecided.take(now, stored)
        if self.apart is not None:
            return self.apart.left(entries, stored)
        return entries if self.taken is None else self.taken.left(entries, stored)

    def forget(self) -> None:
        """Forget all matches that wait to be decided."""
        self.undecided.restore(self.undecided.saved()[:, :0])

    def _deadline(self, entries: Entries, stored: Stored) -> Ints | None:
        """[n] when each match is decided; None: at once."""
        if self._plan.output is Output.LONGEST or (self._best and self._late):
            return self._closes(entries, stored, last=False)
        if not self._late:
            return None
        if self.apart is not None:
            return stored.until(entries, last=True)
        waits = self.taken is not None or self._plan.output is Output.COMPRESSED
        return self._closes(entries, stored, last=True) if waits else None

    def _add(self, entries: Entries, stored: Stored) -> None:
        if not self._best or not len(entries):
            self.undecided.add(entries)
            return
        held = joined([self.undecided.held, entries])
        held = stored.in_order(held) if self._late else held
        self.undecided.held = best(held, stored, longest=self._plan.output is Output.LONGEST)

    def _closes(self, entries: Entries, stored: Stored, *, last: bool) -> Ints:
        """[n] the end of each match's window; without windows the end of what its first, or last, event may reach."""
        if entries.lows is None:
            return stored.until(entries, last=last)
        return entries.lows + (self._plan.window.size - 1)

    # ---- state

    @property
    def _consumed(self) -> str:
        """The name of the events that were consumed. Until 0.1.0 "consumed" were, beside FIRST and LONGEST, also those
        of matches that were not reported then."""
        return "consumed" if self._plan.output in (Output.ALL, Output.COMPRESSED) else "used"

    def saved(self, oldest: int) -> dict[str, Array]:
        """The state of the choice as flat arrays. `oldest`: the first row that is stored."""
        arrays: dict[str, Array] = {"undecided": self.undecided.saved()}
        if self.apart is not None:
            arrays["ends"] = self.apart.ends.copy()
        return arrays | {name: marks.saved(oldest) for name, marks in self._marks()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state of `saved`. Until 0.1.0 matches waited in two places, "unconsumed" and "undecided"."""
        waiting = [np.asarray(arrays[name], np.int64) for name in ("unconsumed", "undecided") if name in arrays]
        self.undecided.restore(np.concatenate(waiting, axis=1))
        if self.apart is not None:
            self.apart.ends = np.array(arrays["ends"], np.int64)
        for name, marks in self._marks():
            if name in arrays:
                marks.restore(np.asarray(arrays[name], np.int64))

    def _marks(self) -> Iterator[tuple[str, Marks]]:
        if self.taken is not None and self.taken.consumed is not None:
            yield self._consumed, self.taken.consumed
        if self.taken is not None and self.taken.begun is not None:
            yield "begun", self.taken.begun
