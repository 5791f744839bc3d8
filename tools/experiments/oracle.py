"""An upper bound on the matches kept, by a shedder that keeps only events and partial matches that complete.

Each event kept is looked at, and meets at least one partial match. It meets more where runs could not be merged, which
is not known from the matches, so that the bound is above what any shedder keeps.
"""

from __future__ import annotations

from experiments.found import true_results
from experiments.run import BOUND_MS, Load, shed_events, stated

_CHECKS = 2
"""The checks of a kept event."""


def missed_at_best(load: Load) -> float:
    """The share of the true complex events that the oracle misses: 0 where all that complete can be paid for."""
    costs = stated(load)
    share, behind, capacity = shed_events(load)
    seconds = (load.rate.arrivals(behind, capacity)[-1] + BOUND_MS) / 1000
    true = [one for one in true_results(load) if one.last >= share]
    kept = {(one.query, event) for one in true for event in one.events if event >= share}
    needed = sum(_CHECKS * 1e-9 * costs[query] for query, _ in kept)
    return max(0.0, 1.0 - seconds / needed) if needed else 0.0
