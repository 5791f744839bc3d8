"""How a share of the work to be saved is spread over queries, so that the least weighted matches are lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_POINTS = 65
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """A query. `lost`: share of its matches lost where a share of its events is dropped. `worth`: its weight times its
    matches an event. `cost`: its part of the processing time."""

    lost: Callable[[float], float]
    worth: float
    cost: float


def allocate(queries: Mapping[str, Candidate], share: float) -> dict[str, float]:
    """By query, the share of its events to drop, so that together the share `share` of the time is saved.

    Each curve is replaced by its lower convex hull, whose pieces are taken by ascending loss for the time they save.
    """
    if len(queries) == 1:
        return dict.fromkeys(queries, share)
    pieces = [
        (slope, name, begin, end) for name, query in sorted(queries.items()) for slope, begin, end in _pieces(query)
    ]
    pieces.sort(key=lambda piece: piece[:3])
    left = share * sum(query.cost for query in queries.values())
    shares = dict.fromkeys(queries, 0.0)
    for _, name, begin, end in pieces:
        if left <= 0:
            break
        cost = queries[name].cost
        taken = min(end - begin, left / cost) if cost > 0 else end - begin
        shares[name] += taken
        left -= taken * cost
    return {name: min(1.0, one) for name, one in shares.items()}


def _pieces(query: Candidate) -> list[tuple[float, float, float]]:
    """(loss for the time saved, begin, end) of each piece of the hull, in order."""
    at = np.linspace(0.0, 1.0, _POINTS)
    lost = np.array([query.lost(float(one)) for one in at])
    hull = [0]
    for point in range(1, _POINTS):
        while len(hull) > 1 and _above(at, lost, hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    pieces = []
    for one, other in pairwise(hull):
        width = at[other] - at[one]
        slope = query.worth * (lost[other] - lost[one]) / max(query.cost * width, 1e-12)
        pieces.append((float(slope), float(at[one]), float(at[other])))
    return pieces


def _above(at: Floats, lost: Floats, one: int, middle: int, other: int) -> bool:
    """Whether the middle point is on or above the line between the two others."""
    width = at[other] - at[one]
    return bool(lost[middle] * width >= lost[one] * (at[other] - at[middle]) + lost[other] * (at[middle] - at[one]))
