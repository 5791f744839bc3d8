"""Tests of drift: measures of the change of counts since a model, and of whether chance explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from saffron.engine.models.transitions.markov import Matrix

Cells = Mapping[tuple[int, int], int]
"""(state before, state after) -> count."""

_UNLIKELY = 8.0
"""Chance moves counts beyond the test's bound with a probability of at most e^-8 (3 in ten thousand)."""
_ALONE = 10.0
"""Degrees of freedom of partial matches that do nothing at once, before any batch is seen."""
_CHANGE = 4.0
"""The distance between two batches, over the usual one, that counts at most: more is a change."""
_NEGLIGIBLE = 1e-3
"""The share of the largest expectation below which an expectation decides nothing."""


def matrix_drift(matrix: Matrix, in_use: Matrix) -> float:
    """Mean squared error of a new transition matrix against the one in use (P6); infinite if their shapes differ."""
    if in_use.shape != matrix.shape:
        return float("inf")
    return float(np.mean((matrix - in_use) ** 2))


def distribution_drift(counts: Mapping[int, int], in_use: Mapping[int, int]) -> float:
    """The distance (G8), 0 to 1, between two distributions of features: total variation between the shares of keys."""
    total, before = sum(counts.values()), sum(in_use.values())
    if not total or not before:
        return float(total != before)
    keys = counts.keys() | in_use.keys()
    return sum(abs(counts.get(key, 0) / total - in_use.get(key, 0) / before) for key in keys) / 2


def expectation_drift(expected: Matrix, in_use: Matrix) -> float:
    """The largest relative change between two tables of expectations; infinite if their shapes differ."""
    if in_use.shape != expected.shape:
        return float("inf")
    most = max(expected.max(initial=0.0), in_use.max(initial=0.0))
    if most == 0.0:
        return 0.0
    return float((np.abs(expected - in_use) / np.maximum(in_use, _NEGLIGIBLE * most)).max())


def mean_drift(expected: Matrix, in_use: Matrix, seen: Matrix) -> float:
    """The distance between expectations by age [m, AGES] and those in use, relative to those in use.

    It is a mean over all partial matches, as many of each age as were `seen`.
    """
    return float((seen * np.abs(expected - in_use)).sum() / max((seen * in_use).sum(), 1e-12))


def is_beyond_chance(counts: Cells, in_use: Cells, clump: float) -> bool:
    """True if transitions since have other shares than those `in_use`, by more than chance. `in_use` is part of
    `counts`.

    `clump`: the number of partial matches that do the same at once, see `Clumps`. It is a G-test, added up over all
    states that had transitions before and since. For rare transitions it is right where the chi-squared test is not,
    and partial matches advance by rare transitions. Its bound is that of Laurent and Massart.
    """
    since = {cell: count - in_use.get(cell, 0) for cell, count in counts.items()}
    statistic, freedom = 0.0, 0
    for pairs, before, after in _compared(in_use, since):
        statistic += 2 * (_of(n for pair in pairs for n in pair) - _of(map(sum, pairs)) - _of((before, after)))
        statistic += 2 * _of((before + after,))
        freedom += len(pairs) - 1
    return statistic / clump > freedom + 2 * sqrt(freedom * _UNLIKELY) + 2 * _UNLIKELY


@dataclass
class Clumps:
    """The number of partial matches with the same transitions at once: a clump is one observation.

    It is measured by the distance between one batch and the next (Pearson's statistic over its degrees of freedom).
    That distance is by chance alone, unless the stream changes between the two. `statistic`, `freedom`: sums over
    batches. `latest`: the last one's transitions.
    """

    latest: Cells = field(default_factory=dict)
    statistic: float = 0.0
    freedom: float = 0.0

    def add(self, batch: Cells) -> None:
        """Add the next batch's transitions."""
        statistic, freedom = 0.0, 0
        for pairs, before, after in _compared(self.latest, batch):
            even = sqrt(before / after)
            statistic += sum((one / even - other * even) ** 2 / (one + other) for one, other in pairs)
            freedom += len(pairs) - 1
        self.statistic += min(statistic, _CHANGE * self.size * freedom)
        self.freedom += freedom
        self.latest = batch

    def halve(self) -> None:
        """Forget half of everything."""
        self.statistic /= 2
        self.freedom /= 2

    @property
    def size(self) -> float:
        """The mean number of partial matches of a clump, at least 1."""
        return max(1.0, (self.statistic + _ALONE) / (self.freedom + _ALONE))


def _compared(one: Cells, other: Cells) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
    """The (before, after) counts of each transition, and their sums, for each state that both have."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for cell in sorted({*one, *other}):
        rows.setdefault(cell[0], []).append((one.get(cell, 0), other.get(cell, 0)))
    for pairs in rows.values():
        before, after = (sum(column) for column in zip(*pairs, strict=True))
        if before and after:
            yield [pair for pair in pairs if any(pair)], before, after


def _of(counts: Iterable[int]) -> float:
    return sum(count * log(count) for count in counts if count)
