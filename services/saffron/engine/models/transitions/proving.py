"""The proof of a model of partial matches: trials of its order on partial matches that it was not learned from."""

from __future__ import annotations

import numpy as np

from saffron.engine.models.transitions.ages import A_BIN, AGES, FOLDS, LEFT_BINS, MOST_STATES, SHARES, Tracked, lifts
from saffron.engine.models.transitions.markov import Matrix
from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials, gain


def cross_validated(followed: Tracked, expected: Matrix, times: Matrix, *, most: float) -> Trials:
    """Trials of an order of utility by cross-validation: each fold of the stream is ranked by a model of all others.

    Folds with few matches are tried together. `expected`, `times` [LEFT_BINS, m]: matches of a partial match by the
    chain, and the time that it still takes. The lift of ages is learned anew without the fold. The chain, a few
    numbers, is that of the whole stream.
    """
    states = expected.shape[1]
    if not followed or states > MOST_STATES:
        return Trials()
    seen = np.zeros((FOLDS, 2, states, AGES))
    for (state, age), (number, matches) in followed.items():
        seen[age // AGES, :, state, age % AGES] = number, matches / SHARES
    worth = np.repeat((expected / times).T, A_BIN, axis=1)
    left = np.repeat(np.arange(LEFT_BINS) + 0.5, A_BIN)
    done = Trials()
    for folds in _groups(seen[:, 1].sum(axis=(1, 2)).tolist()):
        others = {cell: counts for cell, counts in followed.items() if cell[1] // AGES not in folds}
        lift = lifts(others, expected, most=most)
        number, matches = seen[list(folds)].sum(axis=0)
        own = worth * lift if len(lift) else worth
        found = gain(own.reshape(-1), (number * left).reshape(-1), matches.reshape(-1))
        done += Trials() if found is None else Trials.of(found)
    return done


def _groups(matches: list[float]) -> list[tuple[int, ...]]:
    """Groups of folds to try together, with enough matches each; a rest with too few is not tried."""
    groups: list[tuple[int, ...]] = []
    folds: tuple[int, ...] = ()
    for fold in range(len(matches)):
        folds = (*folds, fold)
        if sum(matches[one] for one in folds) >= LEAST_MATCHES:
            groups.append(folds)
            folds = ()
    return groups
