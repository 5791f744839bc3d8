"""Silence: the part of a partition's watermark that nothing it read has raised, but time in which nothing came.

The shell measures that time and decides (`windowing.silence`). What was decided is in the blocks: the watermark, and
the watermark without silence, which the next owner goes on with.
"""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.order.arrival import Verdict
from saffron.schema.schema import MAX_TS

MOST_MS = 86_400_000
"""The most by which silence raises a watermark beyond the last report."""


@dataclass
class Silence:
    """The silence of one partition. `heard`: the watermark (ms) without it; None: it is the same."""

    heard: int | None = None

    def raised(self, watermark: int, ms: int) -> int:
        """The watermark after `ms` in which nothing came. Unchanged before the first event, which gives the time."""
        if watermark <= max(NO_WATERMARK, -MAX_TS):
            return watermark
        heard = watermark if self.heard is None else self.heard
        raised = min(watermark + ms, heard + MOST_MS)
        if raised <= watermark:
            return watermark
        self.heard = heard
        return raised

    def hear(self, watermark: int) -> None:
        """Note that something else than silence raises the watermark to here."""
        if self.heard is not None:
            self.heard = max(self.heard, watermark)

    def judged(self, verdict: Verdict, *, repeating: bool) -> None:
        """Go on behind events that were judged. `repeating`: decisions of an earlier owner are still to be repeated."""
        self.heard = verdict.heard
        if self.heard is not None and self.heard >= verdict.watermark and not repeating:
            self.heard = None

    def ahead(self, watermark: int) -> int:
        """The part of this watermark (ms) that silence has raised."""
        return 0 if self.heard is None else max(0, watermark - self.heard)
