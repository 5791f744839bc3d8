"""Contributions of events to matches: how often events with given features are part of matches.

The loss that is reported for dropped events rests on these rates. Contributions come in clumps: all events of a hot
spot contribute at once. So even a rate of many events may rest on little. A shedder picks the lowest rates, and without
a correction it would be told that they lose nothing.

So rates are shrunk. A content is treated as if some events of the mean rate had been seen before its own. A key is
treated as if some events of its content's rate had been seen. How many is learned: with that number the rates of each
half of the observations foretell the counts of the other half best (Poisson likelihood).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.event_model import SortedMap
from saffron.engine.models.features.feature_counts import Half
from saffron.engine.models.features.feature_keys import content_keys, rows_of
from saffron.engine.models.features.features import FeatureSpec

Floats = NDArray[np.float64]
Counts = tuple[Floats, Floats]
"""Contributions, in means of all events, and events, by key or content."""

PRIOR = 16.0
"""The assumed weight of the prior rate, in events, if nothing is learned: contributions clump."""
_TRIED = 4.0 ** np.arange(-1, 13)
_LEAST = 1e-12


def contributions(
    whole: Half, halves: Sequence[Half], vectors: Mapping[int, tuple[int, ...]], spec: FeatureSpec
) -> tuple[SortedMap, SortedMap]:
    """The rates of keys and of contents, the mean of all events being 1; keys of unknown vectors are left out."""
    keys = [key for key in sorted(whole.occurrences) if key in vectors]
    contents, place = np.unique(content_keys(spec, rows_of(spec, vectors, keys)), return_inverse=True)
    all_keys, *by_key = (_counts(half, keys) for half in (whole, *halves))
    all_contents, *by_content = (_grouped(counts, place, len(contents)) for counts in (all_keys, *by_key))
    mean = np.ones(len(contents))
    prior = _foretelling(by_content, [mean] * len(by_content))
    behind = [shrunk(counts, mean, prior)[place] for counts in by_content]
    rates = shrunk(all_contents, mean, prior)
    own = shrunk(all_keys, rates[place], _foretelling(by_key, behind))
    return SortedMap(np.array(keys, dtype=np.uint64), own), SortedMap(contents, rates)


def shrunk(counts: Counts, before: Floats, prior: float) -> Floats:
    """Rates, where `prior` events of the rate `before` were seen before."""
    contributed, occurred = counts
    return (contributed + prior * before) / (occurred + prior)


def _counts(half: Half, keys: Sequence[int]) -> Counts:
    occurred = np.array([half.occurrences.get(key, 0) for key in keys], dtype=np.float64)
    contributed = np.array([half.contributions.get(key, 0) for key in keys], dtype=np.float64)
    whole = float(contributed.sum())
    return contributed * (float(occurred.sum()) / whole if whole else 0.0), occurred


def _grouped(counts: Counts, place: NDArray[np.intp], groups: int) -> Counts:
    contributed, occurred = (np.bincount(place, part, groups).astype(np.float64) for part in counts)
    return contributed, occurred


def _foretelling(halves: Sequence[Counts], before: Sequence[Floats]) -> float:
    """The prior weight, in events, with which each half predicts the other best (maximum likelihood)."""
    if not halves:
        return PRIOR
    one, two = halves
    pairs = [(one, two, before[0]), (two, one, before[1])]
    scores = [
        sum(_likelihood(shrunk(own, rates, prior), other) for own, other, rates in pairs) for prior in _TRIED.tolist()
    ]
    return float(_TRIED[int(np.argmax(scores))])


def _likelihood(rates: Floats, seen: Counts) -> float:
    """The log-likelihood, without terms that the rates do not change."""
    contributed, occurred = seen
    return float((contributed * np.log(np.maximum(rates, _LEAST)) - occurred * rates).sum())
