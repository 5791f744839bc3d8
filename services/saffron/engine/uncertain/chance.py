"""The dynamic program over time (see the package): a level of the path from the one before it.

A level has the weights F(t) of the worlds in which the prefix ends at or before t, for t in FROM..TO (0 before,
constant after), from SUM on in `values`. In an uncorrelated closure it has also the table of F by the instant s at
which what stands before the closure ends: GROUPS rows from BODY on, row 0 for all s that no event of the closure
reaches, row g for s = BASE + g - 1. TOP: where the level's values end. `low`, `high`: bounds of all times.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.uncertain.inline import inline
from saffron.engine.uncertain.laws import UNIFORM, below, weight_at, whole
from saffron.engine.uncertain.table import (
    BASE,
    BEFORE_ALL,
    BODY,
    FROM,
    GROUPS,
    NORM,
    SUM,
    TO,
    TOP,
)

_HUGE = 2.0**900
_SHRINK = 2.0**-900


@inline
def start(shape, work, level, top):
    """The level before all events: one world, which ends before all times."""
    levels = work.levels
    levels[FROM, level] = levels[TO, level] = BEFORE_ALL
    levels[SUM, level] = top
    levels[GROUPS, level] = 0
    levels[TOP, level] = top + 1
    work.values[top] = 1.0
    work.weights[NORM, level] = 1.0


@inline
def room(work, level, lo, hi, loose, more):
    """How many values the level after `level` needs at most, for an event in [lo, hi]."""
    levels = work.levels
    if not loose:
        return hi - lo + 1
    if more:
        return (1 + levels[GROUPS, level]) * (max(levels[TO, level], hi) - max(levels[FROM, level], lo) + 1)
    return (2 + max(0, min(levels[TO, level], hi) - max(levels[FROM, level], lo) + 1)) * (hi - lo + 1)


@inline
def prefix(work, level, t):
    """F(t) of a level."""
    start_at = work.levels[FROM, level]
    if t < start_at:
        return 0.0
    return work.values[work.levels[SUM, level] + min(t, work.levels[TO, level]) - start_at]


@inline
def total(work, level):
    """The weight of all worlds of a level."""
    return work.values[work.levels[SUM, level] + work.levels[TO, level] - work.levels[FROM, level]]


@inline
def after(shape, work, level, target, row, low, high, top):
    """Level `target`: the event of `row` comes after all of `level`. False where it cannot."""
    levels, values = work.levels, work.values
    lo, hi, law = work.lo[row], work.hi[row], work.law[row]
    n = hi - lo + 1
    begin, end = max(lo, low, levels[FROM, level] + 1), min(hi, high)
    if begin > end:
        return False
    levels[FROM, target], levels[TO, target] = begin, end
    levels[SUM, target], levels[GROUPS, target] = top, 0
    levels[TOP, target] = top + end - begin + 1
    if begin > levels[TO, level]:
        return _apart(shape, work, level, target, row)
    running = 0.0
    last, origin = levels[TO, level], levels[SUM, level] - levels[FROM, level]
    for t in range(begin, end + 1):
        before = values[origin + min(t - 1, last)]
        if law != UNIFORM:
            before *= weight_at(law, t - lo, n, shape.law_begins, shape.law_sums)
        running += before
        values[top + t - begin] = running
    _normalise(work, target, work.weights[NORM, level] * whole(law, n))
    return running > 0.0


@inline
def _apart(shape, work, level, target, row):
    """`after` where the event surely comes after `level`: its own weights, times what `level` weighs."""
    lo, law = work.lo[row], work.law[row]
    n = work.hi[row] - lo + 1
    begin, end, top = work.levels[FROM, target], work.levels[TO, target], work.levels[SUM, target]
    weight, norm = total(work, level), work.weights[NORM, level]
    if weight == norm:
        weight = norm = 1.0  # sure so far: nothing is left to be rounded
    gone = below(law, begin - lo, n, shape.law_begins, shape.law_sums)
    for t in range(begin, end + 1):
        work.values[top + t - begin] = weight * (below(law, t - lo + 1, n, shape.law_begins, shape.law_sums) - gone)
    _normalise(work, target, norm * whole(law, n))
    return total(work, target) > 0.0


@inline
def beside(shape, work, level, target, row, low, high, top, more):
    """Level `target`: the event of `row` joins an uncorrelated closure (`more`), or begins one. False: it cannot."""
    levels, values = work.levels, work.values
    lo, hi, law = work.lo[row], work.hi[row], work.law[row]
    n = hi - lo + 1
    begin, end = max(lo, low), min(hi, high)
    if begin > end:
        return False
    cut = below(law, begin - lo, n, shape.law_begins, shape.law_sums)
    old_from, old_to, old_body = levels[FROM, level], levels[TO, level], levels[BODY, level]
    if more:
        groups, base = levels[GROUPS, level], levels[BASE, level]
        first, last = max(old_from, begin), max(old_to, end)
    else:
        base = max(begin, old_from)
        groups = 1 + max(0, min(old_to, end - 1) - base + 1)
        first, last = begin, end
    size = last - first + 1
    body = top + size
    for m in range(size):
        values[top + m] = 0.0
    for g in range(groups):
        s = base + g - 1
        gone = cut
        if g > 0:
            gone = below(law, min(max(s, begin - 1), end) - lo + 1, n, shape.law_begins, shape.law_sums)
        held = 0.0
        if not more:
            held = prefix(work, level, begin - 1) if g == 0 else prefix(work, level, s) - prefix(work, level, s - 1)
        for m in range(size):
            t = first + m
            if more:
                held = values[old_body + g * (old_to - old_from + 1) + min(t, old_to) - old_from]
            here = below(law, min(t, end) - lo + 1, n, shape.law_begins, shape.law_sums) - gone
            value = held * here if here > 0.0 else 0.0
            values[body + g * size + m] = value
            values[top + m] += value
    levels[FROM, target], levels[TO, target] = first, last
    levels[SUM, target], levels[BODY, target] = top, body
    levels[GROUPS, target], levels[BASE, target] = groups, base
    levels[TOP, target] = body + groups * size
    _normalise(work, target, work.weights[NORM, level] * whole(law, n))
    return values[top + size - 1] > 0.0


@inline
def chance_before(shape, work, level, row):
    """The probability that the event of `row` comes after all of `level`, in any window."""
    levels, values = work.levels, work.values
    lo, hi, law = work.lo[row], work.hi[row], work.law[row]
    n = hi - lo + 1
    weight = 0.0
    last, origin = levels[TO, level], levels[SUM, level] - levels[FROM, level]
    for t in range(max(lo, levels[FROM, level] + 1), hi + 1):
        weight += weight_at(law, t - lo, n, shape.law_begins, shape.law_sums) * values[origin + min(t - 1, last)]
    return weight / (work.weights[NORM, level] * whole(law, n))


@inline
def chance_of_order(shape, work, row, other):
    """The probability that the event of `row` comes before that of `other`."""
    lo, hi, law = work.lo[row], work.hi[row], work.law[row]
    other_lo, other_hi, other_law = work.lo[other], work.hi[other], work.law[other]
    n, m = hi - lo + 1, other_hi - other_lo + 1
    weight = 0.0
    for t in range(max(other_lo, lo + 1), other_hi + 1):
        before = below(law, min(t - lo, n), n, shape.law_begins, shape.law_sums)
        weight += weight_at(other_law, t - other_lo, m, shape.law_begins, shape.law_sums) * before
    return weight / (whole(law, n) * whole(other_law, m))


@inline
def _normalise(work, target, norm):
    """Divide by a power of two what would grow out of float64."""
    if norm > _HUGE:
        norm *= _SHRINK
        for k in range(work.levels[SUM, target], work.levels[TOP, target]):
            work.values[k] *= _SHRINK
    work.weights[NORM, target] = norm


@inline
def joined(shape, work, level, target, row, component, more, low, high, top):
    """Level `target` of any kind; `more`: the event joins a closure that has begun."""
    if shape.loose[component]:
        return beside(shape, work, level, target, row, low, high, top, more)
    return after(shape, work, level, target, row, low, high, top)
