"""Partial matches as a Markov chain, in exact fractions and straight from the definitions (papers P3, P4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Row = list[Fraction]


def transition_matrix(counts: Mapping[tuple[int, int], int], states: int) -> list[Row]:
    """Each count over the counts that leave its state (deaths included); unseen states stay; the last one absorbs."""
    matrix = []
    for source in range(states):
        leaving = sum(count for (state, _), count in counts.items() if state == source)
        if source == states - 1 or leaving == 0:
            matrix.append([Fraction(int(source == target)) for target in range(states)])
        else:
            matrix.append([Fraction(counts.get((source, target), 0), leaving) for target in range(states)])
    return matrix


def completion(matrix: Sequence[Sequence[Fraction]], state: int, remaining: int) -> Fraction:
    """P(state, remaining): the sum over all next states, one event at a time; T^R(s, m) written out."""
    last = len(matrix) - 1
    column = [Fraction(int(state == last)) for state in range(last + 1)]
    for _ in range(remaining):
        column = [sum((row[to] * column[to] for to in range(last + 1)), Fraction()) for row in matrix]
    return column[state]


def remaining_time(
    matrix: Sequence[Sequence[Fraction]], cost: Sequence[Sequence[Fraction]], state: int, remaining: int
) -> Fraction:
    """tau(state, remaining) by its recursion, tau_0 = 0; a completed match costs nothing."""
    states = range(len(matrix))
    tau = [Fraction() for _ in states]
    for _ in range(remaining):
        tau = [
            Fraction()
            if s == len(matrix) - 1
            else sum((matrix[s][to] * (cost[s][to] + tau[to]) for to in states), Fraction())
            for s in states
        ]
    return tau[state]


def matches(counts: Mapping[tuple[int, int], int], met: Sequence[int], state: int, remaining: int) -> Fraction:
    """Expected matches of a run, all its successors followed, one event at a time; a match stays one."""
    if state == len(met) - 1:
        return Fraction(1)
    if remaining == 0:
        return Fraction()
    if met[state] == 0:
        return matches(counts, met, state, remaining - 1)
    leaving = ((target, count) for (source, target), count in counts.items() if source == state and target >= 0)
    return sum((Fraction(n, met[state]) * matches(counts, met, to, remaining - 1) for to, n in leaving), Fraction())


def interpolated(matrix: Sequence[Sequence[Fraction]], state: int, remaining: Fraction, bin_size: int) -> Fraction:
    """Linear between the multiples of the bin size; P = 0 at no events left."""
    lower = int(remaining / bin_size)
    below = completion(matrix, state, lower * bin_size) if lower else Fraction()
    above = completion(matrix, state, (lower + 1) * bin_size)
    return below + (remaining / bin_size - lower) * (above - below)
