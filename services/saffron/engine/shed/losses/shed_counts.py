"""Counts of the events that readers do not see, by query and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.events.columns import masked

OVERLOAD, OUTAGE = "overload", "outage"
"""Dropped to hold the bound, or because an outage had left them behind."""


@dataclass
class ShedCounts:
    """Since the start of this operator, or of the query's version."""

    _counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, block: Block, slots: Mapping[str, int], since: Mapping[str, int], reason: str) -> None:
        """Count the dropped events of a block: those dropped whole, and those masked in a query's slot.

        `since`: by query, the position from which on it is in force here.
        """
        mask = block.columns.dropped
        whole = block.next_seq - block.first_seq - len(block.columns)
        if mask is None and not whole:
            return
        for query, slot in slots.items():
            first = int(np.searchsorted(block.columns.seq, since.get(query, 0)))
            some = 0 if mask is None or slot < 0 else int(np.count_nonzero(masked(mask[first:], slot)))
            self._counts[query, reason] = self._counts.get((query, reason), 0) + whole + some

    def forget(self, query: str) -> None:
        """Drop the counts of a query that is removed, or added again."""
        for reason in (OVERLOAD, OUTAGE):
            self._counts.pop((query, reason), None)

    def by_reason(self, query: str) -> dict[str, int]:
        """Reason (overload, outage) -> the events that the query's reader does not see; 0 included."""
        return {reason: self._counts.get((query, reason), 0) for reason in (OVERLOAD, OUTAGE)}

    def of(self, query: str) -> int:
        """The events that a query's reader does not see, for any reason."""
        return sum(self.by_reason(query).values())
