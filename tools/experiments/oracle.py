"""What could be kept at best: by a shedder that knows which partial matches will complete, and keeps no other.

It looks at each event once, as every shedder here does, and then has only the checks to pay of partial matches that
complete: one for each event from a match's first to its last. Where even these are too many the shortest are kept.
"""

from __future__ import annotations

import numpy as np
from experiments.found import true_results
from experiments.run import BOUND_MS, TRAIN, Load, replayed, stated
from numpy.typing import NDArray

from saffron.language.shedding import NONE


def missed_at_best(load: Load) -> float:
    """The share of the true complex events that the oracle misses: 0 where all that complete can be paid for."""
    costs = stated(load)
    figures = replayed(load, NONE, 0, costs, truth=False).figures()
    total = figures["events"]
    share = int(total * TRAIN)
    seconds = (total - share) / (load.rate.value * figures["capacity"]) + BOUND_MS / 1000
    paid = 1e-9 * sum(costs.values()) * (total - share)
    found = [one for one in true_results(load) if one.last >= share]
    each = np.sort(np.array([1e-9 * costs[one.query] * (one.last - max(one.first, share)) for one in found]))
    return _beyond(each, seconds - paid)


def _beyond(each: NDArray[np.float64], seconds: float) -> float:
    """The share that is left when the cheapest have used up the time."""
    return (
        1.0 - float(np.searchsorted(np.cumsum(each), max(0.0, seconds), side="right")) / len(each) if len(each) else 0.0
    )
