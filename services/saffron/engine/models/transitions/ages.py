"""The age of a partial match: its wait since the last event, whether it has matched before, and the rest of its window.

P(state, events left), by powers of the transition matrix (P3), assumes that a partial match forgets how it came to its
state. Streams are not like that. A partial match that has waited long for its next event, or has matched once, has
other chances.

So some partial matches are tracked to the end of their windows (`match.shedding.tracked`), and counted by their state
and *age*. Their matches, divided by those that the chain expects, are the *lift* of an age. The fewer partial matches
of an age were seen, the nearer its lift is to that of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.markov import Matrix, lookup

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Tracked = Mapping[tuple[int, int], tuple[int, int]]
"""(state, AGES * fold + age) -> how many were tracked to the end, and SHARES times their matches."""

LEFT_BINS, WAITED_BINS = 16, 4
A_BIN = WAITED_BINS * 2
AGES = LEFT_BINS * A_BIN
"""The number of ages. An age is (bin of the rest * WAITED_BINS + bin of the wait) * 2 + (matched before)."""
SHARES = 1024
"""The parts of a match: a match of several alternatives counts for each in part, and sums are integers."""
MOST_STATES = 256
"""The greatest number of states with factors by age; their tables are in every drop order."""

_WAITED = (32, 8, 2)  # from 1/32, 1/8 and 1/2 of the window on it is the next bin
_EVIDENCE = (2.0, 8.0, 32.0, 128.0, 512.0, inf)
"""Candidate weights of the prior, in matches: at that number observed matches weigh as much as expected ones."""
FOLDS = 16
"""The number of folds, to which the windows of the stream belong by turns. The first eight folds are one half."""
_HALVES = 2


def ages(left: Ints, waited: Ints, matched: Flags, window: int) -> Ints:
    """[n] the ages of partial matches with `left` of a `window`, `waited` since their last event; all in ms or
    events.
    """
    bins = np.clip(left * LEFT_BINS // (window + 1), 0, LEFT_BINS - 1)
    waits = sum((waited * part >= window).astype(np.int64) for part in _WAITED)
    found: Ints = (bins * WAITED_BINS + waits) * 2 + matched
    return found


def population(followed: Tracked, states: int) -> Matrix:
    """The number of tracked partial matches by state and age [m, AGES]: in proportion to those alive at any time.

    [0, AGES] if none was tracked.
    """
    if not followed or states > MOST_STATES:
        return np.zeros((0, AGES))
    found = np.zeros((states, AGES))
    for (state, age), (number, _) in followed.items():
        found[state, age % AGES] += number
    return found


def by_left(table: Matrix, bin_size: int, window: float) -> Matrix:
    """[LEFT_BINS, m] of a table [bins, m]: its values in the middle of each bin of the rest of a window.

    `window`: its length in events.
    """
    middles = (np.arange(LEFT_BINS) + 0.5) / LEFT_BINS * window
    return np.array([[lookup(table, bin_size, state, left) for state in range(table.shape[1])] for left in middles])


def lifts(followed: Tracked, expected: Matrix, *, most: float) -> Matrix:
    """[m, AGES]: lifts, the matches of each state and age over those expected of them; [0, m] if nothing is learned.

    `expected` [LEFT_BINS, m]: the chain's expectation in the middle of each bin of what is left. No lift makes more
    than `most` of it. Lifts are shrunk by empirical Bayes, in four steps: by state; by what is left of the window; by
    waiting and having matched; by all of it. Each step starts from the lift before it, as if a number of matches with
    that lift had been seen.

    That number is learned, since matches come in clumps: two stretches of the stream have less in common than one
    stretch shows. Lifts learned from one half of the stretches are tried on the other, and the number with the least
    error is taken. If none is better than the chain alone, nothing is learned.
    """
    states = expected.shape[1]
    if not followed or states > MOST_STATES:
        return np.zeros((0, AGES))
    seen = np.zeros((2, _HALVES, states, LEFT_BINS, A_BIN))
    for (state, age), counts in followed.items():
        fold, own = divmod(age, AGES)
        seen[:, fold * _HALVES // FOLDS, state, own // A_BIN, own % A_BIN] += counts
    number, matches = seen[0], seen[1] / SHARES
    by_chain = np.broadcast_to(expected.T[:, :, None], number.shape[1:])
    errors = [
        sum(
            _error(number[f], matches[f], by_chain, _learned(number[1 - f], matches[1 - f], by_chain, beside))
            for f in (0, 1)
        )
        for beside in _EVIDENCE
    ]
    best = _EVIDENCE[int(np.argmin(errors))]
    if best == inf:
        return np.zeros((0, AGES))
    lift = _learned(number.sum(axis=0), matches.sum(axis=0), by_chain, best)
    found: Matrix = np.minimum(lift, most / np.maximum(by_chain, 1e-200)).reshape(states, AGES)
    return found


def _learned(number: Floats, matches: Floats, by_chain: Floats, beside: float) -> Floats:
    lift = np.ones_like(number)
    if beside == inf:
        return lift
    for alike in ((1, 2), (2,), (1,), ()):
        wanted = (number * by_chain * lift).sum(axis=alike, keepdims=True)
        lift = lift * (beside + matches.sum(axis=alike, keepdims=True)) / (beside + wanted)
    return lift


def _error(number: Floats, matches: Floats, by_chain: Floats, lift: Floats) -> float:
    """The Poisson deviance, without terms that do not depend on the lift."""
    wanted = number * by_chain * lift
    seen = matches > 0
    return float(wanted.sum() - (matches[seen] * np.log(np.maximum(by_chain[seen] * lift[seen], 1e-12))).sum())
