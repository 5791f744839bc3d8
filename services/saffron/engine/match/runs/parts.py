"""The parts that runs over exact times are composed of, beside their store: a source of matches and a reporter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.match.core.stream import Range
from saffron.engine.operators.results import Fired

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]


class RunsPart:
    """A part of runs that reads their state. It refers to them weakly, as they hold the part.

    Arrays of runs that nobody holds are therefore freed at once. In a cycle they would stay until Python's collector
    runs, and the next runs would take memory that is in no cache.
    """

    def __init__(self, runs: QueryRuns) -> None:
        self._owner = ref(runs)

    @property
    def runs(self) -> QueryRuns:
        runs = self._owner()
        assert runs is not None, "a part was used after its runs were freed"
        return runs


class Source(RunsPart, ABC):
    """A source of matches: it takes events and writes the matches found into the list of its runs."""

    @abstractmethod
    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events: see `Runs.advance`."""

    def list_found(self) -> None:
        """Write the deferred matches into the list, when somebody reads it."""

    def enumerated(self) -> tuple[Ints, Ints] | None:
        """[n, components] how many events each match bound, and the places of all; None: they are read off the list."""
        return None

    def forget_matches(self) -> None:
        """Forget the matches of the last block, which have been published."""

    def forget_runs(self) -> None:
        """Forget partial matches, so that no match spans this call. Matches of the block stay readable."""


class Reporter(RunsPart, ABC):
    """The part of a query that makes results of the matches found, in the order in which they are decided."""

    @property
    @abstractmethod
    def unreported(self) -> bool:
        """See `Runs.unreported`."""

    @abstractmethod
    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        """See `Runs.fired`."""

    @abstractmethod
    def pause(self) -> None:
        """Keep decided results to be reported: all runs are about to be forgotten."""

    def forget_matches(self) -> None:
        """Forget the matches of the last block, which have been published."""
