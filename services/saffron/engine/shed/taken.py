"""What a query takes of an event, of late: however often its reader tells of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

_MEMORY_MS = 50.0
"""Of its reader's processing time, over which it is remembered."""


@dataclass
class Taken:
    """Sums that fade as its reader works on."""

    _nanoseconds: float = 0.0
    _events: float = 0.0

    def measured(self, nanoseconds: float, events: int, milliseconds: float) -> None:
        """So many events took the query so many ns; `milliseconds`: what its reader took for them, in all."""
        kept = math.exp(-milliseconds / _MEMORY_MS)
        self._nanoseconds = kept * self._nanoseconds + nanoseconds
        self._events = kept * self._events + events

    @property
    def mean(self) -> float:
        """ns an event."""
        return self._nanoseconds / self._events if self._events > 0 else 0.0
