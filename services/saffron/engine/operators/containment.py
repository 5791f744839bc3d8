"""Containment of exceptions: an exception of one query makes that query fail, and nothing else.

An operator takes each step of a query inside `Containment.step`, whose exceptions are the query's. Exceptions that no
query can help are raised again: `MemoryError`, an error of the log (its past is read from there), the end of the
process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from saffron.engine.operators.standing import StandingQuery
from saffron.errors import LogError, one_line

BINDING, COMPILING, ADVANCING, OBSERVING = "binding", "compiling", "advancing", "observing"
REPORTING, SAVING, RESTORING = "reporting", "saving", "restoring"
DROPPING, READING = "dropping partial matches", "reading"

Note = Callable[[str, int, str], None]
"""(query, its version, step): called before each step, so that a shell knows in which one its process died."""
Failed = Callable[[StandingQuery[Any], str, Exception], None]
"""(query, step, error): the operator's reaction to a failure."""


def unnoted(query: str, version: int, step: str) -> None:
    """Do nothing: steps are not noted."""


@dataclass(frozen=True)
class Failure:
    """The failure that ended a query (`name`, and the `version` by which it was added), for shells to report.

    `step`: the step that failed. `position`: all events before it had been taken. `reason`: a sentence. `error`: None
    if the query fails with one whose results it reads.

    `logged`: the block has the failure, and has it whenever it is taken again. `anew`: the query has affected others in
    this block, which must be taken again without it. `apart`: names of queries that share a graph, of which any may be
    at fault: each goes on alone from the last snapshot.
    """

    name: str
    version: int
    step: str
    position: int
    reason: str
    error: Exception | None = None
    logged: bool = False
    anew: bool = False
    apart: frozenset[str] = frozenset()


_TOGETHER = " together"


def together(step: str) -> str:
    """The name under which a step is noted when several queries take it at once."""
    return step + _TOGETHER


def is_together(step: str) -> bool:
    """True if a step that was noted was one of several queries at once."""
    return step.endswith(_TOGETHER)


def failure_text(step: str, position: int, error: Exception) -> str:
    """The text of an exception in a step: the step, the position in the stream, the type and the message."""
    return f"{step} at position {position}: {type(error).__name__}: {one_line(error)}".removesuffix(": ")


class Containment:
    """The steps of an operator's queries, each noted before it is taken."""

    def __init__(self, note: Note, failed: Failed) -> None:
        self._note = note
        self._failed = failed

    def step(self, query: StandingQuery[Any], step: str) -> QueryStep:
        """A context that ends an exception of the query; the rest of the block of code is skipped."""
        self._note(query.name, query.version, step)
        return QueryStep(self._failed, query, step)


class QueryStep:
    """One step of one query."""

    __slots__ = ("_failed", "_query", "_step")

    def __init__(self, failed: Failed, query: StandingQuery[Any], step: str) -> None:
        self._failed, self._query, self._step = failed, query, step

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if not is_of_query(error):
            return False
        assert isinstance(error, Exception)
        self._failed(self._query, self._step, error)
        return True


def is_of_query(error: BaseException | None) -> bool:
    """True if an exception in a query's step is the query's."""
    return isinstance(error, Exception) and not isinstance(error, MemoryError | LogError)
