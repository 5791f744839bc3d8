"""What runs of a table do, noted in blocks that are watched (P2; kernel helpers).

Nothing is noted of events that leave a run as it is, and nothing is added up here: `watch` does that, block by block.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable

TOOK, ENDED, LEFT, HELD_ON, PASSED_ON, GONE_WITH, UNDONE = range(7)
"""By an edge an event was taken, or a match found or begun to wait. A run left a state: for another by taking an event,
for one that waits for less after a take or without one, or ended with nothing. A match that waited was refused."""
KINDS = 7

WHAT, DEADLINE_AT, ORDINAL_AT = range(3)
ROWS = 3
"""Rows of a log: KINDS * (edge or state) + kind; the deadline of the run; the ordinal of the event. Place 0 of the
first row says how many places are taken, itself included; beyond the last one notes are counted only."""


@jitable
def note(log: Any, what: int, deadline: int, ordinal: int) -> None:
    """Add a note."""
    k = log[0, 0]
    if k < log.shape[1]:
        log[0, k], log[1, k], log[2, k] = what, deadline, ordinal
    log[0, 0] = k + 1
