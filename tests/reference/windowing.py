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
    ends: list[int] = field(default_factory=list)
    """Positions behind which everything closes."""
    held: list[tuple[int, int]] = field(default_factory=list)

    def record(self, offset: int, ts: int) -> None:
        if ts < self.watermark:
            self.late.append(offset)
            return
        self.held.append((ts, offset))
        self.advance(ts - self.disorder)

    def advance(self, watermark: int, *, end: bool = False) -> None:
        self.watermark = max(self.watermark, watermark)
        passed = sorted(event for event in self.held if event[0] <= self.watermark)
        self.held = [event for event in self.held if event[0] > self.watermark]
        self.events += passed
        if end:
            self.ends.append(len(self.events))
