"""The results of one block, each part of them contained: if rendering it fails, its query fails and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from saffron.engine.operators.addresses import Address
from saffron.engine.operators.containment import REPORTING, Containment
from saffron.engine.operators.results import Fired, Ints, OrderedResults, QueryResults
from saffron.engine.operators.standing import StandingQuery


class BlockResults:
    """The parts of a block's results, each with the query that it is of."""

    def __init__(self, contained: Containment) -> None:
        self._contained = contained
        self._parts: list[tuple[StandingQuery[Any], Fired]] = []

    def clear(self) -> None:
        """Begin a block: release the results of the last one."""
        self._parts = []

    def add(self, standing: StandingQuery[Any], fired: Fired) -> None:
        """Add a part; it counts as long as its query has not failed."""
        part = Contained(fired.results, standing, self._contained)
        self._parts.append((standing, replace(fired, results=part, fail=part.fail)))

    def leave_out(self, standing: StandingQuery[Any]) -> None:
        """Leave out a query's results of the block so far."""
        self._parts = [(owner, fired) for owner, fired in self._parts if owner is not standing]

    def ordered(self) -> OrderedResults:
        """The results in their published order."""
        return OrderedResults([fired for _, fired in self._parts])


class Contained:
    """A part of a block's results that becomes empty if rendering it for its query fails."""

    def __init__(self, part: QueryResults, standing: StandingQuery[Any], containment: Containment) -> None:
        self.part = part
        self.position, self.last_time = part.position, part.last_time
        self._standing = standing
        self._contained = containment

    def __len__(self) -> int:
        return len(self.part)

    def json(self, chosen: Ints) -> list[bytes]:
        """The results as JSON objects; empty texts if the query has failed."""
        if not self._standing.failure:
            with self._contained.step(self._standing, REPORTING):
                return self.part.json(chosen)
        return [b""] * len(chosen)

    def addresses(self, chosen: Ints) -> Sequence[Address | None] | None:
        """The addresses of the results; None for a query that has failed."""
        if not self._standing.failure:
            with self._contained.step(self._standing, REPORTING):
                return self.part.addresses(chosen)
        return None

    def fail(self, error: Exception) -> None:
        """Fails the query with an error of writing its results."""
        with self._contained.step(self._standing, REPORTING):
            raise error
