"""Whether what is counted now has moved from what a model rests on: by how much, and by more than chance would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log, sqrt

import numpy as np

from saffron.engine.models.markov import Matrix

Cells = Mapping[tuple[int, int], int]
"""(state before, state after) -> count."""

_UNLIKELY = 8.0
"""Chance moves counts beyond the test's bound with a probability of at most e^-8 (3 in ten thousand)."""
_NEGLIGIBLE = 1e-3
"""Of the largest expectation: one that is smaller changes nothing that is decided by it."""


def matrix_drift(matrix: Matrix, in_use: Matrix) -> float:
    """Mean squared error of a new transition matrix against the one in use (P6); infinite if their shapes differ."""
    if in_use.shape != matrix.shape:
        return float("inf")
    return float(np.mean((matrix - in_use) ** 2))


def distribution_drift(counts: Mapping[int, int], in_use: Mapping[int, int]) -> float:
    """How far the distribution of features has moved (G8), 0 to 1: total variation between the shares of keys."""
    total, before = sum(counts.values()), sum(in_use.values())
    if not total or not before:
        return float(total != before)
    keys = counts.keys() | in_use.keys()
    return sum(abs(counts.get(key, 0) / total - in_use.get(key, 0) / before) for key in keys) / 2


def expectation_drift(expected: Matrix, in_use: Matrix) -> float:
    """The largest relative change between two tables of what is expected of partial matches; infinite if their shapes
    differ."""
    if in_use.shape != expected.shape:
        return float("inf")
    most = max(expected.max(initial=0.0), in_use.max(initial=0.0))
    if most == 0.0:
        return 0.0
    return float((np.abs(expected - in_use) / np.maximum(in_use, _NEGLIGIBLE * most)).max())


def mean_drift(expected: Matrix, in_use: Matrix, seen: Matrix) -> float:
    """How far expectations by age [m, AGES] have moved, relative to those in use: all partial matches together, as many
    of each as were `seen`."""
    return float((seen * np.abs(expected - in_use)).sum() / max((seen * in_use).sum(), 1e-12))


def is_beyond_chance(counts: Cells, in_use: Cells) -> bool:
    """Whether transitions since have other shares than those `in_use`, which are part of `counts`.

    The G-test of both, added up over all states that had some before and since: of rare transitions, which is what
    partial matches advance by, it is right where the chi-squared test is not. Bounded as Laurent and Massart do.
    """
    rows: dict[int, list[tuple[int, int]]] = {}
    for (source, target), count in counts.items():
        before = in_use.get((source, target), 0)
        rows.setdefault(source, []).append((before, count - before))
    statistic, freedom = 0.0, 0
    for row in rows.values():
        before, since = (sum(column) for column in zip(*row, strict=True))
        if before and since:
            statistic += 2 * (_of(n for pair in row for n in pair) - _of(map(sum, row)) - _of((before, since)))
            statistic += 2 * _of((before + since,))
            freedom += len(row) - 1
    return statistic > freedom + 2 * sqrt(freedom * _UNLIKELY) + 2 * _UNLIKELY


def _of(counts: Iterable[int]) -> float:
    return sum(count * log(count) for count in counts if count)
