"""Whether a model is worth publishing: what is counted now against what the one in force rests on.

Judged in each batch that brought something, so cheap things come first, and tables are computed only where counts have
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
"""key of features -> count."""

_FEW = 50
"""Observations of which twice as many still say nothing."""
_SINCE = 1.1
"""So many times as many partial matches must have been followed for it to be computed anew what age adds."""


def is_partial_due(query: QueryBook, times: Sequence[float], policy: Policy) -> bool:
    """Of a model of partial matches; `times`: ns of an event met, by state, as the counts have it."""
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
    """Of a model of what events are worth."""
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
    """Whether one of the values has changed by more than a share of it, or there are others."""
    if len(values) != len(before):
        return True
    return any(abs(new - old) > share * max(abs(old), 1e-9) for new, old in zip(values, before, strict=True))


def _has_shifted(now: ByKey, in_force: ByKey, halves: tuple[ByKey, ByKey], policy: Policy) -> bool:
    """By shares of keys. Chance moves two halves apart, in clumps as observations come, by twice as much as it moves
    a whole from a good part of it."""
    moved = distribution_drift(now, in_force)
    return moved >= policy.shifted and moved > distribution_drift(*halves)


def _have_grown(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """Whether there are `more` times as many observations: of all partial matches, or of those in one state, which may
    be reached long after the others, or of those that were followed, which come when their windows end."""
    if counts.met >= policy.more * in_force.met:
        return True
    now, before = ([*one.met_by_state()[1:], one.follows] for one in (counts, in_force))
    return any(n >= policy.more * max(m, _FEW) for n, m in zip(now, before, strict=True))


def _has_drifted(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """By what the matrix is for: what is expected of partial matches, all but those of state 0."""
    now, before = (chain_of(one).expected[:, 1:] for one in (counts, in_force))
    return expectation_drift(now, before) >= policy.expected


def _has_aged(counts: TransitionCounts, in_force: TransitionCounts, policy: Policy) -> bool:
    """By what age adds, which is as before where hardly any partial match was followed since."""
    seen = population(counts.followed, counts.states)
    if not len(seen) or counts.follows < _SINCE * max(in_force.follows, _FEW):
        return False
    return mean_drift(expected_by_age(counts), expected_by_age(in_force), seen) >= policy.aged


def _shares(times: Sequence[float]) -> list[float]:
    """Times by their mean, those that hardly count left out: what tells whether utilities have moved."""
    mean = sum(times) / max(1, len(times))
    return [max(time, mean / 10) / mean for time in times] if mean > 0 else []
