"""What the search works on: events and lists of them, the path at hand with its dynamic program, the matches found.

Named tuples of arrays, so that one compilation of the helpers serves every query of one shape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Counters. PHASE: what comes next; AT: the event of the batch; ROW: its row; DEPTH: events on the path; WINDOW..STOP:
# the windows still to search; LOW, HIGH: bounds of times; FLOOR: earlier lo cannot matter; FIT: the last component that
# the event may be; LONGEST, LONGEST_ROW: hi - lo at most, of which row; TAIL, MASK: of the ring of rows; MATCHES,
# PICKED: found.
(
    PHASE, AT, ROW, DEPTH, WINDOW, STOP, LOW, HIGH, FLOOR, FIT, LONGEST, LONGEST_ROW, TAIL, MASK, MATCHES, PICKED,
    COUNTERS,
) = range(17)  # fmt: skip

EVENT, NEXT_WINDOW, SEARCH, TRY = range(4)
"""Phases."""

# Of a level of the path (row of `levels`): its event's row, component, the next candidate and the component it is for,
# whether the new event is on the path, whether its closure may be left; then the dynamic program (see `chance`).
(
    PATH, PART, CURSOR, TARGET, HAS, LEAVE, FROM, TO, SUM, GROUPS, BASE, BODY, TOP, NEED, LEVEL_ROWS,
) = range(15)  # fmt: skip
NORM, CHANCE, WEIGHT_ROWS = range(3)
"""Rows of `weights`: by what the weights of a level must be divided; the confidence of the prefix."""

SCRATCH = 2
"""Levels at the end that belong to no path."""

DONE, GROW_LEVELS, GROW_VALUES, GROW_MATCHES, GROW_PICKED = range(5)
PRUNED, PUSHED = -1, -2

BEFORE_ALL = -(2**62)
AFTER_ALL = 2**62
NO_WINDOW = -(2**63)
"""The window of a match under WITHIN alone."""


class Shape(NamedTuple):
    """A query with C components."""

    closure: Ints  # [C] whether it is one
    loose: Ints  # [C] whether it is an uncorrelated one
    window: Ints  # [2] size, slide (0: WITHIN alone)
    least: Floats  # [1] the threshold
    law_begins: Ints  # see `laws`
    law_sums: Floats


class Work(NamedTuple):
    """State of the search; P: capacity of the ring of rows, D: of the path, and two levels more."""

    counters: Ints  # [COUNTERS]
    lo: Ints  # [P]
    hi: Ints  # [P]
    mask: Ints  # [P] bits of the components that an event fits (`layout.begin_bit`, `take_bit`)
    law: Ints  # [P] number of its distribution
    slot: Ints  # [P] of its key
    used: NDArray[np.int8]  # [P] whether it is on the path
    heads: Ints  # [C, slots] the newest row of a key that fits a component, -1: none
    links: Ints  # [C, P] the next older one
    levels: Ints  # [LEVEL_ROWS, D + SCRATCH]
    weights: Floats  # [WEIGHT_ROWS, D + SCRATCH]
    first: Ints  # [C] the level at which a component begins
    values: Floats  # [.] the levels' cumulative weights, end to end
    counts: Ints  # [N, C] events of each match by component
    found: Ints  # [N, 3] row that fired it, window, end in `picked`
    chance: Floats  # [N] confidence
    picked: Ints  # [.] rows of the matches, by component
