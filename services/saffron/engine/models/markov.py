"""Partial matches as a Markov chain: transition matrix (P3), completion probability (P3), processing time (P4).

States are 0-based, the last one is the completed state and absorbs. A row may sum to less than one: what is missing
is the probability that the run dies within its window (contiguity broken), from which nothing completes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def transition_matrix(counts: Mapping[tuple[int, int], int], states: int) -> Matrix:
    """T [m, m] from counts of (from, to); `to` below 0 is a death, which counts in its row's total only.

    A state that was never seen stays where it is: nothing is known of it, and it completes nothing.
    """
    table = np.zeros((states, states))
    totals = np.zeros(states)
    for (source, target), count in counts.items():
        totals[source] += count
        if target >= 0:
            table[source, target] += count
    seen = totals > 0
    matrix: Matrix = np.eye(states)
    matrix[seen] = table[seen] / totals[seen, None]
    matrix[-1] = 0.0
    matrix[-1, -1] = 1.0
    return matrix


def completion_table(matrix: Matrix, bin_size: int, bins: int) -> Matrix:
    """P [bins, m]: row k is the probability to complete within (k + 1) * bin_size more events, T^R(s, m) by state."""
    step = np.linalg.matrix_power(matrix, bin_size)
    table: Matrix = np.empty((bins, len(matrix)))
    column = np.zeros(len(matrix))
    column[-1] = 1.0
    for row in range(bins):
        column = step @ column
        table[row] = column
    return np.clip(table, 0.0, 1.0)


def remaining_time_table(matrix: Matrix, cost: Matrix, bin_size: int, bins: int) -> Matrix:
    """tau [bins, m]: row k is the expected processing time over (k + 1) * bin_size more events (value iteration, P4).

    `cost` [m, m] is the mean time of a transition, in the unit wanted; a completed match costs nothing.
    tau_R(s) = sum over s' of T(s, s') (cost(s, s') + tau_{R-1}(s')), tau_0 = 0.
    """
    alive = matrix.copy()
    alive[-1] = 0.0
    reward = (alive * cost).sum(axis=1)
    within = np.zeros(len(matrix))
    for _ in range(bin_size):
        within = reward + alive @ within
    step = np.linalg.matrix_power(alive, bin_size)
    table: Matrix = np.empty((bins, len(matrix)))
    tau = np.zeros(len(matrix))
    for row in range(bins):
        tau = within + step @ tau
        table[row] = tau
    return table


def lookup(table: Matrix, bin_size: int, state: int, remaining: float) -> float:
    """The value for `remaining` events left: linear between bins, from 0 below the first, the last one beyond."""
    position = remaining / bin_size
    if position <= 0:
        return 0.0
    lower = int(position)
    if lower >= len(table):
        return float(table[-1, state])
    below = float(table[lower - 1, state]) if lower > 0 else 0.0
    return below + (position - lower) * (float(table[lower, state]) - below)
