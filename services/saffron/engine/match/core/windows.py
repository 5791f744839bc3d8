"""WITHIN, SLIDE and OPEN ON for runs: until when an event's windows last, and which windows hold a whole match.

Times are instants of the window's clock: ms of event time, or positions where the sizes are in EVENTS.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.windows.bounds import common_windows, run_deadline, window_deadline
from saffron.language.plan.clauses import Window

Instants = NDArray[np.int64]

NEVER = -(2**62)
"""The `until` of an event that lies in no window."""


class Windows:
    """The windows of one query. Openers are the events at which a window opened, as (position, instant)."""

    def __init__(self, window: Window, openers: Instants | None = None) -> None:
        self.window = window
        self.openers: Instants = np.zeros((2, 0), np.int64) if openers is None else openers

    @property
    def own(self) -> bool:
        """True if there are windows by themselves, in which matches lie: SLIDE or OPEN ON."""
        return self.window.slide is not None or self.window.opens is not None

    @property
    def most(self) -> int:
        """The greatest number of windows that hold one event."""
        if self.window.opens is not None:
            return int(self.openers.shape[1])
        return self.window.overlapping or 1

    def open(self, positions: Instants, instants: Instants) -> None:
        """Record that windows open at these events (OPEN ON), which come after all earlier ones."""
        self.openers = np.concatenate([self.openers, np.stack([positions, instants])], axis=1)

    def expire(self, now: int) -> None:
        """Forget the openers whose windows are over at `now`."""
        over = int(np.searchsorted(self.openers[1], now - self.window.size, side="right"))
        self.openers = self.openers[:, over:]

    def until(self, positions: Instants, instants: Instants) -> Instants:
        """[n] the last instant of the latest window that holds each event, which a run that begins there may reach.

        Before the event's own instant where no window holds it. Never decreases along the stream.
        """
        window = self.window
        if window.opens is not None:
            latest = np.searchsorted(self.openers[0], positions, side="right") - 1
            ends = np.concatenate([window_deadline(self.openers[1], window.size), [NEVER]])
            return ends[latest]
        found: Instants = run_deadline(instants, window.size, window.slide or 0, window.events)
        return found

    def holding(
        self, positions: Instants, first: Instants, last: Instants
    ) -> tuple[Instants, Instants, Instants] | None:
        """The windows of matches whose first events have these positions and instants, and whose last these instants.

        (match, low, serial) for each window of each match: the match's number, the window's first instant, and a serial
        number that distinguishes windows of the same bounds. None for WITHIN alone, where a match has no window.
        """
        size, slide = self.window.size, self.window.slide
        if self.window.opens is not None:
            begin = np.searchsorted(self.openers[1], last - size, side="right")
            end = np.searchsorted(self.openers[0], positions, side="right")
        elif slide is not None:
            begin, end = common_windows(first, last, size, slide, self.window.events)
        else:
            return None
        counts = end - begin
        match = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(match)) - np.repeat(np.cumsum(counts) - counts, counts) + begin[match]
        if slide is not None and self.window.opens is None:
            return match, number * slide, number * slide
        return match, self.openers[1, number], self.openers[0, number]
