"""The confidence of the path at hand, with what WITHIN alone takes away (see the package)."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.uncertain.chance import joined, start, total
from saffron.engine.uncertain.inline import apart, inline
from saffron.engine.uncertain.table import AFTER_ALL, BEFORE_ALL, MASK, NEED, NORM, PART, PATH, SCRATCH, TO, TOP


@inline
def confidence(shape, work, depth):
    """Of the prefix that ends with level `depth`, which has been computed."""
    size, slide = shape.window[0], shape.window[1]
    levels = work.levels
    row = levels[PATH, 1] & work.counters[MASK]
    lo, hi, latest = work.lo[row], work.hi[row], levels[TO, depth]
    if slide > 0 or latest - lo <= size:
        return min(total(work, depth) / work.weights[NORM, depth], 1.0)
    # A match that begins at this instant or later surely fits: no time is later than `latest`.
    safe = latest - size
    held = 0.0
    for x in range(lo, min(hi + 1, safe)):
        if shape.loose[0]:
            held += _replayed(shape, work, depth, x, AFTER_ALL, x + size)
            held -= _replayed(shape, work, depth, x + 1, AFTER_ALL, x + size)
        else:
            held += _replayed(shape, work, depth, x, x, x + size)
    if safe <= hi:
        held += _replayed(shape, work, depth, max(lo, safe), AFTER_ALL, AFTER_ALL)
    return min(max(held, 0.0), 1.0)


@apart
def _replayed(shape, work, depth, low, first_high, high):
    """The confidence of the path with its first event no earlier than `low` nor later than `first_high`, none beyond
    `high`; an uncorrelated first closure has no event before `low`."""
    levels = work.levels
    level = levels.shape[1] - SCRATCH
    other = level + 1
    area = levels[TOP, depth]
    other_area = area + levels[NEED, depth]
    start(shape, work, level, area)
    for k in range(1, depth + 1):
        part = levels[PART, k]
        row = levels[PATH, k] & work.counters[MASK]
        from_here = low if k == 1 or part == 0 else BEFORE_ALL
        to_here = min(high, first_high) if k == 1 else high
        more = k > 1 and part == levels[PART, k - 1]
        if not joined(shape, work, level, other, row, part, more, from_here, to_here, other_area):
            return 0.0
        level, other = other, level
        area, other_area = other_area, area
    return total(work, level) / work.weights[NORM, level]
