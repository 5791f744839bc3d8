"""The policy after an outage: the backlog is dropped, to be current at once, or caught up with, to lose nothing.

An outage has just ended when a block is taken that has waited for longer than the bound, after nothing was taken for
longer than the bound; or first of all, after a start. Its backlog is what had been appended by then.
"""

from __future__ import annotations

from saffron.engine.shed.load.settings import CATCH_UP, Overload

NORMAL, DROP, KEEP = "normal", "drop", "keep"
"""Modes of handling a block: decide as ever, drop it whole, or drop nothing."""


class Outage:
    """Watches the blocks as they are taken. Times in ms, of the caller's clock."""

    def __init__(self, settings: Overload) -> None:
        self._settings = settings
        self._before: float | None = None
        self._ended: float | None = None
        self._left: float | None = None

    def taken(self, now: float, queueing: float) -> str:
        """The action (NORMAL, DROP, KEEP) for a block taken at `now` whose oldest event has waited `queueing` ms.

        The policy "shed" drops whole blocks that were appended before the end of the outage and are later than the
        bound less its safety buffer, up to the first that is not.
        """
        bound = self._settings.bound
        silent = self._before is None or now - self._before > bound
        self._before = now
        if silent and queueing > bound:
            self._ended, self._left = now, None
        if self._ended is None:
            return NORMAL
        if self._settings.policy == CATCH_UP:
            return self._catch_up(now, queueing)
        if now - queueing < self._ended and queueing > self._settings.limit:
            return DROP
        self._ended = None
        return NORMAL

    def _catch_up(self, now: float, queueing: float) -> str:
        """KEEP until blocks wait for less than `Overload.start` of the bound. The first block that was appended after
        the end of the outage sets the wait. When a later block waits a tenth longer, the stream is faster than the
        reader even without the backlog, and all is decided as ever (NORMAL).
        """
        assert self._ended is not None
        over = queueing <= self._settings.start * self._settings.bound
        if now - queueing >= self._ended:
            if self._left is None:
                self._left = queueing
            over = over or queueing > 1.1 * self._left
        if over:
            self._ended = None
        return NORMAL if over else KEEP
