"""The dynamic program over time (see the package): each level of the path is computed from the one before it.

A level has the weights F(t) of the worlds in which the prefix ends at or before t, for t in FROM..TO (0 before,
constant after). It has one of two kinds:

PRODUCT: F(t) is WEIGHT times the product, over the path's events SPAN..UPTO, of the weight of each in BASE + 1..t.
    It serves an event that surely comes after all before it, one that has one instant left, and an uncorrelated closure
    behind a prefix that ends at one instant. No values are stored, so that it takes no time to make.
TABLE: the weights are stored in `values` from SUM on. An uncorrelated closure also has a table of F by the instant s at
    which the prefix before the closure ends: GROUPS rows from BODY on, row 0 for all s that no event of the closure
    reaches, row g for s = BASE + g - 1.

TOP: the end of the level's values. `low`, `high`: bounds of all times.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from saffron.engine.kernels.numba_types import boolean, float64, int64
from saffron.engine.match.uncertain.inline import apart, inline
from saffron.engine.match.uncertain.laws import UNIFORM, below, weight_at, whole
from saffron.engine.match.uncertain.search_state import (
    BASE,
    BEFORE_ALL,
    BODY,
    FROM,
    GROUPS,
    KIND,
    MASK,
    NORM,
    NORM_BEFORE,
    PATH,
    PRODUCT,
    SPAN,
    SUM,
    TABLE,
    TO,
    TOP,
    UPTO,
    WEIGHT,
)

_HUGE = 2.0**900
_SHRINK = 2.0**-900


@inline
def start(work, level, top):
    """The level before all events: one world, which ends before all times."""
    levels, weights = work.levels, work.weights
    levels[KIND, level] = PRODUCT
    levels[FROM, level] = levels[TO, level] = levels[BASE, level] = BEFORE_ALL
    levels[SPAN, level], levels[UPTO, level], levels[GROUPS, level] = 1, 0, 0
    levels[TOP, level] = top
    weights[WEIGHT, level] = weights[NORM, level] = weights[NORM_BEFORE, level] = 1.0


@inline
def room(work, level, lo, hi, loose, more):
    """The most values that the level after `level` needs, for an event in [lo, hi]."""
    levels = work.levels
    if more and loose:
        if levels[KIND, level] == PRODUCT:
            return 0
        return (1 + levels[GROUPS, level]) * (max(levels[TO, level], hi) - max(levels[FROM, level], lo) + 1)
    if levels[FROM, level] == levels[TO, level]:
        return 0
    if loose:
        return (2 + max(0, min(levels[TO, level], hi) - max(levels[FROM, level], lo) + 1)) * (hi - lo + 1)
    return hi - lo + 1 if lo <= levels[TO, level] else 0


@inline
def prefix_here(shape, work, level, t):
    """F(t) of a level, for loops over t."""
    levels = work.levels
    begin = levels[FROM, level]
    if t < begin:
        return 0.0
    t = min(t, levels[TO, level])
    if levels[KIND, level] == TABLE:
        return work.values[levels[SUM, level] + t - begin]
    held, base = work.weights[WEIGHT, level], levels[BASE, level]
    for k in range(levels[SPAN, level], levels[UPTO, level] + 1):
        place = levels[PATH, k] & work.counters[MASK]
        lo, hi, law = work.lo[place], work.hi[place], work.law[place]
        n = hi - lo + 1
        here = below(law, min(t, hi) - lo + 1, n, shape.law_begins, shape.law_sums)
        if base >= lo:
            here -= below(law, base - lo + 1, n, shape.law_begins, shape.law_sums)
        held *= here / whole(law, n) if levels[GROUPS, level] else here
    return held


@apart(float64, int64, int64)
def prefix(shape, work, level, t):
    """F(t) of a level."""
    return prefix_here(shape, work, level, t)


@inline
def total(shape, work, level):
    """The weight of all worlds of a level."""
    return prefix(shape, work, level, work.levels[TO, level])


@inline
def after(shape, work, level, target, place, at, low, high, top):
    """Level `target`: the event at `place`, the path's event `at`, comes after all of `level`. False: it cannot."""
    levels = work.levels
    lo, hi, law = work.lo[place], work.hi[place], work.law[place]
    n = hi - lo + 1
    begin, end = max(lo, low, levels[FROM, level] + 1), min(hi, high)
    if begin > end:
        return False
    levels[FROM, target], levels[TO, target] = begin, end
    norm = work.weights[NORM, level]
    if begin > levels[TO, level] or begin == end:
        weight = prefix(shape, work, level, begin - 1)
        if weight == norm:
            weight = norm = 1.0  # sure so far: nothing is left to be rounded
        levels[BASE, target], levels[SPAN, target] = begin - 1, at
        return _product(shape, work, target, place, at, weight, norm, norm * whole(law, n), False, top)
    return _table_after(shape, work, level, target, place, top)


