"""The arrival of a new event: it enters the lists of its key, and may complete matches as some component."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels import jit
from saffron.engine.kernels.numba_types import int64, void
from saffron.engine.match.uncertain.arrays import shape_in, work_in
from saffron.engine.match.uncertain.inline import apart, inline
from saffron.engine.match.uncertain.search_state import (
    AT,
    FITS,
    LONGEST,
    LONGEST_ROW,
    MASK,
    NEXT_SEARCH,
    PHASE,
    ROW,
    START,
    STOP,
    TAIL,
    WINDOW,
)
from saffron.engine.windows.bounds import first_window, last_window

_BITS = 3  # begin and take of a component


@inline
def enter(work, side, row):
    """Enter a row where a join looks for it."""
    place = row & work.counters[MASK]
    bucket = work.hashes[side, place] & work.counters[MASK]
    work.chains[side, place] = work.buckets[side, bucket]
    work.buckets[side, bucket] = row


@inline
def _may_be(shape, work, component, place):
    """True if a match can have the new event as `component`: something may stand before it, and after it."""
    counters = work.counters
    mask, slot = counters[MASK], work.slot[place]
    for other in range(component):
        if work.heads[other, slot] < counters[TAIL]:
            return False
    for other in range(component + 1, len(shape.closure)):
        row = work.heads[other, slot]
        while row >= counters[TAIL] and (row == counters[ROW] or work.hi[row & mask] <= work.lo[place]):
            if work.lo[row & mask] + counters[LONGEST] <= work.lo[place]:
                return False
            row = work.links[other, row & mask]
        if row < counters[TAIL]:
            return False
    return True


@apart(void, int64)
def arrive(shape, work, row):
    """Enter the event of `row` into its lists; searches for its matches follow, unless there can be none."""
    counters = work.counters
    place = row & counters[MASK]
    lo, hi, slot = work.lo[place], work.hi[place], work.slot[place]
    counters[ROW], counters[AT] = row, counters[AT] + 1
    if hi - lo >= counters[LONGEST]:
        counters[LONGEST], counters[LONGEST_ROW] = hi - lo, row
    fits = 0
    for component in range(len(shape.closure)):
        if (work.mask[place] >> (2 * component)) & _BITS:
            work.links[component, place] = work.heads[component, slot]
            work.heads[component, slot] = row
            if _may_be(shape, work, component, place):
                fits |= 1 << component
    for side in range(len(shape.side_of)):
        if (work.mask[place] >> (2 * shape.side_of[side])) & 1:
            enter(work, side, row)
    counters[FITS] = fits
    if fits == 0:
        return
    size, slide = shape.window[0], shape.window[1]
    if slide == 0:
        counters[WINDOW], counters[STOP] = 0, 1
    else:
        counters[WINDOW], counters[STOP] = first_window(lo, size, slide), last_window(hi, slide) + 1
    counters[START] = -1
    counters[PHASE] = NEXT_SEARCH


@jit.kernel(_nrt=False)
def enter_all(shape_table, work_table, head):
    """Enter anew, into empty buckets, all rows before `head` that stand in the lists of their keys."""
    shape, work = shape_in(shape_table), work_in(work_table)
    tail, mask = work.counters[TAIL], work.counters[MASK]
    for side in range(len(shape.side_of)):
        component = shape.side_of[side]
        for slot in range(work.heads.shape[1]):
            row = work.heads[component, slot]
            while row >= tail:
                work.chains[side, row & mask] = -2
                row = work.links[component, row & mask]
        for row in range(tail, head):
            if work.chains[side, row & mask] == -2 and (work.mask[row & mask] >> (2 * component)) & 1:
                enter(work, side, row)
