"""The loss of shedding: results beside those of the same stream without it (recall, precision, their error)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

import orjson

from saffron.engine.operators.result_values import read_result, within_64_bits
from saffron.runtime.replay.both import Merged

_NO_CONTENT = ("shed", "exact")
"""Fields of an aggregate on shedding, which a comparison leaves out."""


class Found:
    """The results of a run by query: the identity of each (its id and its values) -> its clump.

    Results that begin with the same event stand or fall together: they are a clump.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.results: dict[str, dict[bytes, object]] = {name: {} for name in names}

    def add(self, merged: Merged) -> None:
        for chunk in merged.json():
            for text in chunk:
                result = read_result(text)
                for name in _NO_CONTENT:
                    result.pop(name, None)
                told = [result.get("id"), within_64_bits(result.get("return") or {})]
                same = orjson.dumps(told if told[0] is not None else result)
                self.results[result["query"]][same] = min(positions(result.get("events")), default=same)


def compared(shed: Found, truth: Found, weights: Mapping[str, float]) -> dict[str, Any]:
    """{"recall", "recall_error", "precision", "queries": {name: {"recall", "precision", "true"}}}.

    Recall is the share of true results that were found, precision the share of found results that are true (1 of none).
    `true` is the number of true results. Both are also given for all queries, by their weights (P9, G10).
    `recall_error` is the standard error of the recall, for the chance that decides which clumps are lost.
    """
    each = {
        name: (
            weights.get(name, 1.0),
            len(found.keys() & truth.results[name].keys()),
            len(found),
            len(truth.results[name]),
        )
        for name, found in shed.results.items()
    }
    return {
        "recall": _share(
            sum(w * right for w, right, _, _ in each.values()), sum(w * n for w, _, _, n in each.values())
        ),
        "recall_error": recall_error(
            ((name, clump), weights.get(name, 1.0), one in shed.results[name])
            for name, results in truth.results.items()
            for one, clump in results.items()
        ),
        "precision": _share(
            sum(w * right for w, right, _, _ in each.values()), sum(w * n for w, _, n, _ in each.values())
        ),
        "queries": {
            name: {"recall": _share(right, true), "precision": _share(right, found), "true": true}
            for name, (_, right, found, true) in each.items()
        },
    }


def positions(value: Any) -> Iterator[int]:
    """The positions of a result's events, however its components are nested."""
    if isinstance(value, list):
        for item in value:
            yield from positions(item)
    elif value is not None and "seq" in value:
        yield value["seq"]
    elif value is not None:
        yield from positions(list(value.values()))


def recall_error(truth: Iterable[tuple[object, float, bool]]) -> float:
    """The standard error of a recall: of each true result the clump with which it stands or falls, its weight, and
    whether it was found. A ratio of sums over clumps, by linearization."""
    clumps: dict[object, list[float]] = {}
    for clump, weight, found in truth:
        sums = clumps.setdefault(clump, [0.0, 0.0])
        sums[0] += weight
        sums[1] += weight * found
    whole = sum(true for true, _ in clumps.values())
    if not whole:
        return 0.0
    recall = sum(right for _, right in clumps.values()) / whole
    return round(sqrt(sum((right - recall * true) ** 2 for true, right in clumps.values())) / whole, 6)


def _share(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 1.0
