"""The state of the search: events and lists of them, the path at hand with its dynamic program, the matches found.

Named tuples of arrays, which kernels get by one address each (`passed`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Counters. PHASE: what comes next; AT: the event of the batch; ROW: its row; FITS: bits of the components that it may
# be; START: the one at hand; WINDOW..STOP: windows to search; LOW, HIGH: bounds of times; FLOOR: earlier lo cannot
# matter; STEP: of the single events being bound; BOUND: bits of those that are; DEPTH: of the path; LONGEST,
# LONGEST_ROW: hi - lo at most, of which row; TAIL, MASK: of the ring of rows; MATCHES, PICKED: found; LEAVES: whether
# the conditions on leaving a closure hold.
(
    PHASE, AT, ROW, FITS, START, WINDOW, STOP, LOW, HIGH, FLOOR, STEP, BOUND, DEPTH, LONGEST, LONGEST_ROW, TAIL, MASK,
    MATCHES, PICKED, LEAVES, COUNTERS,
) = range(21)  # fmt: skip

EVENT, NEXT_SEARCH, BIND, TRY_BIND, BOUND_ONE, ENTER, SEARCH, TRY, PUT, LEAVE_IT, SETTLE, TURN = range(12)
"""Phases. In TRY_BIND, TRY and LEAVE_IT conditions are asked, if there are any."""
BINDS, BEGINS, TAKES, LEAVES_IT = 1, 2, 4, 8
"""Bits of `Shape.asks`."""

# Of a level of the path (row of `levels`): its event's row, component, the next candidate and the component it is for,
# whether the new event is on the path, whether its closure may be left, the level before it that a closure's event (or
# 0) stands at, and that of the last single event behind it; then the dynamic program (see `chance`).
(
    PATH, PART, CURSOR, TARGET, HAS, LEAVE, UP, END, KIND, FROM, TO, SUM, GROUPS, BASE, BODY, SPAN, UPTO, TOP, NEED,
    LEVEL_ROWS,
) = range(20)  # fmt: skip
NORM, CHANCE, WEIGHT, NORM_BEFORE, WEIGHT_ROWS = range(5)
"""Rows of `weights`. NORM: the divisor of a level's weights. CHANCE: the confidence of the prefix. WEIGHT and
NORM_BEFORE, of a product: the weight before it, and the divisor of that weight.
"""

TABLE, PRODUCT = range(2)
"""Kinds of levels."""

SCRATCH = 2
"""Levels at the end that belong to no path."""

DONE, GROW_LEVELS, GROW_VALUES, GROW_MATCHES, GROW_PICKED, ASK = range(6)
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
    order: Ints  # [C, S] of a new event's component: the single components to bind, in turn; -1: no more
    sides: (
        Ints  # [C, S, 3] for each of them the join side to look up, that whose hash to look for, its component; or -1
    )
    decided: Ints  # [C, C] by which of these steps both single events around a closure are bound; -1: before the first
    left: Ints  # [C] the nearest single component before a component, -1: none
    right: Ints  # [C] the nearest one after it, -1: none
    side_of: Ints  # [J] the component of each join side
    asks: Ints  # [C] bits: which conditions there are


class Work(NamedTuple):
    """State of the search; P: capacity of the ring of rows, D: of the path, and two levels more."""

    counters: Ints  # [COUNTERS]
    lo: Ints  # [P]
    hi: Ints  # [P]
    mask: Ints  # [P] bits of the components that an event fits (`kernel_layout.begin_bit`, `take_bit`)
    law: Ints  # [P] number of its distribution
    slot: Ints  # [P] of its key
    used: NDArray[np.int8]  # [P] whether it is on the path
    heads: Ints  # [C, slots] the newest row of a key that fits a component, -1: none
    links: Ints  # [C, P] the next older one
    hashes: Ints  # [J, P] of the values that a join side compares
    buckets: Ints  # [J, P] the newest row by the hash's low bits, -1: none
    chains: Ints  # [J, P] the next older one
    chosen: Ints  # [C] rows of single components, -1: not bound
    cursors: Ints  # [C] the next candidate of each step
    entry: Ints  # [C] where the list of a closure's candidates begins
    levels: Ints  # [LEVEL_ROWS, D + SCRATCH]
    weights: Floats  # [WEIGHT_ROWS, D + SCRATCH]
    first: Ints  # [C] the level at which a closure begins
    last: Ints  # [C] that of its last event
    values: Floats  # [.] the levels' cumulative weights, end to end
    counts: Ints  # [N, C] events of each match by component
    found: Ints  # [N, 3] row that fired it, window, end in `picked`
    chance: Floats  # [N] confidence
    picked: Ints  # [.] rows of the matches, by component