@apart(boolean, int64, int64, int64, int64)
def _table_after(shape, work, level, target, place, top):
    """`after` where the event may also come before the end of `level`; its bounds are there."""
    levels = work.levels
    lo, law = work.lo[place], work.law[place]
    n = work.hi[place] - lo + 1
    begin, end = levels[FROM, target], levels[TO, target]
    levels[KIND, target], levels[SUM, target], levels[GROUPS, target] = TABLE, top, 0
    levels[TOP, target] = top + end - begin + 1
    running = 0.0
    for t in range(begin, end + 1):
        before = prefix_here(shape, work, level, t - 1)
        if law != UNIFORM:
            before *= weight_at(law, t - lo, n, shape.law_begins, shape.law_sums)
        running += before
        work.values[top + t - begin] = running
    _normalise(work, target, work.weights[NORM, level] * whole(law, n))
    return running > 0.0


@inline
def _product(shape, work, target, place, at, weight, before, norm, scaled, top):
    """Level `target` is a product whose last event is `at`, one of probabilities if `scaled` or if it grows too large.

    `before`: the norm of what stands before the product.
    """
    levels, weights = work.levels, work.weights
    levels[KIND, target], levels[UPTO, target], levels[TOP, target] = PRODUCT, at, top
    scaled = scaled or norm > _HUGE
    levels[GROUPS, target] = 1 if scaled else 0
    weights[WEIGHT, target], weights[NORM_BEFORE, target] = weight, before
    weights[NORM, target] = before if scaled else norm
    lo, hi, law = work.lo[place], work.hi[place], work.law[place]
    n, end = hi - lo + 1, min(hi, levels[TO, target])
    gone = 0.0
    if levels[BASE, target] >= lo:
        gone = below(law, levels[BASE, target] - lo + 1, n, shape.law_begins, shape.law_sums)
    return weight > 0.0 and below(law, end - lo + 1, n, shape.law_begins, shape.law_sums) > gone


@inline
def beside(shape, work, level, target, place, at, low, high, top, more):
    """Level `target`: the event at `place` joins an uncorrelated closure (`more`), or begins one. False: it cannot."""
    levels = work.levels
    lo, hi, law = work.lo[place], work.hi[place], work.law[place]
    begin, end = max(lo, low), min(hi, high)
    first, last = levels[FROM, level], levels[TO, level]
    norm = work.weights[NORM, level]
    if not (levels[KIND, level] == PRODUCT if more else first == last):
        return begin <= end and _table_beside(shape, work, level, target, place, begin, end, top, more)
    base = levels[BASE, level] if more else max(last, low - 1)
    begin = max(begin, base + 1)
    if begin > end:
        return False
    levels[BASE, target], levels[SPAN, target] = base, levels[SPAN, level] if more else at
    levels[FROM, target] = max(first, begin) if more else begin
    levels[TO, target] = max(last, end) if more else end
    weight, before = work.weights[WEIGHT, level], work.weights[NORM_BEFORE, level]
    if not more:
        weight, before = total(shape, work, level), norm
    scaled = more and levels[GROUPS, level] != 0
    norm *= whole(law, hi - lo + 1)
    return _product(shape, work, target, place, at, weight, before, norm, scaled, top)


