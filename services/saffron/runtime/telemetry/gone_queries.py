"""The series of queries that are removed: they end with the query, so that one of its name begins at 0."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from saffron.runtime.telemetry.metrics import Metrics


class GoneQueries:
    """Forgets the series of queries that were removed from a chain; those of a chain that moved elsewhere stay."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._standing: dict[Hashable, frozenset[str]] = {}

    def forget(self, standing: Mapping[Hashable, Collection[str]]) -> None:
        """Forget what is gone since the last call. `standing`: the queries of each chain that is up to date.

        One that replays its past is left out: queries that were added later are not in force there yet.
        """
        for chain, before in self._standing.items():
            for query in before.difference(standing.get(chain, before)):
                self._metrics.forget("query", query)
        self._standing |= {chain: frozenset(queries) for chain, queries in standing.items()}
