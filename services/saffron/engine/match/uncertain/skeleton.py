"""The single events of a match, bound before its closures, the most selective first (see the package).

Each step binds one component: from the list of its key, or where an equality ties it to one that is bound, from those
of the same hash (`joins`). What is bound must be possible pair by pair, and closures between have a candidate.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels.numba_types import boolean, int64, void
from saffron.engine.match.uncertain.chance import chance_of_order
from saffron.engine.match.uncertain.inline import apart, inline
from saffron.engine.match.uncertain.search_state import (
    AFTER_ALL,
    BEFORE_ALL,
    BIND,
    BINDS,
    BOUND,
    BOUND_ONE,
    ENTER,
    EVENT,
    FITS,
    FLOOR,
    HIGH,
    LONGEST,
    LOW,
    MASK,
    NEXT_SEARCH,
    PHASE,
    ROW,
    START,
    STEP,
    STOP,
    TAIL,
    TRY_BIND,
    WINDOW,
)
from saffron.engine.match.uncertain.within import ROUNDING


@inline
def back(shape, work):
    """Unbind the event of the step before this one."""
    counters = work.counters
    counters[STEP] -= 1
    counters[PHASE] = BIND
    if counters[STEP] >= 0:
        target = shape.order[counters[START], counters[STEP]]
        work.used[work.chosen[target] & counters[MASK]] = 0


@inline
def _step(shape, work):
    """The list in which the step's candidates are; or ENTER when all single components are bound."""
    counters = work.counters
    begin, step = counters[START], counters[STEP]
    if step == shape.order.shape[1] or shape.order[begin, step] < 0:
        counters[PHASE] = ENTER
        return
    counters[PHASE] = BIND
    side, probe, source = shape.sides[begin, step]
    if side < 0:
        work.cursors[step] = work.heads[shape.order[begin, step], work.slot[counters[ROW] & counters[MASK]]]
    else:
        wanted = work.hashes[probe, work.chosen[source] & counters[MASK]]
        work.cursors[step] = work.buckets[side, wanted & counters[MASK]]


@inline
def _earliest(work, target):
    """Events with an earlier lo cannot be `target`: they surely happen before one that must come earlier."""
    counters = work.counters
    floor = counters[FLOOR]
    for other in range(target):
        if work.chosen[other] >= 0:
            floor = max(floor, work.lo[work.chosen[other] & counters[MASK]] + 1 - counters[LONGEST])
    return floor


@apart(boolean, int64, int64)
def _in_order(shape, work, place, other):
    """True if the event at `place` comes before the one at `other`, and within the window, as often as a match must."""
    size = shape.window[0]
    if work.hi[place] >= work.lo[other]:
        if work.lo[place] >= work.hi[other]:
            return False
        if shape.least[0] > 0.0 and chance_of_order(shape, work, place, other, 0) < shape.least[0] - ROUNDING:
            return False
    if shape.window[1] > 0 or work.hi[other] - work.lo[place] <= size:
        return True
    if work.lo[other] - work.hi[place] > size:
        return False
    return shape.least[0] <= 0.0 or chance_of_order(shape, work, place, other, size) <= 1.0 - shape.least[0] + ROUNDING


@inline
def _may_bind(shape, work, target, place, row):
    """True if the event fits, with each that is bound and the new one, as often as a match must."""
    counters = work.counters
    if work.used[place] or row == counters[ROW] or not (work.mask[place] >> (2 * target)) & 1:
        return False
    if work.slot[place] != work.slot[counters[ROW] & counters[MASK]]:
        return False
    if work.hi[place] < counters[LOW] or work.lo[place] > counters[HIGH]:
        return False
    for other in range(len(shape.closure)):
        bound = work.chosen[other]
        if other == counters[START]:
            bound = counters[ROW]
        if bound >= 0 and other != target:
            beside = bound & counters[MASK]
            before, behind = (place, beside) if target < other else (beside, place)
            if not _in_order(shape, work, before, behind):
                return False
    return True


