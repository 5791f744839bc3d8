"""The form of every operator: no I/O, no clock, no threads; state in flat arrays.

    windowing:      raw records   -> blocks           engine.windows
    shedder:        block         -> block            engine.shed
    matcher, greta: block         -> results          engine.match, engine.trends

Time comes in with the input. The shells in `runtime` run operators on a log;
`runtime.replay.fused` chains them in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.results import Results

State = Mapping[str, NDArray[np.generic]]
"""A snapshot: flat arrays by name (JSON parts as uint8 arrays). Format-stable within a minor version."""

History = Callable[[], Iterator[Block]]
"""Blocks of this partition from the earliest one still there up to the current one, for `--from earliest`."""


class ResultOperator(Protocol):
    """The operator of `matcher` or `greta`: a pure function of the blocks applied so far.

    Cutting the stream into blocks elsewhere, or snapshot and restore between any two blocks, changes no result.
    """

    def apply(self, block: Block, history: History | None = None) -> Results:
        """Advance by one block (the shell has checked claim and counter) and return its results in order.

        Results stay valid until the next `apply`.
        """

    def snapshot(self) -> State:
        """Arrays of its own: they are written while the operator goes on."""

    def restore(self, state: State) -> None: ...

    @property
    def has_queries(self) -> bool:
        """True if queries of its own stand, whatever their state; without any, events bring no results."""

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed and are still standing."""

    def failures(self) -> list[Failure]:
        """The queries that have failed since the last call, in whatever was done; the others have gone on."""

    def stop(self, name: str, version: int, reason: str) -> None:
        """Fail a query that failed here before: now, or once it is added."""

    def part(self, names: frozenset[str]) -> None:
        """Stop sharing: each of these queries has runs or a graph of its own from now on."""

    def statistics(self) -> Mapping[str, Any]:
        """Counts for metrics and `load`: partial_matches (by query), state_bytes, events, results (by query)."""

    def cost(self) -> tuple[int, int]:
        """Partial matches alive, and ns that drop orders have taken so far: cheap enough for every block."""

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """Observation rows since the last call, by topic (`observations.transitions` and so on), aggregated."""
