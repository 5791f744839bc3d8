"""The decision to publish a model: the counts now are compared with those that the model in force rests on.

It is made in each batch with observations. So cheap tests come first, and tables are computed only if counts have
changed by more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from saffron.engine.models.transitions.ages import population
from saffron.engine.models.transitions.drift import (
    distribution_drift,
    expectation_drift,
    is_beyond_chance,
    matrix_drift,
    mean_drift,
)
from saffron.engine.models.transitions.trainer import TransitionCounts, chain_of, expected_by_age
from saffron.model_builder.feature_book import FeatureBook
from saffron.model_builder.policy import Policy
from saffron.model_builder.query_book import QueryBook

ByKey = Mapping[int, int]
"""Key of features -> count."""

_FEW = 50
"""Number of observations below which twice as many are no reason for a new model."""
_SINCE = 1.1
"""Growth of the number of tracked partial matches from which the effect of age is computed again."""


def is_partial_due(query: QueryBook, times: Sequence[float], policy: Policy) -> bool:
    """True if a new model of partial matches is due. `times`: by state, the ns that an event takes."""
    counts, in_force = query.counts, query.in_force
    if not policy.is_enough(counts):
        return False
    if (
        in_force is None
        or query.since_halved == 0
        or not in_force.is_trainable
        or _have_grown(counts, in_force, policy)
    ):
        return True
    if have_moved([counts.expected_events()], [in_force.expected_events()], policy.moved):
        return True
    if have_moved(_shares(times), _shares(query.published_times), policy.slower):
        return True
    if matrix_drift(counts.matrix(), in_force.matrix()) >= policy.drift:
        return True
    if is_beyond_chance(counts.cells, in_force.cells, query.clumps.size) and _has_drifted(counts, in_force, policy):
        return True
    return _has_aged(counts, in_force, policy)


def is_event_due(book: FeatureBook, policy: Policy) -> bool:
    """True if a new model of the utility of events is due."""
    if not policy.is_enough_of_events(book.counts):
        return False
    now, in_force = book.basis(), book.in_force
    if in_force is None or book.since_halved == 0 or now.observed >= policy.more * in_force.observed:
        return True
    one, other = book.counts.halves
    return _has_shifted(now.occurrences, in_force.occurrences, (one.occurrences, other.occurrences), policy) or (
        _has_shifted(now.contributions, in_force.contributions, (one.contributions, other.contributions), policy)
    )


def have_moved(values: Sequence[float], before: Sequence[float], share: float) -> bool:
    """True if a value has changed by more than `share` of it, or the number of values differs."""
    if len(values) != len(before):
        return True
    return any(abs(new - old) > share * max(abs(old), 1e-9) for new, old in zip(values, before, strict=True))


def _has_shifted(now: ByKey, in_force: ByKey, halves: tuple[ByKey, ByKey], policy: Policy) -> bool:
    """True if the distribution over keys has moved by `policy.shifted`, and more than the two halves differ.

    The halves measure chance, with clumped observations: they differ by about twice as much as a whole does from a
    large part of it.
    """
    moved = distribution_drift(now, in_force)
    return moved >= policy.shifted and moved > distribution_drift(*halves)


def _have_grown(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """True if observations are `policy.more` times as many: in all, of one state, or of tracked partial matches.

    A state may be reached long after the others, and tracked partial matches are observed when their windows end.
    """
    if counts.met >= policy.more * in_force.met:
        return True
    now, before = ([*one.met_by_state()[1:], one.follows] for one in (counts, in_force))
    return any(n >= policy.more * max(m, _FEW) for n, m in zip(now, before, strict=True))


def _has_drifted(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """True if the expected matches of a partial match have changed by `policy.expected`; state 0 is left out."""
    now, before = (chain_of(one).expected[:, 1:] for one in (counts, in_force))
    return expectation_drift(now, before) >= policy.expected


def _has_aged(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """True if the expectation by age has changed by `policy.aged`; it needs newly tracked partial matches."""
    seen = population(counts.followed, counts.states)
    if not len(seen) or counts.follows < _SINCE * max(in_force.follows, _FEW):
        return False
    return mean_drift(expected_by_age(counts), expected_by_age(in_force), seen) >= policy.aged


def _shares(times: Sequence[float]) -> list[float]:
    """Times divided by their mean, small ones raised to a tenth of it, to compare utilities."""
    mean = sum(times) / max(1, len(times))
    return [max(time, mean / 10) / mean for time in times] if mean > 0 else []