@inline
def _has_candidates(shape, work, step):
    """True if each closure that this step encloses has a candidate; `entry` is then where its list begins."""
    counters = work.counters
    slot = work.slot[counters[ROW] & counters[MASK]]
    for closure in range(len(shape.closure)):
        if shape.closure[closure] and shape.decided[counters[START], closure] == step:
            limit, least = AFTER_ALL, BEFORE_ALL
            if shape.right[closure] >= 0:
                limit = work.hi[work.chosen[shape.right[closure]] & counters[MASK]]
            if shape.left[closure] >= 0:
                least = work.lo[work.chosen[shape.left[closure]] & counters[MASK]]
            floor = max(counters[FLOOR], least + 1 - counters[LONGEST])
            row = work.heads[closure, slot]
            while row >= counters[TAIL] and work.lo[row & counters[MASK]] >= limit:
                row = work.links[closure, row & counters[MASK]]
            work.entry[closure] = row
            while row >= counters[TAIL] and work.hi[row & counters[MASK]] <= least:
                if work.lo[row & counters[MASK]] < floor:
                    return False
                row = work.links[closure, row & counters[MASK]]
            if row < counters[TAIL] or work.lo[row & counters[MASK]] < floor:
                return False
    return True


@apart(void)
def next_search(shape, work):
    """Begin the search with the new event as the next component that it may be, or in the next window; or be done."""
    counters = work.counters
    new = counters[ROW] & counters[MASK]
    work.used[new] = 0
    counters[START] += 1
    while counters[START] < len(shape.closure) and not (counters[FITS] >> counters[START]) & 1:
        counters[START] += 1
    if counters[START] >= len(shape.closure):
        counters[START] = -1
        counters[WINDOW] += 1
        if counters[WINDOW] >= counters[STOP]:
            counters[PHASE] = EVENT
        return
    size, slide = shape.window[0], shape.window[1]
    if slide == 0:
        counters[LOW], counters[HIGH] = BEFORE_ALL, AFTER_ALL
        counters[FLOOR] = work.lo[new] - size - counters[LONGEST]
    else:
        counters[LOW] = counters[WINDOW] * slide
        counters[HIGH] = counters[LOW] + size - 1
        counters[FLOOR] = counters[LOW] - counters[LONGEST]
    for component in range(len(shape.closure)):
        work.chosen[component] = -1
    counters[BOUND], counters[STEP] = 0, 0
    begin = counters[START]
    if not shape.closure[begin]:
        work.chosen[begin], work.used[new] = counters[ROW], 1
        counters[BOUND] = 1 << begin
    if _has_candidates(shape, work, -1):
        _step(shape, work)


@apart(void)
def bind_next(shape, work):
    """Find the next event for the component of this step; the phase is then TRY_BIND, or one step back."""
    counters = work.counters
    step = counters[STEP]
    if step < 0:
        counters[PHASE] = NEXT_SEARCH
        return
    target = shape.order[counters[START], step]
    work.chosen[target] = -1
    counters[BOUND] &= ~(1 << target)
    side, probe, source = shape.sides[counters[START], step]
    wanted = 0
    if side >= 0:
        wanted = work.hashes[probe, work.chosen[source] & counters[MASK]]
    floor = _earliest(work, target)
    row = work.cursors[step]
    while row >= counters[TAIL]:
        place = row & counters[MASK]
        if work.lo[place] < floor:
            break
        following = work.links[target, place]
        if side >= 0:
            following = work.chains[side, place]
        if (side < 0 or work.hashes[side, place] == wanted) and _may_bind(shape, work, target, place, row):
            work.cursors[step], work.chosen[target] = following, row
            counters[PHASE] = TRY_BIND if shape.asks[target] & BINDS else BOUND_ONE
            return
        row = following
    back(shape, work)


@apart(void)
def bind(shape, work):
    """The candidate is bound: go on with the next step, unless a closure can have no event."""
    counters = work.counters
    step = counters[STEP]
    counters[PHASE] = BIND
    if not _has_candidates(shape, work, step):
        return
    target = shape.order[counters[START], step]
    work.used[work.chosen[target] & counters[MASK]] = 1
    counters[BOUND] |= 1 << target
    counters[STEP] = step + 1
    _step(shape, work)