@apart(boolean, int64, int64, int64, int64, int64, int64, boolean)
def _table_beside(shape, work, level, target, place, begin, end, top, more):
    """`beside` where the new level is a table. `begin`, `end`: the first and last instant that the event can have.

    A closure that begins gets the rows of the table; one that goes on (`more`) keeps its rows.
    """
    levels, values = work.levels, work.values
    lo, hi, law = work.lo[place], work.hi[place], work.law[place]
    n = hi - lo + 1
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
            held = prefix(shape, work, level, begin - 1 if g == 0 else s)
            if g > 0:
                held -= prefix(shape, work, level, s - 1)
        for m in range(size):
            t = first + m
            if more:
                held = values[old_body + g * (old_to - old_from + 1) + min(t, old_to) - old_from]
            here = below(law, min(t, end) - lo + 1, n, shape.law_begins, shape.law_sums) - gone
            value = held * here if here > 0.0 else 0.0
            values[body + g * size + m] = value
            values[top + m] += value
    levels[KIND, target] = TABLE
    levels[FROM, target], levels[TO, target] = first, last
    levels[SUM, target], levels[BODY, target] = top, body
    levels[GROUPS, target], levels[BASE, target] = groups, base
    levels[TOP, target] = body + groups * size
    _normalise(work, target, work.weights[NORM, level] * whole(law, n))
    return values[top + size - 1] > 0.0


@apart(float64, int64, int64)
def chance_before(shape, work, level, place):
    """The probability that the event at `place` comes after all of `level`, in any window."""
    lo, hi, law = work.lo[place], work.hi[place], work.law[place]
    n = hi - lo + 1
    if lo > work.levels[TO, level]:
        return total(shape, work, level) / work.weights[NORM, level]
    weight = 0.0
    for t in range(max(lo, work.levels[FROM, level] + 1), hi + 1):
        weight += weight_at(law, t - lo, n, shape.law_begins, shape.law_sums) * prefix_here(shape, work, level, t - 1)
    return weight / (work.weights[NORM, level] * whole(law, n))


@apart(float64, int64, int64, int64)
def chance_of_order(shape, work, place, other, shift):
    """The probability that the event at `place`, were it `shift` later, comes before the one at `other`."""
    lo, hi, law = work.lo[place] + shift, work.hi[place] + shift, work.law[place]
    other_lo, other_hi, other_law = work.lo[other], work.hi[other], work.law[other]
    if hi < other_lo:
        return 1.0
    n, m = hi - lo + 1, other_hi - other_lo + 1
    if law == UNIFORM and other_law == UNIFORM:
        pairs = _pairs(other_hi - lo, n) - _pairs(other_lo - lo - 1, n)
        return pairs / (float(n) * m)
    weight = 0.0
    for t in range(max(other_lo, lo + 1), other_hi + 1):
        before = below(law, min(t - lo, n), n, shape.law_begins, shape.law_sums)
        weight += weight_at(other_law, t - other_lo, m, shape.law_begins, shape.law_sums) * before
    return weight / (whole(law, n) * whole(other_law, m))


@inline
def _pairs(most, n):
    """The number of pairs (t, x) with t in 1..most and x in 0..n-1 before t."""
    if most <= 0:
        return 0.0
    if most <= n:
        return 0.5 * most * (most + 1.0)
    return 0.5 * n * (n + 1.0) + float(most - n) * n


@inline
def _normalise(work, target, norm):
    """Divide weights that would exceed float64 by a power of two."""
    if norm > _HUGE:
        norm *= _SHRINK
        for k in range(work.levels[SUM, target], work.levels[TOP, target]):
            work.values[k] *= _SHRINK
    work.weights[NORM, target] = norm


@apart(boolean, int64, int64, int64, int64, int64, boolean, int64, int64, int64)
def joined(shape, work, level, target, place, component, at, more, low, high, top):
    """Level `target` of any kind, with the path's event `at`; `more`: it joins a closure that has begun."""
    if shape.loose[component]:
        return beside(shape, work, level, target, place, at, low, high, top, more)
    return after(shape, work, level, target, place, at, low, high, top)
