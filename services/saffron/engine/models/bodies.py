"""Counts as JSON and back, for checkpoints: restored counts are equal, and learn the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.models.features.feature_counts import FeatureCounts, Half
from saffron.engine.models.features.list_sample import ListSample
from saffron.engine.models.transitions.transition_costs import TransitionCosts


def costs_body(costs: TransitionCosts) -> dict[str, Any]:
    """Samples of times, JSON-able: sums of products may have more than 64 bits, and are texts."""
    return {
        "samples": costs.samples,
        "nanoseconds": costs.nanoseconds,
        "counts": [[*cell, count] for cell, count in sorted(costs.counts.items())],
        "moments": [[*cell, str(moment)] for cell, moment in sorted(costs.moments.items())],
        "products": [[*one, *other, str(total)] for (one, other), total in sorted(costs.products.items())],
    }


def costs_of(body: Mapping[str, Any]) -> TransitionCosts:
    """The samples whose `costs_body` this is."""
    return TransitionCosts(
        samples=body["samples"],
        nanoseconds=body["nanoseconds"],
        counts={(a, b): int(count) for a, b, count in body["counts"]},
        moments={(a, b): int(moment) for a, b, moment in body["moments"]},
        products={((a, b), (c, d)): int(total) for a, b, c, d, total in body["products"]},
    )


def features_body(counts: FeatureCounts) -> dict[str, Any]:
    """The observations of events as JSON values."""
    return {
        "query": counts.query,
        "query_version": counts.query_version,
        "spec": counts.spec,
        "rows": counts.rows,
        "halves": [_half_body(half) for half in counts.halves],
        "vectors": {str(key): list(vector) for key, vector in sorted(counts.vectors.items())},
    }


def features_of(body: Mapping[str, Any]) -> FeatureCounts:
    """The counts whose `features_body` this is."""
    first, second = (_half_of(half) for half in body["halves"])
    return FeatureCounts(
        query=body["query"],
        query_version=body["query_version"],
        spec=body["spec"],
        halves=(first, second),
        vectors={int(key): tuple(vector) for key, vector in body["vectors"].items()},
        rows=body["rows"],
    )


def _half_body(half: Half) -> dict[str, Any]:
    """The sums of one half as JSON values. `abandoned` is left out, since training estimates it from the others."""
    return {
        "occurrences": {str(key): count for key, count in sorted(half.occurrences.items())},
        "contributions": {str(key): parts for key, parts in sorted(half.contributions.items())},
        "begun": {str(key): parts for key, parts in sorted(half.begun.items())},
        "refusing": {str(key): count for key, count in sorted(half.refusing.items())},
        "met": half.met,
        "matches": _sample_body(half.matches),
        "positions": [[*place, *sums] for place, sums in sorted(half.positions.items())],
    }


def _half_of(body: Mapping[str, Any]) -> Half:
    """The half whose `_half_body` this is."""
    return Half(
        occurrences={int(key): count for key, count in body["occurrences"].items()},
        contributions={int(key): parts for key, parts in body["contributions"].items()},
        begun={int(key): parts for key, parts in body["begun"].items()},
        refusing={int(key): count for key, count in body["refusing"].items()},
        met=body["met"],
        matches=_sample_of(body["matches"]),
        positions={(code, place): [contributed, seen] for code, place, contributed, seen in body["positions"]},
    )


def _sample_body(sample: ListSample) -> dict[str, Any]:
    return {"level": sample.level, "held": [[weight, *keys] for keys, weight in sorted(sample.held.items())]}


def _sample_of(body: Mapping[str, Any]) -> ListSample:
    return ListSample({tuple(keys): weight for weight, *keys in body["held"]}, body["level"])
