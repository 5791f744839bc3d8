"""Distributions of imprecise times as kernels read them: how much of the weight lies in the first instants."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.uncertain.inline import inline
from saffron.schema.schema import Distribution

UNIFORM, TRIANGULAR, HISTOGRAM = range(3)
"""Numbers of distributions; histogram k is HISTOGRAM + k."""


def law_table(
    distributions: Iterable[Distribution],
) -> tuple[list[int], NDArray[np.int64], NDArray[np.float64]]:
    """The number of each distribution; and where histogram k stands in the last array, its bars summed up from 0 to 1.

    (numbers [n], begins int64 [histograms + 1], sums float64 [.]).
    """
    numbers, begins, sums = [], [0], [0.0]
    for given in distributions:
        if isinstance(given, str):
            numbers.append(UNIFORM if given == "uniform" else TRIANGULAR)
        else:
            numbers.append(HISTOGRAM + len(begins) - 1)
            total = sum(given)
            sums[begins[-1] :] = [0.0, *(part / total for part in accumulate(given))]
            begins.append(len(sums))
    return numbers, np.array(begins, np.int64), np.array(sums)


@inline
def below(law, count, n, begins, sums):
    """The weight of the first `count` of n instants: whole numbers if uniform, else of 1."""
    if law == UNIFORM:
        return float(count)
    if law == TRIANGULAR:
        if 2 * count <= n:
            return 2.0 * count * count / (float(n) * n)
        return 1.0 - 2.0 * (n - count) * (n - count) / (float(n) * n)
    first = begins[law - HISTOGRAM]
    bars = begins[law - HISTOGRAM + 1] - first - 1
    bar = count * bars // n
    if bar >= bars:
        return 1.0
    part = (count * bars - bar * n) / n
    return sums[first + bar] + part * (sums[first + bar + 1] - sums[first + bar])


@inline
def weight_at(law, number, n, begins, sums):
    """The weight of instant `number` of n."""
    if law == UNIFORM:
        return 1.0
    return below(law, number + 1, n, begins, sums) - below(law, number, n, begins, sums)


@inline
def whole(law, n):
    """The weight of all n instants."""
    return float(n) if law == UNIFORM else 1.0
