"""Failures of queries. A query that fails ends, and so do those that read its results. The shell reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from saffron.engine.operators.block_results import BlockResults
from saffron.engine.operators.containment import READING, Containment, Failure, Note, QueryStep, failure_text
from saffron.engine.operators.standing import StandingQuery

S = TypeVar("S", bound=StandingQuery[Any])


@dataclass(frozen=True)
class Ending(Generic[S]):
    """The part that an engine has in the end of a failed query.

    `readers`: the queries that read its results. `has_touched_others`: whether others would be otherwise had it not
    been there in the block at hand. `close`: release what its runs hold of the operator. `leave`: take it out of force,
    with its results so far reported. `forget`: drop what is kept beside its runs. `settled`: see
    `QueryOperator._settled`.
    """

    readers: Callable[[S], Iterable[S]]
    has_touched_others: Callable[[S], bool]
    close: Callable[[Any], None]
    leave: Callable[[S], None]
    forget: Callable[[S], None]
    settled: Callable[[], None]


class Failures(Generic[S]):
    """The failures of one operator's queries, and the results of the block, which a failed query has no part in.

    `position`: of the next event, for reports.
    """

    def __init__(self, ending: Ending[S], note: Note) -> None:
        self._ending = ending
        self._contained = Containment(note, lambda standing, step, error: self.fail(cast("S", standing), step, error))
        self.results = BlockResults(self._contained)
        self.position = 0
        self._untold: list[Failure] = []
        self._stops: dict[tuple[str, int], str] = {}
        self._unsettled = False

    def step(self, standing: S, step: str) -> QueryStep:
        """A context for a step of one query: an exception in it makes that query fail."""
        return self._contained.step(standing, step)

    def take(self) -> list[Failure]:
        """The failures since the last call."""
        untold, self._untold = self._untold, []
        return untold

    def settle(self) -> None:
        """Let the engine know, once, of all that have ended since the last call."""
        if self._unsettled:
            self._unsettled = False
            self._ending.settled()

    def fail(self, standing: S, step: str, error: Exception, apart: frozenset[str] = frozenset()) -> None:
        """Fail a query after an exception in one of its steps. `apart`: names of queries that may have caused it."""
        if standing.failure:
            return
        reason = failure_text(step, self.position, error)
        touched = self._ending.has_touched_others(standing)
        self._tell(standing, step, reason, error=error, apart=apart, anew=touched)
        self._end(standing, reason)

    def stop(self, name: str, version: int, reason: str, standing: S | None) -> None:
        """End a query that has failed here before; `standing`: the one of its name. If it is to come, once it does."""
        if standing is not None and standing.version == version:
            self._end(standing, reason)
            self.settle()
        else:
            self._stops[name, version] = reason

    def added(self, standing: S) -> None:
        """Fail a query that is added, if `stop` has named it."""
        standing.failure = self._stops.get((standing.name, standing.version), standing.failure)

    def end_here(self, standing: S, reason: str) -> None:
        """End a query that failed by the log, and those that read its results. Their results so far are reported."""
        readers = list(self._ending.readers(standing))
        self._ending.leave(standing)
        standing.failure, self._unsettled = standing.failure or reason, True
        self._ending.forget(standing)
        for reader in readers:
            if not reader.failure:
                self._tell(reader, READING, _with(standing), logged=True)
                self.end_here(reader, _with(standing))

    def _end(self, standing: S, reason: str) -> None:
        """End a query that failed here, and those that read its results. Their results of the block are left out."""
        readers = list(self._ending.readers(standing))
        standing.failure, self._unsettled = reason, True
        runs, standing.runs = standing.runs, None
        self.results.leave_out(standing)
        with suppress(Exception):  # only memory is left of it
            if runs is not None:
                self._ending.close(runs)
        self._ending.forget(standing)
        for reader in readers:
            if not reader.failure:
                why = _with(standing)
                self._tell(reader, READING, why, anew=self._ending.has_touched_others(reader))
                self._end(reader, why)

    def _tell(self, standing: S, step: str, reason: str, **more: Any) -> None:
        self._untold.append(Failure(standing.name, standing.version, step, self.position, reason, **more))


def _with(maker: StandingQuery[Any]) -> str:
    return f"query {maker.name} failed, whose results it reads"
