"""What shedding loses, the slow and obvious way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def partial_lost(matrix: Matrix, low: NDArray[np.bool_]) -> tuple[float, float]:
    """Shares of time saved and of matches lost where a run is dropped once `low` [events left - 1, state] says so.

    One run begins in state 1 with len(low) events left; every event that it meets before it is complete costs 1. Both
    lives, with and without dropping, are followed event by event.
    """
    whole = _life(matrix, np.zeros_like(low))
    shed = _life(matrix, low)
    return 1 - shed[0] / whole[0], 1 - shed[1] / whole[1]


def _life(matrix: Matrix, low: NDArray[np.bool_]) -> tuple[float, float]:
    """Expected events met, and the probability to complete."""
    alive = np.zeros(len(matrix))
    alive[1] = 1.0
    met = complete = 0.0
    for left in range(len(low) - 1, -1, -1):
        alive = np.where(low[left], 0.0, alive)
        met += alive.sum()
        alive = alive @ matrix
        complete += alive[-1]
        alive[-1] = 0.0
    return met, complete


def cheapest(queries: Sequence[tuple[float, float, float]], share: float, steps: int = 40) -> float:
    """The least sum of worth * s^power over all shares s on a grid that save `share` of the sum of costs, or more."""
    grid = np.linspace(0, 1, steps + 1)
    best = {0.0: 0.0}
    for power, worth, cost in queries:
        new: dict[float, float] = {}
        for saved, lost in best.items():
            for s in grid.tolist():
                key = round(saved + s * cost, 9)
                new[key] = min(new.get(key, np.inf), lost + worth * s**power)
        best = new
    wanted = share * sum(cost for _, _, cost in queries)
    return min(lost for saved, lost in best.items() if saved >= wanted - 1e-9)


def unfit_before_marked(events: Sequence[tuple[bool, bool, float]]) -> set[int]:
    """The events that go. Of each: whether it is marked, whether it fits, and a number drawn.

    One after another, an unmarked event that does not fit takes the place of the marked one that fits and whose number
    has the least bits behind the first 20.
    """
    going = {place for place, (marked, _, _) in enumerate(events) if marked}
    for place, (marked, fits, _) in enumerate(events):
        if marked or fits:
            continue
        stay = [other for other in sorted(going) if events[other][1]]
        if stay:
            going.remove(min(stay, key=lambda other: math.modf(events[other][2] * 2**20)[0]))
        going.add(place)
    return going
