"""The path at hand: its next closure, the events that may extend it, and its report as a match."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.match.uncertain.inline import inline
from saffron.engine.match.uncertain.search_state import (
    CHANCE,
    END,
    FROM,
    HIGH,
    LOW,
    MASK,
    MATCHES,
    NO_WINDOW,
    PART,
    PATH,
    PICKED,
    ROW,
    START,
)


@inline
def next_closure(shape, component):
    """The first closure from `component` on; the number of components if there is none."""
    while component < len(shape.closure) and not shape.closure[component]:
        component += 1
    return component


@inline
def fits(shape, work, base, target, row, more):
    """True if the event of `row` can go on the path as `target`, as far as its bits and its bounds tell."""
    counters = work.counters
    place = row & counters[MASK]
    if work.used[place] or not (work.mask[place] >> (2 * target + (1 if more else 0))) & 1:
        return False
    if row == counters[ROW] and target != counters[START]:
        return False
    if work.hi[place] < counters[LOW] or work.lo[place] > counters[HIGH]:
        return False
    if shape.window[1] == 0:
        # Either may be the first: an uncorrelated closure's events stand by seq.
        begin = work.levels[PATH, 1] & counters[MASK] if base > 0 else place
        new = counters[ROW] & counters[MASK]
        for other in (begin, new):
            if work.lo[place] - work.hi[other] > shape.window[0] or work.lo[other] - work.hi[place] > shape.window[0]:
                return False
    if base == 0 or (more and shape.loose[target]):
        return True
    return min(work.hi[place], counters[HIGH]) > work.levels[FROM, base]


@inline
def report(shape, work, frame):
    """Add a match with its window and its confidence: the path up to level `frame`, and the single events that follow.

    The arrays must have room for it.
    """
    counters, levels = work.counters, work.levels
    end = levels[END, frame]
    match, at = counters[MATCHES], counters[PICKED]
    for component in range(len(shape.closure)):
        work.counts[match, component] = 0
    for level in range(1, end + 1):
        work.counts[match, levels[PART, level]] += 1
        work.picked[at + level - 1] = levels[PATH, level]
    work.found[match, 0] = counters[ROW]
    work.found[match, 1] = NO_WINDOW if shape.window[1] == 0 else counters[LOW]
    work.found[match, 2] = at + end
    work.chance[match] = work.weights[CHANCE, frame]
    counters[MATCHES], counters[PICKED] = match + 1, at + end
