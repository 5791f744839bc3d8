"""The rate of events and the number that wait, from the times at which their blocks were appended to the log."""

from __future__ import annotations

from collections import deque

SPAN_MS = 500.0


class Arrivals:
    """Blocks in order of their append times (ms of any clock, the caller's). No clock is read here."""

    def __init__(self, span: float = SPAN_MS) -> None:
        self._span = span
        self._blocks: deque[tuple[float, int]] = deque()
        self._recent = 0
        self._arrived = 0
        self._taken = 0

    def arrived(self, events: int, at: float) -> None:
        """Record a block of so many events, appended at `at`."""
        if self._blocks:
            at = max(at, self._blocks[-1][0])  # brokers' clocks may step back
        self._blocks.append((at, events))
        self._recent += events
        self._arrived += events
        while len(self._blocks) > 2 and self._blocks[1][0] <= at - self._span:
            self._recent -= self._blocks.popleft()[1]

    def taken(self, events: int) -> None:
        """Remove the oldest waiting block, which goes to the engines; one that was not recorded counts as arrived."""
        self._taken += events
        self._arrived = max(self._arrived, self._taken)

    @property
    def known(self) -> int:
        """Events that wait, as far as they were announced."""
        return self._arrived - self._taken

    def rate(self, now: float) -> float:
        """Events a ms over the last span: up to now where nothing waits, else up to the newest block announced."""
        if len(self._blocks) < 2:
            return 0.0
        first, newest = self._blocks[0][0], self._blocks[-1][0]
        end = newest if self.known else max(newest, min(now, newest + self._span))
        # The first block's events came before its append time, which begins the span.
        return (self._recent - self._blocks[0][1]) / max(end - first, 1e-9) if end > first else 0.0

    def waiting(self, queueing: float, now: float) -> float:
        """The events that wait when the oldest has waited `queueing` ms: those announced, or those that came since."""
        return max(float(self.known), self.rate(now) * queueing)
