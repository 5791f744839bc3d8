"""An operator behind what a chain of the last hop does with it: slices, snapshots, restarts, and queries that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.operator import State
from saffron.engine.operators.queries import QueryOperator

Operator = QueryOperator[Any, Any]
SLICE = 3
"""Results that are rendered at once."""


@dataclass
class Stop:
    """A query is without results from a block on, or, with `index`, from that result of the block on."""

    version: int
    block: int
    index: int | None = None


@dataclass
class Shell:
    """`snapshots`, `restarts`: behind which blocks (their numbers). `found`: what was published, (query, JSON)."""

    make: Callable[[], Operator]
    blocks: Sequence[Block]
    snapshots: frozenset[int] = frozenset()
    restarts: frozenset[int] = frozenset()
    stops: dict[str, Stop] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    found: list[tuple[str, bytes]] = field(default_factory=list)
    apart: frozenset[str] = frozenset()
    rebuilt: int = 0
    _saved: tuple[int, State] | None = None

    def run(self) -> list[tuple[str, bytes]]:
        """All of it."""
        operator = self.make()
        for number in range(len(self.blocks)):
            operator = self._block(operator, number)
            if number in self.snapshots:
                self._saved = number + 1, operator.snapshot()
                self._note(operator.failures(), number + 1)
            if number in self.restarts:
                operator = self._anew(number + 1)
        return self.found

    def _block(self, operator: Operator, number: int) -> Operator:
        """One block with its results; the operator that goes on."""
        self._stop(operator, number)
        results = operator.apply(self.blocks[number], lambda: iter(self.blocks[: number + 1]))
        failures = operator.failures()
        apart = frozenset[str]().union(*(one.apart for one in failures))
        if apart - self.apart:
            self.apart |= apart
            return self._again(number)
        self._note(failures, number)
        if any(one.anew for one in failures):
            return self._again(number)
        for start in range(0, len(results), SLICE):
            stop = min(len(results), start + SLICE)
            texts = results.json(start, stop)
            self._note(operator.failures(), number, start)
            names = [results.names[code] for code in results.query[start:stop].tolist()]
            self.found += [one for one in zip(names, texts, strict=True) if not self._gone(one[0], number, start)]
        return operator

    def _again(self, number: int) -> Operator:
        self.rebuilt += 1
        return self._block(self._anew(number), number)

    def _anew(self, until: int) -> Operator:
        """Another operator from the last snapshot, that has taken all blocks before `until`."""
        operator = self.make()
        first = 0
        if self._saved is not None:
            first, state = self._saved
            operator.restore(state)
            self._note(operator.failures(), until)
        operator.part(self.apart)
        for number in range(first, until):
            self._stop(operator, number)
            operator.apply(self.blocks[number], lambda number=number: iter(self.blocks[: number + 1]))  # type: ignore[misc]
            failures = operator.failures()
            apart = frozenset[str]().union(*(one.apart for one in failures))
            if apart - self.apart:
                self.apart |= apart
                return self._anew(until)
            self._note(failures, until)
        return operator

    def _stop(self, operator: Operator, number: int) -> None:
        for name, stop in self.stops.items():
            if stop.block + (stop.index is not None) <= number:
                operator.stop(name, stop.version, "before")

    def _note(self, failures: Sequence[Failure], block: int, index: int | None = None) -> None:
        self.failures += failures
        for one in failures:
            if not one.logged:
                self.stops.setdefault(one.name, Stop(one.version, block, index))

    def _gone(self, name: str, block: int, index: int) -> bool:
        stop = self.stops.get(name)
        return stop is not None and (stop.block, -1 if stop.index is None else stop.index) <= (block, index)
