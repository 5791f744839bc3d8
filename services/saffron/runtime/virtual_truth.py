"""What shedding lost: results beside those of the same stream without it (recall, precision)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from saffron.runtime.fused import Merged

_NO_CONTENT = ("shed", "exact")
"""What an aggregate says of shedding; it is right if all else is."""


class Found:
    """The results of a run by query, by what makes one the same as another: its id and its values."""

    def __init__(self, names: Sequence[str]) -> None:
        self.results: dict[str, set[bytes]] = {name: set() for name in names}

    def add(self, merged: Merged) -> None:
        for chunk in merged.json():
            for text in chunk:
                result = orjson.loads(text)
                for name in _NO_CONTENT:
                    result.pop(name, None)
                told = [result.get("id"), result.get("return")]
                self.results[result["query"]].add(orjson.dumps(told if told[0] is not None else result))


def compared(shed: Found, truth: Found, weights: Mapping[str, float]) -> dict[str, Any]:
    """{"recall", "precision", "queries": {name: both}}: recall is the share of true results that were found, precision
    the share of found ones that are true, 1 of none; together by the queries' weights (P9, G10)."""
    each = {
        name: (weights.get(name, 1.0), len(found & truth.results[name]), len(found), len(truth.results[name]))
        for name, found in shed.results.items()
    }
    return {
        "recall": _share(
            sum(w * right for w, right, _, _ in each.values()), sum(w * n for w, _, _, n in each.values())
        ),
        "precision": _share(
            sum(w * right for w, right, _, _ in each.values()), sum(w * n for w, _, n, _ in each.values())
        ),
        "queries": {
            name: {"recall": _share(right, true), "precision": _share(right, found)}
            for name, (_, right, found, true) in each.items()
        },
    }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 1.0
