"""Figures over all match queries of an operator: counts, sizes, states, and the strings that they hold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.queries.registered import StandingMatchQuery, TakeStep
from saffron.engine.match.runs.runs import Runs
from saffron.engine.operators.containment import OBSERVING

Queries = Mapping[str, StandingMatchQuery]


def counts(queries: Queries) -> dict[str, dict[str, int]]:
    """Counts by name of the bound queries: see `MatchOperator.statistics`."""
    bound = {name: (one, one.runs) for name, one in queries.items() if one.runs is not None}
    return {
        "results": {name: one.results for name, (one, _) in bound.items()},
        "found": {name: one.results - one.earlier for name, (one, _) in bound.items()},
        "partial_matches": {name: runs.live for name, (_, runs) in bound.items()},
        "nanoseconds": {name: one.taken for name, (one, _) in bound.items()},
        "keys": {name: runs.keys.used for name, (_, runs) in bound.items()},
    }


def state_bytes(queries: Queries) -> int:
    """Bytes of the state of all runs."""
    return sum(runs.size for runs in _runs(queries).values())


def live(queries: Queries) -> int:
    """Partial matches alive."""
    return sum(runs.live for runs in _runs(queries).values())


def states(queries: Queries) -> dict[str, int]:
    """The number of states of each query, the match included; without queries that report no transitions."""
    found = {name: runs.states for name, runs in _runs(queries).items()}
    return {name: number for name, number in found.items() if number is not None}


def watch(queries: Queries, one_in: int) -> None:
    """Count transitions in one of `one_in` blocks from the next one on."""
    for runs in _runs(queries).values():
        if runs.transitions is not None:
            runs.transitions.share(one_in)


def string_codes(queries: Queries, step: TakeStep) -> list[NDArray[np.int32]]:
    """The codes of all strings that queries hold. `step`: of the operator."""
    found: list[NDArray[np.int32]] = []
    for standing in queries.values():
        if standing.runs is not None:
            with step(standing, OBSERVING):
                found += list(standing.runs.string_codes())
    return found


def _runs(queries: Queries) -> dict[str, Runs]:
    return {name: one.runs for name, one in queries.items() if one.runs is not None}
