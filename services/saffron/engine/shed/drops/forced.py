"""Orders from outside to keep at most a number of partial matches of one query."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.events.block import Control
from saffron.errors import InputError

NO_UTILITY: Mapping[str, Any] = {"utility": [], "bin": 1, "per_ms": 0.0}
"""The utility table of a drop order without a model in force: all partial matches are worth the same."""


@dataclass
class Forced:
    """Orders not yet written into the stream, by query; the later one replaces the earlier. `place`: for messages."""

    place: str
    orders: dict[str, int] = field(default_factory=dict)

    def take(self, query: str, keep: object, in_force: Container[str]) -> None:
        """Record an order for the next block. InputError: no such query is in force, or `keep` is no count."""
        if type(keep) is not int:
            raise InputError(f"an order keeps a whole number of partial matches, not {keep!r}")
        if query not in in_force:
            raise InputError(f"no query {query!r} is in force on {self.place}: nothing to keep of it")
        if keep < 0:
            raise InputError(f"at most {keep} partial matches of {query!r} cannot be kept: give 0 or more")
        self.orders[query] = keep

    def controls(
        self, position: int, in_force: Container[str], utility: Callable[[str], Mapping[str, Any]]
    ) -> list[Control]:
        """Their records, once. `utility`: what partial matches of a query are worth, as a record says it."""
        orders, self.orders = self.orders, {}
        return [
            Control(position, "keep", {"query": query, "n": keep, **utility(query)})
            for query, keep in orders.items()
            if query in in_force
        ]
