"""The confidence of the path at hand, without the part that WITHIN excludes (see the package)."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels.numba_types import float64, int64
from saffron.engine.match.uncertain.chance import joined, prefix_here, start, total
from saffron.engine.match.uncertain.inline import apart, inline
from saffron.engine.match.uncertain.laws import below, whole
from saffron.engine.match.uncertain.search_state import (
    AFTER_ALL,
    BEFORE_ALL,
    MASK,
    NEED,
    NORM,
    PART,
    PATH,
    SCRATCH,
    TO,
    TOP,
)

ROUNDING = 1e-12


@inline
def _beginning(shape, work, depth):
    """The number of leading events of the path that surely come before all others; 0: not sure."""
    levels, mask = work.levels, work.counters[MASK]
    count, latest = 1, work.hi[levels[PATH, 1] & mask]
    if shape.loose[0]:
        while count < depth and levels[PART, count + 1] == 0:
            count += 1
            latest = max(latest, work.hi[levels[PATH, count] & mask])
    for k in range(count + 1, depth + 1):
        if work.lo[levels[PATH, k] & mask] <= latest:
            return 0
    return count if count < depth else 0


@apart(float64, int64, int64)
def _apart_from(shape, work, depth, count):
    """The confidence of a path whose `count` first events surely come before the others, by each instant of the
    first.
    """
    first = work.levels[PATH, 1] & work.counters[MASK]
    lo, hi = work.lo[first], work.hi[first]
    everything = _not_before(shape, work, count, lo)
    held, later = 0.0, everything
    for x in range(lo, hi + 1):
        after = _not_before(shape, work, count, x + 1)
        held += (later - after) * prefix_here(shape, work, depth, x + shape.window[0])
        later = after
    return held / (work.weights[NORM, depth] * everything)


@inline
def _not_before(shape, work, count, x):
    """The weight of the path's first `count` events at or after x, all of them; of 1 if they are several."""
    weight = 1.0
    for k in range(1, count + 1):
        row = work.levels[PATH, k] & work.counters[MASK]
        lo, law = work.lo[row], work.law[row]
        n = work.hi[row] - lo + 1
        left = whole(law, n) - below(law, min(max(x - lo, 0), n), n, shape.law_begins, shape.law_sums)
        weight *= left if count == 1 else left / whole(law, n)
    return weight


@apart(float64, int64, int64, int64, int64)
def _replayed(shape, work, depth, low, first_high, high):
    """The confidence of the path with its first event no earlier than `low` nor later than `first_high`, none beyond
    `high`; an uncorrelated first closure has no event before `low`."""
    levels = work.levels
    level = levels.shape[1] - SCRATCH
    other = level + 1
    area = levels[TOP, depth]
    other_area = area + levels[NEED, depth]
    start(work, level, area)
    for k in range(1, depth + 1):
        part = levels[PART, k]
        row = levels[PATH, k] & work.counters[MASK]
        from_here = low if k == 1 or part == 0 else BEFORE_ALL
        to_here = min(high, first_high) if k == 1 else high
        more = k > 1 and part == levels[PART, k - 1]
        if not joined(shape, work, level, other, row, part, k, more, from_here, to_here, other_area):
            return 0.0
        level, other = other, level
        area, other_area = other_area, area
    return total(shape, work, level) / work.weights[NORM, level]


@apart(float64, int64)
def confidence(shape, work, depth):
    """The confidence of the prefix that ends with level `depth`, which has been computed."""
    size, slide = shape.window[0], shape.window[1]
    levels = work.levels
    row = levels[PATH, 1] & work.counters[MASK]
    lo, hi, latest = work.lo[row], work.hi[row], levels[TO, depth]
    if slide > 0 or depth == 1 or latest - lo <= size:
        return min(total(shape, work, depth) / work.weights[NORM, depth], 1.0)
    beginning = _beginning(shape, work, depth)
    if beginning > 0:
        return min(_apart_from(shape, work, depth, beginning), 1.0)
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


@inline
def enough(shape, chance):
    """True if a match may have this confidence: a part in 10^12 is for the rounding of long sums."""
    return chance > 0.0 and chance >= shape.least[0] * (1.0 - ROUNDING)
