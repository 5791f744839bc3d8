"""Which means of shedding goes first where both are allowed: the one that loses less for the time to be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from saffron.engine.shed.allocation import Candidate, allocate
from saffron.engine.shed.partial_curve import PartialCurve

EVENTS, PARTIAL = "events", "partial"
_CLEARLY = 0.8
"""The other means takes over where it loses less than this share of what the present one loses."""


@dataclass
class Means:
    """Remembers what went first last, so that two means that lose alike do not take turns."""

    first: str = PARTIAL

    def choose(
        self, share: float, events: Mapping[str, Candidate], partial: Mapping[str, tuple[PartialCurve | None, float]]
    ) -> str:
        """`share`: of the time, to be saved. `events`: queries that may lose events. `partial`: queries that may lose
        partial matches, with their curves (None: unknown) and their worth (weight times matches an event)."""
        if not events or not partial:
            self.first = EVENTS if events else PARTIAL
            return self.first
        shares = allocate(events, share)
        by_events = sum(one.worth * one.lost(shares[name]) for name, one in events.items())
        by_partial = sum(worth * (share if curve is None else curve.at(share)) for curve, worth in partial.values())
        losses = {EVENTS: by_events, PARTIAL: by_partial}
        other = PARTIAL if self.first == EVENTS else EVENTS
        if losses[other] < _CLEARLY * losses[self.first]:
            self.first = other
        return self.first
