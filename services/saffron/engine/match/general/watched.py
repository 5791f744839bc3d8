"""The log of what runs of a table do in watched blocks (P2; kernel helpers).

Events that leave a run as it is are not noted. `watch` sums the log, block by block.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable

TOOK, ENDED, LEFT, HELD_ON, PASSED_ON, GONE_WITH, UNDONE = range(7)
"""Kinds of notes. Of an edge: TOOK, a run took an event by it; ENDED, a match was found or began to wait. Of the state
that a run left: LEFT, for another by taking an event; HELD_ON and PASSED_ON, for one that waits for less, after a take
or without one; GONE_WITH, the run ended with nothing; UNDONE, a waiting match was refused.
"""
KINDS = 7

WHAT, DEADLINE_AT, ORDINAL_AT = range(3)
ROWS = 3
"""Rows of a log: KINDS * (edge or state) + kind; the deadline of the run; the ordinal of the event.

Place 0 of the first row is the number of places taken, itself included. Notes beyond the last place are only counted.
"""


@jitable
def note(log: Any, what: int, deadline: int, ordinal: int) -> None:
    """Add a note."""
    k = log[0, 0]
    if k < log.shape[1]:
        log[0, k], log[1, k], log[2, k] = what, deadline, ordinal
    log[0, 0] = k + 1
