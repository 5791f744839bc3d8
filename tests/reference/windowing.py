"""Event time by definition (services/README.md, "engine"): one record at a time, nothing clever."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ReferenceWindowing:
    """Lateness, order and numbers of one partition. An event is (ts, offset)."""

    disorder: int = 0
    watermark: int = -(2**62)
    events: list[tuple[int, int]] = field(default_factory=list)
    """Released events; their index is their sequence number."""
    late: list[int] = field(default_factory=list)
    """Offsets."""
    silenced: list[int] = field(default_factory=list)
    """Offsets of what is late by silence alone."""
    heard: int = -(2**62)
    """The watermark without silence."""
    ends: list[int] = field(default_factory=list)
    """Positions behind which everything closes."""
    held: list[tuple[int, int]] = field(default_factory=list)

    def record(self, offset: int, ts: int) -> None:
        is_late, is_late_anyway = ts < self.watermark, ts < self.heard
        self.heard = max(self.heard, ts - self.disorder)
        if is_late:
            (self.late if is_late_anyway else self.silenced).append(offset)
            return
        self.held.append((ts, offset))
        self.advance(ts - self.disorder)

    def silence(self, ms: int) -> None:
        """Nothing came for so long. Before the first event there is no time that could pass."""
        if self.watermark > -(2**53):
            self._raise(max(self.watermark, min(self.watermark + ms, self.heard + 86_400_000)))

    def advance(self, watermark: int, *, end: bool = False) -> None:
        self.heard = max(self.heard, watermark)
        self._raise(watermark, end=end)

    def _raise(self, watermark: int, *, end: bool = False) -> None:
        self.watermark = max(self.watermark, watermark)
        passed = sorted(event for event in self.held if event[0] <= self.watermark)
        self.held = [event for event in self.held if event[0] > self.watermark]
        self.events += passed
        if end:
            self.ends.append(len(self.events))
