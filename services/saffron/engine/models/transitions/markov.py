"""Partial matches as a Markov chain: transition matrix (P3), completion probability (P3), processing time (P4).

States are 0-based. The last one is the completed state and absorbs. A row may sum to less than one: the rest is the
probability that the run dies within its window (contiguity broken). A dead run completes nothing.

Where runs split (skip-till-any-match, Kleene plus), a run has several successors. Two matrices describe them. The
transition matrix has one successor, each as likely as it is frequent (the paper's T_q). The succession matrix has all
of them. Its rows may sum to more than one, and its powers give the expected number of matches of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

MOST = 1e12
"""Expected matches, and expected time, are limited to this."""


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


def succession_matrix(counts: Mapping[tuple[int, int], int], met: Sequence[int]) -> Matrix:
    """Mean number of successors [m, m] of a run that meets an event: counts of (from, to) over meetings by state.

    As the transition matrix where no run splits. A state that met nothing stays where it is.
    """
    states = len(met)
    matrix: Matrix = np.eye(states)
    for source in range(states - 1):
        if met[source] > 0:
            matrix[source] = [counts.get((source, target), 0) / met[source] for target in range(states)]
    return matrix


def matches_table(succession: Matrix, bin_size: int, bins: int) -> Matrix:
    """[bins, m]: row k is the expected number of matches within (k + 1) * bin_size more events, at most `MOST`."""
    step = _power(succession, bin_size)
    table: Matrix = np.empty((bins, len(succession)))
    column = np.zeros(len(succession))
    column[-1] = 1.0
    for row in range(bins):
        column = np.minimum(step @ column, MOST)
        table[row] = column
    return table


def remaining_time_table(succession: Matrix, reward: NDArray[np.float64], bin_size: int, bins: int) -> Matrix:
    """tau [bins, m]: row k is the expected processing time over (k + 1) * bin_size more events (value iteration, P4).

    `reward` [m] is the mean time of an event met in a state, whatever came of it, in the unit wanted. A completed match
    costs nothing. tau_R(s) = reward(s) + sum over s' of T(s, s') tau_{R-1}(s'), tau_0 = 0. With all successors of runs
    that split, it is the time of all of them. At most `MOST`.
    """
    alive = succession.copy()
    alive[-1] = alive[:, -1] = 0.0
    reward = np.append(reward[:-1], 0.0)
    within = np.zeros(len(alive))
    for _ in range(bin_size):
        within = np.minimum(reward + alive @ within, MOST)
    step = _power(alive, bin_size)
    table: Matrix = np.empty((bins, len(alive)))
    tau = np.zeros(len(alive))
    for row in range(bins):
        tau = np.minimum(within + step @ tau, MOST)
        table[row] = tau
    return table


def _power(matrix: Matrix, exponent: int) -> Matrix:
    """The matrix to a power, no entry above `MOST`: runs that keep splitting grow beyond all numbers."""
    result: Matrix = np.eye(len(matrix))
    square = matrix
    while exponent:
        if exponent & 1:
            result = np.minimum(result @ square, MOST)
        square = np.minimum(square @ square, MOST)
        exponent >>= 1
    return result


def steps(matrix: Matrix) -> int:
    """The least number of state-changing transitions from the first state to the last; states - 1 if there is no path.

    The first state, with nothing bound, may have no observations: the second is taken to follow it.
    """
    states = len(matrix)
    reached, frontier = {1}, {1}
    for number in range(1, states):
        if states - 1 in frontier:
            return number
        frontier = {int(place) for one in frontier for place in np.flatnonzero(matrix[one])} - reached
        reached |= frontier
    return states - 1


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
