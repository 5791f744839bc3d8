"""Aggregates over levels first..end-1 of the path: in order, nulls left out, as `plan.Binary` and kernels have it."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import math

from saffron.engine.kernels.arithmetic import quotient
from saffron.engine.match.core.source.arithmetic import deviation
from saffron.engine.match.uncertain.inline import inline
from saffron.schema.schema import NULL_INT


@inline
def number_at(column, null, row):
    """A value as float64, NaN where it is null. `null`: the sentinel of the column's kind."""
    value = column[row]
    return math.nan if value == null else float(value)


@inline
def count_of(column, null, path, first, end, mask):
    count = 0.0
    for level in range(first, end):
        x = number_at(column, null, path[level] & mask)
        if x == x:  # noqa: PLR0124  NaN is null
            count += 1.0
    return count


@inline
def sum_of(column, null, path, first, end, mask):
    total = 0.0
    for level in range(first, end):
        x = number_at(column, null, path[level] & mask)
        if x == x:  # noqa: PLR0124
            total += x
    return total


@inline
def avg_of(column, null, path, first, end, mask):
    total = sum_of(column, null, path, first, end, mask)
    return quotient(total, count_of(column, null, path, first, end, mask))


@inline
def stddev_of(column, null, path, first, end, mask):
    """The sample standard deviation, by Welford's method; null (NaN) below two values."""
    number = mean = spread = 0.0
    for level in range(first, end):
        x = number_at(column, null, path[level] & mask)
        if x == x:  # noqa: PLR0124
            moved = mean + (x - mean) / (number + 1.0)
            spread += (x - mean) * (x - moved)
            mean = moved
            number += 1.0
    return deviation(spread, number)


@inline
def min_real(column, path, first, end, mask):
    found = math.nan
    for level in range(first, end):
        x = column[path[level] & mask]
        if x < found or found != found:  # noqa: PLR0124
            found = x
    return found


@inline
def max_real(column, path, first, end, mask):
    found = math.nan
    for level in range(first, end):
        x = column[path[level] & mask]
        if x > found or found != found:  # noqa: PLR0124
            found = x
    return found


@inline
def least_rest(column, rests, path, first, end, mask):
    found = rest = math.nan
    for level in range(first, end):
        x, y = column[path[level] & mask], rests[path[level] & mask]
        if x < found or found != found or (x == found and y < rest):  # noqa: PLR0124
            found, rest = x, y
    return rest


@inline
def greatest_rest(column, rests, path, first, end, mask):
    found = rest = math.nan
    for level in range(first, end):
        x, y = column[path[level] & mask], rests[path[level] & mask]
        if x > found or found != found or (x == found and y > rest):  # noqa: PLR0124
            found, rest = x, y
    return rest


@inline
def min_whole(column, path, first, end, mask):
    found = NULL_INT
    for level in range(first, end):
        x = column[path[level] & mask]
        if x != NULL_INT and (found == NULL_INT or x < found):
            found = x
    return found


@inline
def max_whole(column, path, first, end, mask):
    found = NULL_INT
    for level in range(first, end):
        x = column[path[level] & mask]
        found = max(found, x)
    return found
