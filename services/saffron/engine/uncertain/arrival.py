"""A new event: into the lists of its key, and whether there can be a match that it completes."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine import jit
from saffron.engine.uncertain.chance import chance_of_order
from saffron.engine.uncertain.inline import inline
from saffron.engine.uncertain.table import (
    AT,
    FIT,
    LONGEST,
    LONGEST_ROW,
    MASK,
    NEXT_WINDOW,
    PHASE,
    ROW,
    STOP,
    TAIL,
    WINDOW,
)
from saffron.engine.uncertain.within import enough

_BITS = 3  # begin and take of a component


@jit.kernel(_nrt=False)
def arrive(shape, work, row):
    """Enter the event of `row` into its lists; a search for its matches follows, unless there can be none."""
    counters = work.counters
    place = row & counters[MASK]
    lo, hi, slot = work.lo[place], work.hi[place], work.slot[place]
    counters[ROW], counters[AT] = row, counters[AT] + 1
    if hi - lo >= counters[LONGEST]:
        counters[LONGEST], counters[LONGEST_ROW] = hi - lo, row
    fit = -1
    for component in range(len(shape.closure)):
        if (work.mask[place] >> (2 * component)) & _BITS:
            work.links[component, place] = work.heads[component, slot]
            work.heads[component, slot] = row
            if _may_be(shape, work, component, place):
                fit = component
    counters[FIT] = fit
    if fit < 0:
        return
    size, slide = shape.window[0], shape.window[1]
    if slide == 0:
        counters[WINDOW], counters[STOP] = 0, 1
    else:
        counters[WINDOW], counters[STOP] = (lo - size) // slide + 1, hi // slide + 1
    counters[PHASE] = NEXT_WINDOW


@inline
def _may_be(shape, work, component, place):
    """Whether a match can have the new event as `component`: something may stand before it, and after it."""
    counters = work.counters
    mask, slot = counters[MASK], work.slot[place]
    for other in range(component):
        if work.heads[other, slot] < counters[TAIL]:
            return False
    for other in range(component + 1, len(shape.closure)):
        row = work.heads[other, slot]
        while row >= counters[TAIL] and (row == counters[ROW] or not _follows(shape, work, place, row & mask)):
            if work.lo[row & mask] + counters[LONGEST] <= work.lo[place]:
                return False
            row = work.links[other, row & mask]
        if row < counters[TAIL]:
            return False
    return True


@inline
def _follows(shape, work, place, other):
    """Whether `other` may come after the new event, and is as likely to as a match must be."""
    if work.hi[other] <= work.lo[place]:
        return False
    return enough(shape, chance_of_order(shape, work, place, other))
